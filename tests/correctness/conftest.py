"""The fixtures with a compiler, shared with the end-to-end tests."""

from __future__ import annotations

from tests.e2e.conftest import rust_ws, warm_cache

__all__ = ["rust_ws", "warm_cache"]
