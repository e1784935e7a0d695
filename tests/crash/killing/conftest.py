"""A zygote for all tests of a worker, and how many points they strike at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.crash.killing.zygote import Zygote

if TYPE_CHECKING:
    from collections.abc import Iterator

KILL_POINTS = int(os.environ.get("KILL_POINTS", "40"))
"""For each backend. `KILL_POINTS=200 uv run pytest tests/crash/killing` strikes at all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They start processes, and some of them a server."""
    for item in items:
        if "/crash/killing/" in str(item.path):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    with Zygote() as zygote:
        yield zygote


@pytest.fixture
def kill_points() -> int:
    return KILL_POINTS


@pytest.fixture
def write_seconds() -> float:
    """How long many processes write: a minute where all points are struck at."""
    return 60.0 if KILL_POINTS >= 200 else 10.0
