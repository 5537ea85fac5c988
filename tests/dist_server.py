"""A distribution server of rustup on loopback, with releases made of shell scripts.

The layout is the real one: `dist/channel-rust-1.96.0.toml` or, for a night,
`dist/2026-08-28/channel-rust-nightly.toml`, each with its `.sha256`; manifests of version "2"; and
archives of the rust-installer's version 3. The manifests name https://static.rust-lang.org, as
those of every mirror do; rustup puts `RUSTUP_DIST_SERVER` in its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import platform
import socket
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.unit.provision import fakes

HOST = f"{platform.machine()}-unknown-linux-gnu"
UPSTREAM = "https://static.rust-lang.org"
# The folders of an archive that stand for each package; rust-src is for every host.
PACKAGES = ("rustc", "cargo", "rust-std", "rust-src", "llvm-tools-preview")


@dataclass(frozen=True, kw_only=True)
class Release:
    """What is published as `channel` ("1.96.0", "nightly") on `date`.

    absent       packages that the manifest does not name
    unavailable  packages that it names with `available = false`
    """

    channel: str
    date: str
    release: str
    llvm: str = "22.1.2"
    absent: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = ()

    @property
    def manifest_path(self) -> str:
        folder = f"{self.date}/" if self.channel == "nightly" else ""
        return f"dist/{folder}channel-rust-{self.channel}.toml"

    def archive_path(self, package: str) -> str:
        suffix = "" if package == "rust-src" else f"-{HOST}"
        return f"dist/{self.date}/{package.removesuffix('-preview')}-{self.channel}{suffix}.tar.gz"

    def files(self, package: str) -> Mapping[str, str]:
        """The files of a package by their paths in the toolchain."""
        rustlib = "lib/rustlib"
        if package == "rustc":
            rustc = fakes.RUSTC.format(
                release=self.release, commit_date=self.date, llvm=self.llvm
            ).replace(fakes.HOST, HOST)
            return {"bin/rustc": rustc, "lib/librustc_driver-1.so": f"driver {self.date}"}
        if package == "cargo":
            return {"bin/cargo": "#!/bin/sh\n"}
        if package == "rust-std":
            return {f"{rustlib}/{HOST}/lib/libstd-1.rlib": "std"}
        if package == "rust-src":
            library = f"{rustlib}/src/rust/library"
            return {f"{library}/{name}": text for name, text in fakes.SOURCES.items()}
        tool = fakes.LLVM_TOOL.format(llvm=self.llvm)
        return {f"{rustlib}/{HOST}/bin/{name}": f"{tool}# {name}\n" for name in fakes.LLVM_NAMES}

    def archive(self, package: str) -> bytes:
        """The package as the rust-installer packs it; the same release gives the same bytes."""
        files = self.files(package)
        listing = "".join(f"file:{path}\n" for path in files)
        entries = {"rust-installer-version": "3\n", "components": f"{package}\n"}
        entries[f"{package}/manifest.in"] = listing
        entries.update({f"{package}/{path}": text for path, text in files.items()})
        packed = io.BytesIO()
        root = f"{package}-{self.channel}"
        folders = {parent for path in entries for parent in Path(root, path).parents}
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for folder in sorted(str(each) for each in folders - {Path()}):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            for path, text in entries.items():
                entry = tarfile.TarInfo(f"{root}/{path}")
                entry.size = len(text.encode())
                entry.mode = 0o755 if text.startswith("#!") else 0o644
                tar.addfile(entry, io.BytesIO(text.encode()))
        return packed.getvalue()

    def manifest(self, archives: Mapping[str, bytes]) -> str:
        """The manifest that names `archives` (path -> content) with their digests."""
        lines = ['manifest-version = "2"', f'date = "{self.date}"']
        there = [name for name in PACKAGES if name not in self.absent]
        for name in there:
            target = "*" if name == "rust-src" else HOST
            lines += [f"[pkg.{name}]", f'version = "{self.release} (0 {self.date})"']
            lines += [f'[pkg.{name}.target."{target}"]']
            if name in self.unavailable:
                lines += ["available = false"]
                continue
            path = self.archive_path(name)
            digest = hashlib.sha256(archives[path]).hexdigest()
            lines += ["available = true", f'url = "{UPSTREAM}/{path}"', f'hash = "{digest}"']
        lines += ["[pkg.rust]", f'version = "{self.release} (0 {self.date})"']
        lines += [f'[pkg.rust.target."{HOST}"]', "available = true"]
        lines += [f'url = "{UPSTREAM}/dist/rust.tar.gz"', f'hash = "{"0" * 64}"']
        for key, optional in (("components", False), ("extensions", True)):
            rows = [
                f'{{ pkg = "{name}", target = "{"*" if name == "rust-src" else HOST}" }}'
                for name in there
                if (name in ("rust-src", "llvm-tools-preview")) == optional
            ]
            lines += [f"{key} = [{', '.join(rows)}]"]
        if "llvm-tools-preview" in there:
            lines += ["[renames.llvm-tools]", 'to = "llvm-tools-preview"']
        return "\n".join([*lines, "[profiles]", 'minimal = ["rustc", "cargo", "rust-std"]', ""])


@dataclass
class DistServer:
    """Serves what `publish` was given.

    cut      paths of which only half is sent before the connection is closed
    held     paths of which half is sent and nothing more until the server ends
    reached  set when a held path was asked for
    asked    every path that was asked for, in order
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    reached: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    def publish(self, release: Release) -> Release:
        """Serve the manifest and the archives of `release`."""
        gone = (*release.absent, *release.unavailable)
        archives = {
            release.archive_path(name): release.archive(name)
            for name in PACKAGES
            if name not in gone
        }
        manifest = release.manifest(archives).encode()
        digest = hashlib.sha256(manifest).hexdigest()
        name = release.manifest_path.rpartition("/")[2]
        self.files.update(archives)
        self.files[release.manifest_path] = manifest
        self.files[f"{release.manifest_path}.sha256"] = f"{digest}  {name}\n".encode()
        return release

    def environ(self, home: Path) -> dict[str, str]:
        """What makes rustup ask this server and no other, with a HOME of its own."""
        return {
            "HOME": str(home),
            "RUSTUP_DIST_SERVER": self.url,
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            # In bytes. By default rustup fills half of the memory first, which takes 2 s.
            "RUSTUP_UNPACK_RAM": "104857600",
        }

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.lstrip("/")
        self.asked.append(path)
        data = self.files.get(path)
        if data is None:
            handler.send_error(404)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if path not in self.cut | self.held:
            handler.wfile.write(data)
            return
        handler.wfile.write(data[: len(data) // 2])
        handler.wfile.flush()
        if path in self.held:
            self.reached.set()
            self.ended.wait()
        handler.close_connection = True
        with contextlib.suppress(OSError):
            handler.connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def serving() -> Iterator[DistServer]:
    """A server with nothing on it yet, on a free port, gone afterwards."""
    state = DistServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with contextlib.suppress(OSError):
                state.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
