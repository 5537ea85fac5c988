"""Reading what apt prints, and which of a package's dependencies its programs need to run."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_RUSTC = re.compile(r"rustc(-web|-\d+\.\d+)?\Z")
# What belongs to the compiler, to LLVM, or is a shared library. Everything else (gcc, binutils,
# headers) is for linking host programs. libc and what lives in one file with it must be the
# machine's own: its loader is the one that starts our tools.
_NEEDED = re.compile(
    r"rustc(-web|-\d+\.\d+)?|rust(-web|-\d+\.\d+)?-src|llvm-\d+(-.*)?|lib.*|zlib1g"
)
_UNWANTED = re.compile(r"libc6.*|libc-.*|.*-dev(-bin)?|.*-doc|llvm-\d+-linker-tools")
# Of all the tools in llvm-NN only llvm-debuginfod and llvm-exegesis need these, and they bring
# thirty packages with them.
_OTHER_TOOLS = re.compile(r"libcurl.*|libpfm4")
# The standard library for the host: rustc's own libraries are dependencies of it, but it has
# nothing that compiling for nvptx64 reads.
_PASSED_THROUGH = re.compile(r"libstd-rust(-.*)?-dev")


@dataclass(frozen=True, slots=True)
class Offer:
    """A version of a rustc package and of the package with its sources."""

    rustc: str
    source: str
    version: str

    @property
    def release(self) -> str:
        """Rust's own version: "1.96.0" of "1.96.0+dfsg1-1~deb12u2", "" if it has none."""
        found = re.match(r"(?:\d+:)?(\d+\.\d+\.\d+)", self.version)
        return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class Package:
    """One stanza of `apt-cache show`."""

    name: str
    version: str
    architecture: str
    sha256: str
    size_bytes: int
    depends: tuple[tuple[str, ...], ...]
    provides: tuple[str, ...]

    @property
    def request(self) -> str:
        return f"{self.name}={self.version}"


def rustc_names(pkgnames: str) -> tuple[str, ...]:
    """The packages in `apt-cache pkgnames` that are a rustc."""
    return tuple(sorted(name for name in pkgnames.split() if _RUSTC.match(name)))


def source_name(rustc: str) -> str:
    """`rust-web-src` for `rustc-web`, `rust-1.85-src` for `rustc-1.85`."""
    return f"rust{rustc.removeprefix('rustc')}-src"


def offers(madison: str) -> tuple[Offer, ...]:
    """The pairs of one version in `apt-cache madison`, in its order."""
    seen: dict[tuple[str, str], None] = {}
    for line in madison.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 3 and not fields[2].endswith("Sources"):
            seen[fields[0], fields[1]] = None
    return tuple(
        Offer(name, source_name(name), version)
        for name, version in seen
        if _RUSTC.match(name) and (source_name(name), version) in seen
    )


def planned(print_uris: str) -> tuple[str, ...]:
    """`name=version` of every package that `apt-get install --print-uris` would fetch."""
    found = []
    for line in print_uris.splitlines():
        match = re.match(r"'[^']+' (\S+)_(\S+)_[^_\s]+\.deb ", line)
        if match is not None:
            found.append(f"{match[1]}={urllib.parse.unquote(match[2])}")
    return tuple(found)


def llvm_major(requests: Iterable[str], expected: int | None) -> int | None:
    """The LLVM that planned packages link with; `expected` if it is one of several or none."""
    found = {int(match[1]) for request in requests if (match := re.match(r"libllvm(\d+)", request))}
    if not found or expected in found:
        return expected
    return max(found)


def packages(show: str) -> dict[str, Package]:
    """The stanzas of `apt-cache show` by name; the first of a name counts."""
    found: dict[str, Package] = {}
    for stanza in show.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z0-9-]+): (.*)$", stanza, re.MULTILINE))
        if "Package" not in fields or "SHA256" not in fields:
            continue
        depends = ", ".join(fields[k] for k in ("Pre-Depends", "Depends") if k in fields)
        found.setdefault(
            fields["Package"],
            Package(
                name=fields["Package"],
                version=fields["Version"],
                architecture=fields["Architecture"],
                sha256=fields["SHA256"],
                size_bytes=int(fields["Size"]),
                depends=tuple(_names(group, "|") for group in depends.split(",") if group.strip()),
                provides=_names(fields.get("Provides", ""), ","),
            ),
        )
    return found


def runtime_closure(roots: Iterable[str], known: Mapping[str, Package]) -> tuple[Package, ...]:
    """`roots` and the libraries that they need, transitively, sorted by name.

    `known` is what apt would install; only packages in it are followed.
    """
    provider = {virtual: p.name for p in known.values() for virtual in p.provides}
    pending = list(roots)
    chosen: dict[str, Package] = {}
    while pending:
        name = pending.pop()
        package = known.get(name)
        if package is None or name in chosen:
            continue
        chosen[name] = package
        for group in package.depends:
            names = [n if n in known else provider.get(n, "") for n in group]
            wanted = next((n for n in names if n in known), "")
            if _is_needed(wanted):
                pending.append(wanted)
    return tuple(chosen[n] for n in sorted(chosen) if not _PASSED_THROUGH.fullmatch(n))


def _is_needed(name: str) -> bool:
    if _PASSED_THROUGH.fullmatch(name):
        return True
    left_out = _UNWANTED.fullmatch(name) or _OTHER_TOOLS.fullmatch(name)
    return bool(_NEEDED.fullmatch(name)) and not left_out


def _names(text: str, separator: str) -> tuple[str, ...]:
    """The package names of a relation field, without versions and architectures."""
    parts = (part.strip() for part in text.split(separator))
    return tuple(re.split(r"[\s:(]", part, maxsplit=1)[0] for part in parts if part)
