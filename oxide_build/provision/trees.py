"""The digest of a part of an installation, and the memory that makes the second time cheap."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oxide_build.errors import ToolchainError
from oxide_build.model.digest import Digest
from oxide_build.model.toolchain import ToolTree
from oxide_build.provision.file_state import Notebook, State, settled, state_of

_HASHERS = 4
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """Files of a folder: those whose name matches `pattern`, or everything below it if deep."""

    folder: str
    pattern: str = "*"
    deep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlan:
    """Which files of the installation at `root` make up the tree `name`.

    Folders of `parts` that are missing hold no files. Symbolic links count as what they lead to,
    which must lie below `root`.
    """

    name: str
    mount: str
    root: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    sha256: str
    executable: bool


def digest_tree(plan: TreePlan, notebook: Notebook) -> ToolTree:
    """Hash the files of `plan`, or recall their digest if no file and no folder changed.

    The digest is that of a text with one line for each file, sorted by path: execute bit, sha256,
    path. Warm it costs a stat for each file and folder. Raises `ToolchainError` when a link leads
    out of the root or nothing matches.
    """
    key = _key(plan)
    known = notebook.read(key)
    recalled = _recall(known, plan.root)
    if recalled is None:
        recalled = _hash(plan, known, notebook, key)
    return ToolTree(name=plan.name, mount=plan.mount, digest=recalled, root=plan.root, memory=key)


def tree_states(tree: ToolTree, notebook: Notebook) -> dict[str, os.stat_result] | None:
    """Every file and folder of `tree` by its absolute path, as `digest_tree` remembers it.

    None if something is not as it was then, or changed too shortly before to tell. A stat each.
    """
    known = notebook.read(tree.memory)
    found = {}
    remembered = [*known.get("folders", {}).items()]
    remembered += [(path, entry[0]) for path, entry in known.get("files", {}).items()]
    for path, state in remembered:
        full = f"{tree.root}/{path}"
        if state is None or state_of(full) != state:
            return None
        found[full] = os.stat(full)
    return found or None


def remembered_states(tree: ToolTree, notebook: Notebook) -> dict[str, State]:
    """The state that every file and folder of `tree` had when it was hashed, by absolute path.

    The present one where that was too fresh to be remembered. {} where nothing could be noted.
    """
    known = notebook.read(tree.memory)
    found: dict[str, State] = {}
    remembered = [*known.get("folders", {}).items()]
    remembered += [(path, entry[0]) for path, entry in known.get("files", {}).items()]
    for path, state in remembered:
        full = f"{tree.root}/{path}"
        found[full] = state_of(full) if state is None else state
    return found


def tree_files(plan: TreePlan) -> tuple[str, ...]:
    """The sorted paths of the tree's files relative to its root."""
    return tuple(sorted(path for path, is_folder in _walk(plan) if not is_folder))


def _key(plan: TreePlan) -> str:
    parts = ";".join(f"{p.folder}/{p.pattern}{'/**' if p.deep else ''}" for p in plan.parts)
    return f"tree {plan.root} {parts}"


def _recall(known: Mapping[str, Any], root: str) -> Digest | None:
    """The remembered digest, if every file and folder is as it was."""
    if "digest" not in known:
        return None
    prefix = root + "/"
    for path, state in known["folders"].items():
        if state is None or state_of(prefix + path) != state:
            return None
    for path, (state, _, _) in known["files"].items():
        if state is None or state_of(prefix + path) != state:
            return None
    return Digest(known["digest"][0], known["digest"][1])


def _hash(plan: TreePlan, known: Mapping[str, Any], notebook: Notebook, key: str) -> Digest:
    # Imported late: it costs 11 ms, and a warm build hashes nothing.
    from concurrent.futures import ThreadPoolExecutor

    now = time.time_ns()
    before: Mapping[str, Any] = known.get("files", {})
    folders: dict[str, State] = {}
    files: list[str] = []
    for path, is_folder in _walk(plan):
        if is_folder:
            folders[path] = settled(state_of(f"{plan.root}/{path}"), now)
        else:
            files.append(path)
    if not files:
        raise ToolchainError(
            f"`{plan.root}` has no files for `{plan.name}`",
            hint="the installation is not complete: install it again",
        )
    files.sort()

    def read(path: str) -> tuple[State, str, bool]:
        full = f"{plan.root}/{path}"
        state = state_of(full)
        old = before.get(path)
        if old is not None and state is not None and old[0] == state:
            return state, old[1], old[2]
        return settled(state, now), *_hash_file(full)

    with ThreadPoolExecutor(_HASHERS) as pool:
        results = list(pool.map(read, files))
    entries = dict(zip(files, results, strict=True))
    manifest = "".join(
        f"{'x' if executable else '-'} {sha256} {path}\n"
        for path, (_, sha256, executable) in entries.items()
    )
    digest = Digest.of(manifest.encode("utf-8", "surrogateescape"))
    notebook.write(
        key,
        {"files": entries, "folders": folders, "digest": [digest.sha256, digest.size_bytes]},
    )
    return digest


def _hash_file(path: str) -> tuple[str, bool]:
    digest = hashlib.sha256()
    try:
        with open(path, "rb", buffering=0) as file:
            executable = bool(os.fstat(file.fileno()).st_mode & 0o100)
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise ToolchainError(f"could not read `{path}`: {error.strerror}") from error
    return digest.hexdigest(), executable


def _walk(plan: TreePlan) -> Iterator[tuple[str, bool]]:
    """Paths relative to the root, each once; folders (True) before what is in them."""
    seen: set[str] = set()
    for part in plan.parts:
        pending = [part.folder]
        while pending:
            folder = pending.pop()
            full = f"{plan.root}/{folder}" if folder else plan.root
            if not os.path.isdir(full):
                continue
            _stay_inside(full, plan.root)
            yield folder, True
            for name in os.listdir(full):
                path = f"{folder}/{name}" if folder else name
                below = f"{plan.root}/{path}"
                if os.path.isdir(below):
                    # Links to folders are not descended into: they could lead in circles, and
                    # no installation that we know needs it.
                    if part.deep and not os.path.islink(below):
                        pending.append(path)
                elif fnmatch.fnmatchcase(name, part.pattern) and path not in seen:
                    if os.path.islink(below):
                        _stay_inside(below, plan.root)
                    if os.path.isfile(below):
                        seen.add(path)
                        yield path, False


def _stay_inside(path: str, root: str) -> None:
    real, base = os.path.realpath(path), os.path.realpath(root)
    if real != base and not real.startswith(base.rstrip("/") + "/"):
        raise ToolchainError(
            f"`{path}` leads to `{real}`, out of the toolchain's folder `{root}`",
            hint="install the toolchain as one folder, or name another provider in `oxide.toml`",
        )
