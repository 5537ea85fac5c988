"""What rustup says when it cannot install something, as errors with place, cause and way out."""

from __future__ import annotations

import datetime
import re
import signal
from dataclasses import dataclass

from oxide_build.errors import ToolchainError
from oxide_build.host.process import Completed
from oxide_build.resolution.facts import RustFacts

DEFAULT_SERVER = "https://static.rust-lang.org"

# Of one component, of several in one sentence, and of one that the manifest does not know.
_GONE = re.compile(
    r"components? (?:'[^']+'.*? is|are) unavailable for download.*"
    r"|does not contain component '[^']+'.*"
)
_CHECKSUM = re.compile(
    r"checksum failed for '([^']+)', expected: '([0-9a-f]+)', calculated: '([0-9a-f]+)'"
)
_DOWNLOAD = re.compile(r"could not download file from '([^']+)' to '[^']*'(?:: (.*))?")
_NO_RELEASE = re.compile(r"no release found for '|could not download nonexistent rust version")
_BROKEN = re.compile(r"could not parse manifest file: '[^']*': (.*)")

_AGAIN = "nothing of it was kept: run the same command again"


class Unavailable(ToolchainError):
    """The release was published, without some `components`."""

    def __init__(self, message: str, components: tuple[str, ...], *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.components = components


@dataclass(frozen=True, slots=True, kw_only=True)
class RustupMessages:
    """The errors of installing `channel` ("1.96.0", "nightly-2026-04-03") from `server`.

    date     the archive date of a night, None of a release
    command  what a user can type to see the same
    """

    channel: str
    date: datetime.date | None
    server: str
    command: str
    facts: RustFacts

    def failure(self, done: Completed) -> ToolchainError:
        """What stopped rustup, by how it ended and what it wrote."""
        if done.returncode < 0:
            return self._killed(-done.returncode)
        text = done.stderr.decode("utf-8", "replace")
        gone = _GONE.search(text)
        if gone is not None:
            return self.unavailable(_components(gone[0]))
        if _NO_RELEASE.search(text):
            return self._no_release()
        checksum = _CHECKSUM.search(text)
        if checksum is not None:
            return ToolchainError(
                f"`{checksum[1]}` is not the file that the release says: sha256 {checksum[3]} "
                f"instead of {checksum[2]}",
                hint="a mirror or proxy altered it, or is between two states: try again later, or "
                "set another `RUSTUP_DIST_SERVER`",
            )
        download = _DOWNLOAD.search(text)
        if download is not None:
            # Of a chain of causes the last says what happened; those before it say where in rustup.
            reason = (download[2] or "rustup does not say why").strip().rpartition(": ")[2]
            reason = f"the server answered {reason}" if reason.isdecimal() else reason
            return ToolchainError(
                f"`{download[1]}` could not be downloaded: {reason}",
                hint=f"{_AGAIN}; without a way to {self.server}, set `RUSTUP_DIST_SERVER` to a "
                "mirror or `HTTPS_PROXY` to a proxy",
            )
        return self._other(text, done.returncode)

    def unavailable(self, components: tuple[str, ...]) -> Unavailable:
        """The release is there and lacks `components`."""
        parts = " and ".join(f"`{component}`" for component in components)
        return Unavailable(
            f"rustup has no {parts} for `{self.channel}`",
            components,
            hint=self._nights_nearby()
            or "choose another date: not every component is built every night",
        )

    def _no_release(self) -> ToolchainError:
        if self.date is not None:
            return ToolchainError(
                f"there is no `{self.channel}` on {self.server}",
                hint="not every night has a release: " + self._nights_nearby(),
            )
        return ToolchainError(
            f"there is no rustc `{self.channel}` on {self.server}",
            hint=f"name a release that is out: {', '.join(self.facts.preferred[:3])}; a mirror may "
            "not have the newest yet",
        )

    def _killed(self, number: int) -> ToolchainError:
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        why = "; the machine may have run out of memory" if number == signal.SIGKILL else ""
        return ToolchainError(
            f"rustup was ended by {name} while it installed `{self.channel}`",
            hint=f"{_AGAIN}{why}",
        )

    def _other(self, text: str, status: int) -> ToolchainError:
        broken = _BROKEN.search(text)
        if broken is not None:
            return ToolchainError(
                f"the manifest of `{self.channel}` on {self.server} is broken: {broken[1]}",
                hint=self._nights_nearby() or "set another `RUSTUP_DIST_SERVER`",
            )
        lines = [
            line.strip() for line in text.splitlines() if re.match(r"(error|caused by)\b", line)
        ]
        reason = "; ".join(lines[:3]) or text.strip()[-300:] or f"status {status}"
        return ToolchainError(
            f"rustup could not install `{self.channel}`: {reason}",
            hint=f"try it by hand: `{self.command}`",
        )

    def _nights_nearby(self) -> str:
        """A clause that names nights to take instead, "" for releases."""
        near = self.facts.nearest_complete(self.date) if self.date is not None else ()
        names = " and ".join(f"`nightly-{night}`" for night in near)
        return f"{names} were seen with all components" if near else ""


def _components(sentence: str) -> tuple[str, ...]:
    """The components that rustup's sentence names, as people call them, each once.

    "component 'a' for target 't' is unavailable for download for channel 'c'" and "some components
    are unavailable for download for channel 'c': 'a' for target 't', 'b'".
    """
    listed = re.sub(r"for (?:target|channel) '[^']*'", "", sentence)
    names = (name.removesuffix("-preview") for name in re.findall(r"'([^']+)'", listed))
    return tuple(dict.fromkeys(names))
