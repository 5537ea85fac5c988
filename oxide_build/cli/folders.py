"""Where oxide_build keeps what is not a workspace's: the cache and the toolchains."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import InfrastructureError


@dataclass(frozen=True, slots=True)
class Folders:
    """`cache` can be lost at any time; `store` holds toolchains that would be fetched again."""

    cache: Path
    store: Path

    @classmethod
    def find(cls) -> Folders:
        """`OXIDE_CACHE` and `OXIDE_STORE`, else where the platform keeps such things.

        Makes the cache folder, readable by its owner alone. Raises `InfrastructureError`, also
        where it belongs to someone else: what is in it is run.
        """
        # platformdirs costs 5 ms; most people set nothing, CI sets both.
        cache, store = os.environ.get("OXIDE_CACHE"), os.environ.get("OXIDE_STORE")
        if not (cache and store):
            import platformdirs

            cache = cache or str(platformdirs.user_cache_path("oxide_build"))
            store = store or str(platformdirs.user_data_path("oxide_build") / "toolchains")
        folders = cls(Path(cache).absolute(), Path(store).absolute())
        folders._make_cache()
        return folders

    def _make_cache(self) -> None:
        try:
            self.cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            state = self.cache.stat()
            owner = state.st_uid
        except OSError as error:
            raise InfrastructureError(
                f"could not make the cache folder `{self.cache}`: {error.strerror}",
                hint="set `OXIDE_CACHE` to a folder that you may write",
            ) from error
        if owner != os.getuid():
            raise InfrastructureError(
                f"the cache folder `{self.cache}` belongs to another user",
                hint="set `OXIDE_CACHE` to a folder of your own",
            )
        if state.st_mode & 0o022:
            raise InfrastructureError(
                f"the cache folder `{self.cache}` can be written by others: what is in it is run",
                hint=f"take that away (`chmod go-w {self.cache}`), or set `OXIDE_CACHE` to another",
            )
        if not os.access(self.cache, os.W_OK | os.X_OK):
            raise InfrastructureError(
                f"the cache folder `{self.cache}` cannot be written",
                hint="set `OXIDE_CACHE` to a folder that you may write; to read from one that you "
                "may not, name it as `shared` in `[cache]` of oxide.toml",
            )
