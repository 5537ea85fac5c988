"""`[[toolchain.archive]]` of `oxide.toml`: toolchains that come as an archive with a known hash."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from oxide_build.load.table import Table
from oxide_build.load.wording import suggestion
from oxide_build.model.archive_source import ArchiveSource, wrong_url
from oxide_build.model.label import shown

_KINDS = ("rust", "cuda")
_KEYS = ("kind", "host", "version", "url", "sha256", "strip_prefix")
_REQUIRED = {
    "kind": 'write `kind = "cuda"` or `kind = "rust"`',
    "version": 'write the version that the tools say, as in `version = "13.0.88"`',
    "url": 'write where it is, as in `url = "https://example.org/ptxas.tar.xz"`',
    "sha256": "`sha256sum FILE` prints it",
}
_HOST = re.compile(r"[a-z0-9_]{1,30}-[a-z0-9_]{1,30}\Z", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_VERSIONS = {
    "cuda": re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,6}\Z", re.ASCII),
    "rust": re.compile(
        r"1\.\d{1,4}\.\d{1,4}(?:-nightly|-beta(?:\.\d{1,3})?)?\Z"
        r"|(?:nightly|beta)-\d{4}-\d{2}-\d{2}\Z",
        re.ASCII,
    ),
}
_VERSION_HINTS = {
    "cuda": "write all three numbers, as `ptxas --version` has them after the V: `13.0.88`",
    "rust": "write what `rustc --version` says (`1.96.0`), or a night: `nightly-2026-04-03`",
}
_PATH_LIMIT = 200
_URL_LIMIT = 2000


def read_archives(toolchain: Table) -> tuple[ArchiveSource, ...]:
    """The entries of `[toolchain]`, in their order; mistakes are noted in its problems."""
    seen: dict[tuple[str, str, str], int] = {}
    found: list[ArchiveSource] = []
    for number, table in enumerate(toolchain.rows("archive"), start=1):
        entry = _entry(table)
        if entry is None:
            continue
        first = seen.setdefault((entry.kind, entry.host, entry.version), number)
        if first != number:
            table.error(
                None,
                f"{table.name} has {entry.kind} {shown(entry.version)} a second time for "
                f"{entry.host or 'any host'}: entry {first} has it too",
                hint="remove one of the two, or give them different hosts",
            )
        found.append(entry)
    return tuple(found)


def check_used(
    toolchain: Table, archives: Sequence[ArchiveSource], providers: Sequence[str]
) -> None:
    """Note entries that nobody would ever look at: the provider that reads them is left out."""
    if archives and "archive" not in providers:
        first = '", "'.join(("archive", *providers))
        toolchain.error(
            "providers",
            f"`providers` of {toolchain.name} leaves out `archive`, so no `[[toolchain.archive]]` "
            "would be used",
            hint=f'write `providers = ["{first}"]`, or remove the archives',
        )


def _entry(table: Table) -> ArchiveSource | None:
    """None where something is missing or wrong."""
    before = len(table.problems)
    table.check_keys(_KEYS)
    texts = {key: table.string(key) for key in _KEYS}
    for key, hint in _REQUIRED.items():
        if key not in table.values:
            table.error(None, f"`{key}` of {table.name} is missing", hint=hint)
    for key, value in texts.items():
        if value is not None:
            wrong = _wrong(key, value, texts["kind"] or "")
            if wrong is not None:
                # A password must not reach the log of a build.
                plain = re.sub(r"//[^/]*@", "//***@", value)
                what = f"`{key}` of {table.name}: {shown(plain)} {wrong[0]}"
                table.error(key, what, hint=wrong[1])
    if len(table.problems) != before:
        return None
    return ArchiveSource(
        kind=texts["kind"] or "",
        version=texts["version"] or "",
        url=texts["url"] or "",
        sha256=texts["sha256"] or "",
        host=texts["host"] or "",
        strip_prefix=(texts["strip_prefix"] or "").rstrip("/"),
    )


def _wrong(key: str, value: str, kind: str) -> tuple[str, str] | None:
    """What is wrong with the value of `key`, and a hint."""
    match key:
        case "kind" if value not in _KINDS:
            return "is no kind of toolchain", suggestion(value, _KINDS, what="kinds")
        case "version" if kind in _VERSIONS and not _is_version(kind, value):
            return f"is not the version of one {kind} toolchain", _VERSION_HINTS[kind]
        case "sha256" if not _SHA256.match(value):
            return "is not a sha256", "it has 64 digits `0-9a-f`: `sha256sum FILE` prints it"
        case "host" if not _HOST.match(value):
            return "is not a host", "write it as in `oxide.lock`: `x86_64-linux`, `aarch64-linux`"
        case "url" if len(value) > _URL_LIMIT:
            return "is too long", f"at most {_URL_LIMIT} characters are read"
        case "url":
            return wrong_url(value)
        case "strip_prefix" if not _is_folder(value):
            return (
                "is not a folder inside an archive",
                'write its path without `..` and without a `/` in front: `strip_prefix = "a/b"`',
            )
    return None


def _is_version(kind: str, text: str) -> bool:
    if not _VERSIONS[kind].match(text):
        return False
    channel, _, date = text.partition("-")
    if not channel.isalpha():
        return True
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        return False
    return True


def _is_folder(text: str) -> bool:
    parts = text.removesuffix("/").split("/")
    plain = all(part not in ("", ".", "..") for part in parts) and "\\" not in text
    return not text or (plain and text.isprintable() and len(text) <= _PATH_LIMIT)
