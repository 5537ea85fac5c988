"""Opening an address: https, http of this machine, or a file; from its beginning or further on."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import ssl
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO
from urllib.parse import unquote, urlsplit

from oxide_build import __version__
from oxide_build.errors import ToolchainError
from oxide_build.model.archive_source import on_this_machine, wrong_url
from oxide_build.model.label import shown

_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)\s*\Z", re.ASCII)
_BROKEN = (OSError, http.client.HTTPException)


class Cut(Exception):
    """It ended too early, and another attempt may do better; `anew` from the beginning only."""

    def __init__(self, what: str, *, anew: bool = False) -> None:
        super().__init__(what)
        self.anew = anew


@dataclass(frozen=True, slots=True)
class Response:
    """Bytes from `begin` on; `total_bytes` is the size of the whole file, if it is known."""

    source: IO[bytes]
    begin: int
    total_bytes: int | None

    def read(self, limit_bytes: int) -> bytes:
        """Some bytes, b"" at the end, which may be an early one. Raises `Cut`."""
        try:
            return self.source.read(limit_bytes)
        except _BROKEN as error:
            raise Cut(_words(error)) from error


@contextlib.contextmanager
def open_url(url: str, begin: int, *, timeout_s: float) -> Iterator[Response]:
    """Open `url` at byte `begin`, or at 0 where the server cannot do that.

    Raises `ToolchainError` where another attempt would be no better, else `Cut`. Proxies and
    certificates are those of the environment; this machine is spoken to without a proxy.
    """
    wrong = wrong_url(url)
    if wrong is not None:
        raise ToolchainError(f"{shown(url)} {wrong[0]}", hint=wrong[1])
    if url[:5].lower() == "file:":
        with _open_file(url) as file:
            yield Response(file, 0, os.fstat(file.fileno()).st_size)
        return
    with _ask(url, begin, timeout_s) as answer:
        if answer.status not in (200, 206):
            raise ToolchainError(f"{shown(url)} answered with status {answer.status}")
        if answer.status == 206:
            found = _RANGE.match(answer.headers.get("Content-Range", ""))
            if found is None or int(found[1]) != begin:
                raise Cut("the server sent another range than asked for", anew=True)
            yield Response(answer, begin, None if found[2] == "*" else int(found[2]))
        else:
            length = answer.headers.get("Content-Length", "")
            yield Response(answer, 0, int(length) if length.isdecimal() else None)


def _open_file(url: str) -> IO[bytes]:
    path = unquote(urlsplit(url).path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ToolchainError(f"`{path}` is no file", hint=f"{shown(url)} must name an archive")
        return open(path, "rb")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolchainError(
            f"`{path}` could not be read: {why}", hint=f"put the archive there for {shown(url)}"
        ) from error


def _ask(url: str, begin: int, timeout_s: float) -> http.client.HTTPResponse:
    headers = {"User-Agent": f"oxide_build/{__version__}", "Accept-Encoding": "identity"}
    if begin:
        headers["Range"] = f"bytes={begin}-"
    handlers: list[urllib.request.BaseHandler] = [SafeRedirects()]
    if on_this_machine(url):
        handlers.append(urllib.request.ProxyHandler({}))
    # `wrong_url` was asked; redirects are asked of it by their handler.
    request = urllib.request.Request(url, headers=headers)  # noqa: S310
    try:
        answer: http.client.HTTPResponse = urllib.request.build_opener(*handlers).open(
            request, timeout=timeout_s
        )
        return answer
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(url, begin, error) from error
    except urllib.error.URLError as error:
        raise _unreachable(url, error.reason) from error
    except http.client.InvalidURL as error:
        raise ToolchainError(f"{shown(url)} is not an address: {error}") from error
    except _BROKEN as error:
        raise Cut(_words(error)) from error


class SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows to where we would have gone ourselves, and never from https to anything else."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        wrong = wrong_url(newurl)
        what = wrong[0] if wrong is not None else ""
        scheme = newurl.partition(":")[0].lower()
        if scheme != "https" and (req.type == "https" or scheme != "http"):
            what = what or f"is `{scheme}` after `{req.type}`"
        if what:
            raise ToolchainError(
                f"{shown(req.full_url)} redirects to {shown(newurl)}, which {what}",
                hint="write the address of the archive itself",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _refusal(url: str, begin: int, error: urllib.error.HTTPError) -> Exception:
    said = f"{error.code} {error.reason}"
    if error.code == 416 and begin:
        # What is here is longer than what the server has: it is not of the same file.
        return Cut("the server has no such range", anew=True)
    if error.code in _TRY_AGAIN:
        return Cut(f"the server answered {said}")
    hint = "is the address right? Open it in a browser"
    if error.code in (401, 403):
        hint = "the server wants to know who asks: put the archive where anyone may fetch it"
    if error.code == 407:
        hint = "the proxy wants a password: set it in `https_proxy`"
    return ToolchainError(f"{shown(url)} could not be downloaded: {said}", hint=hint)


def _unreachable(url: str, reason: object) -> Exception:
    if isinstance(reason, ssl.SSLCertVerificationError):
        hint = "if a proxy puts in its own certificates, name them in `SSL_CERT_FILE`"
    elif isinstance(reason, (socket.gaierror, ConnectionRefusedError)):
        hint = "is the network up, and the address right? A proxy is set by `https_proxy`"
    else:
        return Cut(_words(reason))
    return ToolchainError(f"{shown(url)} could not be reached: {_words(reason)}", hint=hint)


def _words(error: object) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
