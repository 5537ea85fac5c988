"""Archives made for tests, honest and hostile, and a server that misbehaves as it is told."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import io
import re
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


def tar_member(name: str, data: bytes = b"", **values: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in values.items():
        setattr(info, key, value)
    return info, data


def link(name: str, target: str, *, hard: bool = False) -> tuple[tarfile.TarInfo, bytes]:
    kind = tarfile.LNKTYPE if hard else tarfile.SYMTYPE
    return tar_member(name, type=kind, linkname=target)


def make_tar(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return path


def make_zip(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in members:
            archive.writestr(info, data)
    return path


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Server:
    """Serves `content` at every address.

    cuts      how many bytes each of the first answers has before its connection ends
    ranges    whether `Range` is understood
    statuses  what the first requests are answered with instead
    headers   more headers of every answer
    delay_s   before each answer
    seen      the `Range` of each request, None where it had none
    """

    content: bytes
    port: int = 0
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    length: bool = True
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    seen: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/files/tool.tar.gz?x=1"

    @property
    def sha256(self) -> str:
        return sha256_of(self.content)

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        self.seen.append(asked)
        time.sleep(self.delay_s)
        status, begin = 200, 0
        found = re.match(r"bytes=(\d+)-", asked or "")
        if found and self.ranges:
            status, begin = 206, int(found[1])
            if begin >= len(self.content):
                status = 416
        if self.statuses:
            status = self.statuses.pop(0)
        handler.send_response(status)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        body = self.content[begin:] if status < 300 else b""
        if status == 206:
            total = len(self.content)
            handler.send_header("Content-Range", f"bytes {begin}-{total - 1}/{total}")
        if self.length:
            handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(body[: self.cuts.pop(0)] if self.cuts and body else body)


@contextlib.contextmanager
def serving(content: bytes) -> Iterator[Server]:
    """A server of this machine, in a thread, until the block ends."""
    server = Server(content)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        server.port = running.server_port
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            running.shutdown()
            thread.join()
