"""An archive that a workspace names as a toolchain, and the addresses that one may come from."""

from __future__ import annotations

import re
from dataclasses import dataclass

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)([^?#]*)", re.ASCII | re.IGNORECASE)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:@\[\]]+)(?::\d{1,5})?\Z", re.ASCII | re.IGNORECASE)
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|\[::1\]", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSource:
    """One `[[toolchain.archive]]`.

    kind          "rust" or "cuda"
    version       what it claims to be: "13.0.88", "1.96.0", "nightly-2026-04-03"
    url           see `wrong_url`
    sha256        of the archive, 64 lower-case hex digits
    host          "x86_64-linux" as in `oxide.lock`; "" is any
    strip_prefix  the folder inside the archive that becomes the toolchain's; "" is all of it
    """

    kind: str
    version: str
    url: str
    sha256: str
    host: str = ""
    strip_prefix: str = ""

    @property
    def file_name(self) -> str:
        """The last part of the address: "ptxas.tar.xz"."""
        path = re.split(r"[?#]", self.url, maxsplit=1)[0]
        return path.rstrip("/").rpartition("/")[2]


def wrong_url(url: str) -> tuple[str, str] | None:
    """Why nothing is downloaded from `url`, and a hint; None where it may be.

    https:// is allowed, file:// with an absolute path, and http:// to this machine only: the sha256
    guards what comes, but not who learns of it.
    """
    allowed = "write `https://…`, `file:///…`, or `http://localhost…` for a server of this machine"
    found = _URL.match(url)
    if found is None or not url.isascii() or not url.isprintable() or " " in url:
        return "is not an address", f"{allowed}; other characters as `%20`"
    scheme, host, path = found[1].lower(), found[2], found[3]
    if "@" in host:
        return "has a name or password in it", "the file is read by many: serve it without one"
    if scheme == "file":
        good = host.lower() in ("", "localhost") and path.startswith("/") and path != "/"
        return (
            None if good else ("names no file", "write its absolute path: `file:///srv/x.tar.xz`")
        )
    if scheme not in ("http", "https"):
        return f"is a `{scheme}` address", allowed
    named = _HOST.match(host)
    if named is None:
        return "names no server", allowed
    if scheme == "http" and not _LOOPBACK.fullmatch(named[1]):
        return "is not encrypted and leads to another machine", allowed
    return None


def on_this_machine(url: str) -> bool:
    """Whether `url`, which is right, leads to a server of this machine."""
    found = _URL.match(url)
    named = _HOST.match(found[2]) if found else None
    return named is not None and _LOOPBACK.fullmatch(named[1]) is not None
