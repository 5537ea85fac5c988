"""Every (PTX version, target, arch) that the facts predict, asked of real assemblers.

    .venv/bin/python benchmarks/predictions.py [--cuda 12.3,13.0] [--json FILE]

The tests ask a sample; this asks all of them: about 900 runs of ptxas for each toolkit, 10 ms each.
Toolkits that are not in the user's store are fetched from PyPI (20 to 116 MB each). Prints for each
how many predictions agree; exit code 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from oxide_build.cli.folders import Folders
from oxide_build.cli.progress import FetchProgress
from oxide_build.cli.toolchains import Toolchains, load_facts
from oxide_build.host.process import ProcessGroup
from oxide_build.model.arch import Arch
from oxide_build.model.workspace import ToolchainRequirements
from oxide_build.provision.assembler_check import Question
from oxide_build.resolution.assembling import refused

FACTS = load_facts()
# Older toolkits take it from lower versions than anybody has tabulated.
TARGETS = [Arch.parse(name) for name in FACTS.arch.min_ptx if name != "sm_35"]


def everything(cuda: str) -> list[Question]:
    """All versions for an arch that runs the target, and all pairs at the toolkit's newest."""
    kit = FACTS.cuda.toolkits[cuda]
    archs = [Arch.parse(name) for name in kit.archs]
    versions = sorted(FACTS.drivers.published | FACTS.drivers.unpublished)
    ceiling = max(version for version in versions if str(version) == kit.max_ptx)
    # A suffix that a toolkit does not list yet is not predicted: 11.8 takes `.target sm_90a`, and
    # nobody can ask for that, as `-arch` does not.
    targets = [each for each in TARGETS if str(each) in kit.archs or not each.suffix]
    asked = {Question(ceiling, target, arch) for target in targets for arch in archs}
    for target in targets:
        fitting = [arch for arch in archs if target.runs_on(arch)]
        asked |= {Question(version, target, arch) for version in versions for arch in fitting[:1]}
    return sorted(asked)


def ask(cuda: str) -> dict[str, object]:
    processes = ProcessGroup()
    found = Toolchains(
        ToolchainRequirements(cuda=cuda),
        Folders.find().store,
        processes,
        offline=False,
        reporter=FetchProgress(),
    ).preferred("cuda")
    tree = found.trees["ptxas"]
    ptxas = str(Path(tree.root, found.tools["ptxas"].removeprefix(f"{tree.mount}/")))
    questions = everything(cuda)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)

        def one(numbered: tuple[int, Question]) -> bool:
            number, question = numbered
            (folder / f"{number}.ptx").write_text(question.text)
            argv = [ptxas, f"-arch={question.arch}", f"{number}.ptx", "-o", f"{number}.cubin"]
            taken = processes.run(argv, cwd=folder, env=os.environ, timeout_s=60).ok
            expected = refused(FACTS, cuda, question.version, question.target, question.arch)
            if taken != (expected is None):
                print(f"  {question}: expected {expected}, ptxas {taken}")
            return taken == (expected is None)

        agree = sum(pool.map(one, enumerate(questions)))
    seconds = time.perf_counter() - start
    print(f"| {found.version} | {len(questions)} | {agree} | {seconds:.1f} |", flush=True)
    return {"ptxas": found.version, "asked": len(questions), "agree": agree, "seconds": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuda", default=",".join(FACTS.cuda.toolkits))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print("| ptxas | asked | agree | seconds |\n|---|---|---|---|")
    rows = [ask(cuda) for cuda in options.cuda.split(",")]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))
    return int(any(row["asked"] != row["agree"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
