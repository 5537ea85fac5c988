"""Source files of a package: by name and by glob, never across its borders."""

from __future__ import annotations

import re

from oxide_build.errors import UsageError
from oxide_build.load.files import BUILD_FILE, WORKSPACE_FILE, Folder, WorkspaceFiles, parents
from oxide_build.load.globs import Glob
from oxide_build.load.wording import did_you_mean, listed
from oxide_build.model.action import OUTPUT_ROOT
from oxide_build.model.label import shown

_DESCRIPTIONS = frozenset({BUILD_FILE, WORKSPACE_FILE})
# Names that would become something else on a command line or in a list of files.
_AWKWARD = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]|\A[-@]|\{cwd\}")


class Sources:
    """Looks for files in folders, each of which is read once.

    A new load needs a new one. Mistakes are `UsageError`, for callers that know the place; what
    `WorkspaceFiles` refuses is `DefinitionError`.
    """

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files
        self._folders: dict[str, Folder] = {}

    def is_package(self, path: str) -> bool:
        """Whether there is a `BUILD.toml` in the folder `path`."""
        folder = self._folder(path)
        return BUILD_FILE in folder.files or BUILD_FILE in folder.links + folder.others

    def is_folder(self, path: str) -> bool:
        """Whether `path` is a folder of this workspace, but perhaps no package."""
        above = (folder for folder in (path, *parents(path)) if folder)
        if any(self._files.is_link(folder) or self._is_workspace(folder) for folder in above):
            return False
        return self._files.kind(path) == "folder"

    def why_no_package(self, path: str) -> str | None:
        """What keeps `path` from being a package of this workspace; None if it is one."""
        for folder in reversed([path, *parents(path)]):
            if not folder:
                continue
            if folder.rpartition("/")[2] == OUTPUT_ROOT:
                return "that is the folder of outputs"
            if self._files.is_link(folder):
                return f"`{folder}` is a symbolic link, and a package has one name only"
            if self._is_workspace(folder):
                return f"`{folder}` is a workspace of its own: it has an `{WORKSPACE_FILE}`"
        if self.is_package(path):
            return None
        if self._files.kind(path) == "folder":
            return f"the folder `{path or '.'}` has no `{BUILD_FILE}`"
        return "the folder does not exist"

    def file(self, package: str, name: str) -> str:
        """The workspace path of the file `name` of `package`."""
        path = _inside(package, name)
        self._check_owner(package, path, name)
        folder, _, base = path.rpartition("/")
        if base in self._folder(folder).files:
            return path
        kind = self._files.kind(path)
        if kind == "file":
            return path
        if kind == "missing":
            raise UsageError(
                f"there is no file {shown(name)} in the package", hint=self._similar(package, name)
            )
        if kind == "folder":
            raise UsageError(
                f"{shown(name)} is a folder, not a file",
                hint=f"write `{shown(name.rstrip('/'))[1:-1]}/**` for all files in it",
            )
        raise UsageError(f"{shown(name)} is a FIFO, a socket or a device, not a regular file")

    def glob(self, package: str, pattern: str) -> list[str]:
        """The workspace paths of the files of `package` that `pattern` matches, sorted.

        Symbolic links to folders are not followed. O(entries of the folders searched).
        """
        _inside(package, pattern)
        parts = Glob.parse(pattern).parts
        found: set[str] = set()
        seen = {(package, 0)}
        waiting = [(package, 0)]
        while waiting:
            place, index = waiting.pop()
            part = parts[index]
            folder = self._folder(place)
            prefix = f"{place}/" if place else ""
            if part is not None and index == len(parts) - 1:
                found.update(self._matching(prefix, folder, part))
                continue
            step = 0 if part is None else 1
            below = [
                (prefix + name, index + step)
                for name in folder.folders
                if name != OUTPUT_ROOT and (part is None or part.match(name))
            ]
            new = [state for state in below if state not in seen and not self._is_border(state[0])]
            if part is None and (place, index + 1) not in seen:
                new.append((place, index + 1))
            seen.update(new)
            waiting.extend(new)
        for path in found:
            _check_text(path)
        return sorted(found)

    def files_of(self, package: str) -> tuple[str, ...]:
        """The names of the files in the package's own folder."""
        return tuple(name for name in self._folder(package).files if name not in _DESCRIPTIONS)

    def _matching(self, prefix: str, folder: Folder, part: re.Pattern[str]) -> set[str]:
        paths = {prefix + name for name in folder.files if part.match(name)}
        for name in folder.links:
            if part.match(name) and self._files.kind(prefix + name) == "file":
                paths.add(prefix + name)
        return {path for path in paths if path.rpartition("/")[2] not in _DESCRIPTIONS}

    def _check_owner(self, package: str, path: str, name: str) -> None:
        for folder in parents(path):
            if folder == package:
                return
            if self._is_workspace(folder):
                raise UsageError(f"{shown(name)} belongs to another workspace, `{folder}`")
            if self.is_package(folder):
                raise UsageError(
                    f"{shown(name)} belongs to another package, `//{folder}`",
                    hint=f"give it a name there, with a `[[filegroup]]` in `{folder}/{BUILD_FILE}`"
                    f", and use that: `//{folder}:NAME`",
                )

    def _similar(self, package: str, name: str) -> str:
        folder = name.rpartition("/")[0]
        place = "/".join(part for part in (package, folder) if part)
        known = [f"{folder}/{file}" if folder else file for file in self._folder(place).files]
        base = name.rpartition("/")[2]
        for below in self._folder(package).folders:
            if base in self._folder(f"{package}/{below}" if package else below).files:
                known.append(f"{below}/{base}")
        known = [other for other in known if other not in _DESCRIPTIONS]
        nested = [other for other in known if other.endswith(f"/{base}")]
        close = did_you_mean(name, nested or known, count=3)
        if nested and close is None:
            close = f"did you mean `{nested[0]}`?"
        return close or self.contents(package)

    def contents(self, package: str) -> str:
        """A hint: what the package's folder holds."""
        names = self.files_of(package)
        where = f"the folder `{package or '.'}`"
        return f"{where} holds {listed(names, limit=8)}" if names else f"{where} has no files"

    def _folder(self, path: str) -> Folder:
        folder = self._folders.get(path)
        if folder is None:
            folder = self._folders[path] = self._files.folder(path)
        return folder

    def _is_workspace(self, path: str) -> bool:
        folder = self._folder(path)
        return bool(path) and WORKSPACE_FILE in folder.files + folder.links

    def _is_border(self, path: str) -> bool:
        return self.is_package(path) or self._is_workspace(path)


