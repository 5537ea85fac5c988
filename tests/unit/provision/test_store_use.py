"""Which installs are idle, and that they go whole or not at all."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oxide_build.model.digest import Digest
from oxide_build.model.toolchain import Toolchain, ToolTree
from oxide_build.provision.store_use import StoreUse
from oxide_build.provision.tool_store import Install, InstallRecord, ToolStore

DAY = 86_400


@pytest.fixture
def store(tmp_path: Path) -> ToolStore:
    return ToolStore(tmp_path / "store")


def install(store: ToolStore, spec: str, *, days_old: int) -> Install:
    record = InstallRecord(
        kind="cuda", provider="pypi", version=spec, spec=spec, files=(), size_bytes=1, details={}
    )
    with store.staging() as folder:
        (folder / "t" / "bin").mkdir(parents=True)
        (folder / "t" / "bin" / "ptxas").write_text("x" * 100)
        made = store.publish(folder / "t", record, spec)
    then = time.time() - days_old * DAY
    os.utime(made.tree.parent / "oxide-install.json", (then, then))
    return made


def toolchain(root: Path) -> Toolchain:
    tree = ToolTree(name="ptxas", mount="t", digest=Digest("0" * 64, 0), root=str(root))
    return Toolchain(
        kind="cuda", version="1", spec="1", provider="pypi", trees={"ptxas": tree}, tools={},
        archs=(), facts={},
    )  # fmt: skip


def test_what_is_idle_goes_and_what_is_used_or_kept_stays(store: ToolStore) -> None:
    install(store, "12.0", days_old=90)
    locked = install(store, "12.3", days_old=90)
    used = install(store, "12.8", days_old=90)
    install(store, "13.0", days_old=1)
    use = StoreUse(store)
    use.note(toolchain(used.tree / "nvidia"))
    keep = {("cuda", "pypi", "12.3")}
    planned = [
        e.install.record.spec for e in use.remove_idle(keep_days=30, keep=keep, dry_run=True)
    ]
    assert planned == ["12.0"]
    assert len(store.all_installs()) == 4
    gone = [e.install.record.spec for e in use.remove_idle(keep_days=30, keep=keep, dry_run=False)]
    assert gone == ["12.0"]
    assert [each.record.spec for each in store.all_installs()] == ["12.3", "12.8", "13.0"]
    assert locked.tree.is_dir()
    assert not list((store.root / "tmp").glob("*/gone"))


def test_entries_tell_size_and_idle_days(store: ToolStore) -> None:
    install(store, "12.0", days_old=10)
    (entry,) = StoreUse(store).entries()
    assert entry.size_bytes == 100
    assert 9.9 < entry.idle_days < 10.1


def test_using_what_lies_elsewhere_is_not_noted(store: ToolStore, tmp_path: Path) -> None:
    use = StoreUse(store)
    use.note(toolchain(tmp_path / "usr"))
    assert not (store.state / "used").exists()


def test_an_empty_store_has_nothing(store: ToolStore) -> None:
    assert StoreUse(store).entries() == ()
    assert list(StoreUse(store).remove_idle(keep_days=0, keep=(), dry_run=False)) == []
