"""A zygote for all tests of a worker, and how many points they strike at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import tiers
from tests.crash.killing.zygote import Zygote

if TYPE_CHECKING:
    from collections.abc import Iterator


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
def kill_points(request: pytest.FixtureRequest) -> int:
    """For each backend."""
    return tiers.KILL_POINTS[request.config.getoption("tier")]


@pytest.fixture
def write_seconds(request: pytest.FixtureRequest) -> float:
    """How long many processes write."""
    return tiers.WRITE_SECONDS[request.config.getoption("tier")]
