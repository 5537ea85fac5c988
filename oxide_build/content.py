"""Where the data that the engine loads lies: `rules/`, `toolchains/`, `cache/`."""

from __future__ import annotations

from pathlib import Path

from oxide_build.errors import InfrastructureError

_PACKAGE = Path(__file__).resolve().parent


def content_root(name: str) -> Path:
    """The folder `rules`, `toolchains` or `cache`, in an installed wheel or in a checkout.

    A wheel carries them in `oxide_build/_content/`; an editable install reads the checkout's.
    """
    for folder in (_PACKAGE / "_content" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise InfrastructureError(
        f"the folder `{name}` of oxide_build is missing beside `{_PACKAGE}`",
        hint="the installation is damaged: install oxide-build again",
    )
