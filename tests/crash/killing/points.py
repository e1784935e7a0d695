"""A deterministic count of what a process does, and what happens when it gets to a number.

Only operations are counted, never time: the same call over the same stores counts the same,
so that each of its points can be struck on purpose.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def die() -> None:
    """End this process as `kill -9` does: nothing runs afterwards, nothing is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)


class Points:
    """Counts points, and strikes at one of them.

    Args:
        target: Where to strike; None for nowhere.
        strike: What to do there.

    Attributes:
        labels: What every point so far was, such as `"docstore.write before"`.
    """

    def __init__(self, target: int | None = None, strike: Callable[[], None] = die) -> None:
        self.labels: list[str] = []
        self._target = target
        self._strike = strike
        self._lock = threading.Lock()  # model calls run in threads

    def reach(self, label: str) -> None:
        """Count a point.

        Args:
            label: What it is.
        """
        with self._lock:
            self.labels.append(label)
            struck = len(self.labels) == self._target
        if struck:
            self._strike()

    def is_next(self) -> bool:
        """Say whether the next point is the one to strike at."""
        return len(self.labels) + 1 == self._target


def kind_of(label: str) -> str:
    """Return the operation of a label, without its moment.

    Args:
        label: A label of `Points`.
    """
    return label.partition(" ")[0]


def spread(labels: list[str], number: int, *, share: int, shares: int) -> list[int]:
    """Choose points of one call: some of each kind of operation, and evenly in between.

    Args:
        labels: Of all its points.
        number: How many to choose.
        share: Which part of the kinds this choice must have in it, from 0.
        shares: How many choices cover all kinds between them.

    Returns:
        Points, from 1, in order; more than `number` where there are more kinds.
    """
    by_kind: dict[str, list[int]] = {}
    for point, label in enumerate(labels, 1):
        by_kind.setdefault(kind_of(label), []).append(point)
    kinds = sorted(by_kind)[share::shares]
    # The one in the middle: the first and the last are what an even spread finds.
    chosen = {by_kind[kind][len(by_kind[kind]) // 2] for kind in kinds}
    offset = share / shares
    for size in range(max(0, number - len(chosen)), len(labels) + 1):
        even = {1 + int((n + offset) * len(labels) / size) for n in range(size)}
        if len(chosen | even) >= min(number, len(labels)):
            return sorted(chosen | even)
    return sorted(chosen)
