"""The three tiers of the tests: what a run leaves out, and how long its random tests look.

- Everyday, without a flag: every behaviour on one backend at least, sync and async.
- `--full`: everything, with coverage and its bound.
- `--soak`: everything, killed at all points and with many random examples; by hand.

A test, a module or a parameter that is not for every day has the mark `full`. pytest loads this
file as a plugin before any conftest.py (`-p` in pyproject.toml), so that `--full` can switch
pytest-cov on.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")

# What hypothesis looks at. Where a red run has to be about the change it ran on, it repeats
# itself; in a soak it looks elsewhere each time.
PROFILES: dict[str, dict[str, Any]] = {
    "everyday": {"max_examples": 20, "stateful_step_count": 20, "derandomize": True},
    "full": {"max_examples": 50, "stateful_step_count": 30, "derandomize": True},
    "soak": {"max_examples": 1000, "stateful_step_count": 50},
}

# At how many points of a backend a process is killed, and how long many processes write.
KILL_POINTS = {"full": 40, "soak": 200}
WRITE_SECONDS = {"full": 10.0, "soak": 60.0}


class _WithCoverage(argparse.Action):
    """`--full` is `--cov` too."""

    def __call__(self, _parser: Any, namespace: Any, _values: Any, option: Any = None) -> None:
        namespace.tier = "full"
        namespace.cov_source = [True]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers", "how much is tested (see CONTRIBUTING.md)")
    group.addoption(
        "--full",
        action=_WithCoverage,
        nargs=0,
        dest="tier",
        default="everyday",
        help="test everything, with coverage",
    )
    group.addoption(
        "--soak",
        action="store_const",
        const="soak",
        dest="tier",
        help="test everything for an hour: all points of a kill, many random examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    from hypothesis import HealthCheck, settings

    tier = config.getoption("tier")
    settings.register_profile(
        tier,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
        **PROFILES[tier],
    )
    settings.load_profile(tier)


def pytest_report_header(config: pytest.Config) -> str:
    return f"tier: {config.getoption('tier')} (of everyday, --full, --soak)"


@pytest.hookimpl(trylast=True)  # after hooks that add marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("tier") == "everyday":
        left_out = [one for one in items if one.get_closest_marker("full") or _notebook(one)]
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [one for one in items if one not in gone]
    # The longest first, so that no worker has to wait for it at the end.
    items.sort(key=lambda item: not _notebook(item))


def _notebook(item: pytest.Item) -> bool:
    return item.path.suffix == ".ipynb"


def everyday(chosen: Iterable[T], *, of: Iterable[T]) -> list[Any]:
    """Mark those of a test's parameters that are not for every day.

    Args:
        chosen: Those that are.
        of: All of them.

    Returns:
        What `pytest.mark.parametrize` and `pytest.fixture(params=...)` take.
    """
    wanted = list(chosen)
    return [
        value if value in wanted else pytest.param(value, marks=pytest.mark.full)
        for value in of
    ]
