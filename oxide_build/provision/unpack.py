"""Unpacking an archive that nobody vouches for: only plain files and links, only inside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import InfrastructureError
from oxide_build.model.label import shown
from oxide_build.provision.archive_member import Member
from oxide_build.provision.archive_members import members
from oxide_build.provision.provider import Refused

_NAME_BYTES = 1024
_PART_BYTES = 255
_DEPTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much an archive may hold: bytes when unpacked, and files, folders and links."""

    size_bytes: int = 8 << 30
    members: int = 200_000

    @property
    def stream_bytes(self) -> int:
        """How long a tar may be: each member has a header and is filled up to a block."""
        return self.size_bytes + self.members * 2048


STANDARD = Limits()

# A path inside the archive, as its components.
_Parts = tuple[str, ...]


def unpack(
    archive: Path, into: Path, *, name: str, strip_prefix: str = "", limits: Limits = STANDARD
) -> None:
    """Unpack what lies below `strip_prefix` into the new folder `into`.

    Members elsewhere are checked like the others and left out. Files are 0644 or 0755; owners and
    times are not taken over. Raises `Refused`, which names the archive as `name` and the member,
    for absolute names, `..`, links that lead outside, names that occur twice, devices, damage and
    more than `limits`; `InfrastructureError` for a full disk. What was written until then stays,
    so `into` must be thrown away.
    """
    tree = _Tree(into, name, _parts_of(strip_prefix), limits)
    try:
        into.mkdir()
        for member in members(archive, name, limits.stream_bytes):
            tree.add(member)
        tree.finish()
    except OSError as error:
        raise InfrastructureError(
            f"could not unpack `{name}` into `{into}`: {error.strerror or error}",
            hint="make room or give permission, or choose another folder for the tool store",
        ) from error


class _Tree:
    """The files that were unpacked so far.

    Links are made last: until then no name can lead anywhere but where it says.
    """

    def __init__(self, root: Path, archive: str, prefix: _Parts, limits: Limits) -> None:
        self._root = root
        self._archive = archive
        self._prefix = prefix
        self._limits = limits
        self._kinds: dict[_Parts, str] = {}
        self._links: list[tuple[Member, _Parts]] = []
        self._size_bytes = 0

    def add(self, member: Member) -> None:
        if member.kind not in ("file", "folder", "symlink", "hardlink"):
            raise self._refused(member, f"is {member.kind}")
        parts = self._checked(member, member.name)
        self._count(member)
        if not parts:
            if member.kind != "folder":
                raise self._refused(member, "has no name")
            return
        self._claim(member, parts)
        inside = self._inside(parts)
        if member.kind == "symlink":
            self._check_target(member, parts)
            if inside is not None:
                self._links.append((member, inside))
        elif member.kind == "hardlink":
            self._hard_link(member, inside)
        elif inside is not None:
            self._write(member, inside)

    def finish(self) -> None:
        """Make the links, and see that together they lead nowhere else either."""
        if self._prefix and self._kinds.get(self._prefix) != "folder":
            tops = sorted({parts[0] for parts in self._kinds})
            raise Refused(
                f"`{self._archive}` has no folder `{'/'.join(self._prefix)}`, which `strip_prefix` "
                "names",
                hint=f"at its top are {', '.join(shown(top) for top in tops[:5]) or 'no files'}",
            )
        for member, inside in self._links:
            path = self._root.joinpath(*inside)
            path.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(member.target, path)
        # One link at a time looked harmless; `a/..` is another folder where `a` is a link itself.
        base = os.path.realpath(self._root)
        for member, inside in self._links:
            real = os.path.realpath(self._root.joinpath(*inside))
            if real != base and not real.startswith(f"{base}/"):
                raise self._refused(member, f"leads outside, to {shown(member.target)}")

    def _checked(self, member: Member, name: str) -> _Parts:
        """The components of a name in the archive."""
        if name.startswith("/"):
            raise self._refused(member, "has an absolute name")
        if "\\" in name or not name.isprintable():
            raise self._refused(member, "has a name with a backslash or an unprintable character")
        parts = _parts_of(name)
        if ".." in parts:
            raise self._refused(member, "has `..` in its name")
        if (
            len(name.encode()) > _NAME_BYTES
            or len(parts) > _DEPTH
            or any(len(part.encode()) > _PART_BYTES for part in parts)
        ):
            raise self._refused(
                member,
                f"has a name of more than {_NAME_BYTES} bytes, {_PART_BYTES} in one part, or "
                f"{_DEPTH} folders",
            )
        return parts

    def _count(self, member: Member) -> None:
        self._size_bytes += member.size_bytes
        if member.size_bytes < 0 or self._size_bytes > self._limits.size_bytes:
            raise self._refused(
                member, f"brings what is unpacked over {self._limits.size_bytes:,} bytes"
            )

    def _claim(self, member: Member, parts: _Parts) -> None:
        """Note that `parts` is taken, and that what lies above it is a folder."""
        for end in range(1, len(parts)):
            if self._kinds.setdefault(parts[:end], "folder") != "folder":
                above = "/".join(parts[:end])
                raise self._refused(member, f"lies below {shown(above)}, which is no folder")
        # A folder may come twice: tools that append to an archive write it again.
        known = self._kinds.get(parts)
        if known is not None and (known, member.kind) != ("folder", "folder"):
            raise self._refused(member, "is there twice")
        self._kinds[parts] = member.kind
        if len(self._kinds) > self._limits.members:
            raise self._refused(
                member, f"is one more than {self._limits.members:,} files, folders and links"
            )

    def _inside(self, parts: _Parts) -> _Parts | None:
        """`parts` below the prefix; None for what is left out."""
        depth = len(self._prefix)
        if parts[:depth] != self._prefix or len(parts) == depth:
            return None
        return parts[depth:]

    def _check_target(self, member: Member, parts: _Parts) -> None:
        """Refuse a link that leads out of the archive as it is written."""
        target = member.target
        path = os.path.normpath("/".join((*parts[:-1], target)))
        if not target or target.startswith("/") or path == ".." or path.startswith("../"):
            raise self._refused(member, f"leads outside, to {shown(target)}")
        if "\\" in target or not target.isprintable() or len(target.encode()) > _NAME_BYTES:
            raise self._refused(member, f"is a link to {shown(target)}, which is no plain path")

    def _hard_link(self, member: Member, inside: _Parts | None) -> None:
        target = self._checked(member, member.target)
        if self._kinds.get(target) != "file":
            raise self._refused(
                member, f"is a hard link to {shown(member.target)}, which is no file before it"
            )
        if inside is None:
            return
        below = self._inside(target)
        if below is None:
            raise self._refused(
                member, f"leads outside of `strip_prefix`, to {shown(member.target)}"
            )
        path = self._root.joinpath(*inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(self._root.joinpath(*below), path, follow_symlinks=False)

    def _write(self, member: Member, inside: _Parts) -> None:
        path = self._root.joinpath(*inside)
        if member.kind == "folder":
            path.mkdir(parents=True, exist_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as file:
            for chunk in member.chunks():
                file.write(chunk)
            os.fchmod(file.fileno(), 0o755 if member.executable else 0o644)

    def _refused(self, member: Member, what: str) -> Refused:
        return Refused(
            f"`{self._archive}`: {shown(member.name)} {what}",
            hint="nothing of it was installed: get the archive from who you trust, or pack it anew",
        )


def _parts_of(path: str) -> _Parts:
    return tuple(part for part in path.split("/") if part not in ("", "."))