def _inside(package: str, name: str) -> str:
    """The workspace path of `name`, which cannot lead out of the package's folder."""
    if name.startswith("/"):
        raise UsageError(
            f"{shown(name)} is an absolute path",
            hint="write a path relative to the package; nothing outside the workspace is read",
        )
    parts = name.split("/")
    if ".." in parts:
        raise UsageError(
            f"{shown(name)} leaves the package",
            hint="give the file a name in its own package, with a `[[filegroup]]`, and use that: "
            "`//PACKAGE:NAME`",
        )
    if "" in parts or "." in parts:
        raise UsageError(
            f"{shown(name)} is not the path of a file",
            hint="write it without `.`, empty parts and a final `/`: `src/lib.rs`",
        )
    path = f"{package}/{name}" if package else name
    if path.split("/", 1)[0] == OUTPUT_ROOT:
        raise UsageError(
            f"{shown(name)} is an output", hint="name the target that makes it: `:TARGET`"
        )
    _check_text(path)
    return path


def _check_text(path: str) -> None:
    if _AWKWARD.search(path):
        raise UsageError(
            f"{shown(path)} cannot be the name of a source",
            hint="it has a control character, bytes that are not UTF-8, `{cwd}`, or `-` or `@` in "
            "front; rename the file",
        )
