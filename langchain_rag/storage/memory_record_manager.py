"""A record manager for `index()` that need not outlive the process."""

from __future__ import annotations

import math
import threading
from time import time as _clock
from typing import TYPE_CHECKING

from langchain_core.indexing import InMemoryRecordManager as _InMemoryRecordManager

if TYPE_CHECKING:
    from collections.abc import Sequence


class InMemoryRecordManager(_InMemoryRecordManager):
    """LangChain's `InMemoryRecordManager`, with two losses mended.

    - `update` without group ids keeps those that are stored. `index()` refreshes unchanged
      documents that way before it adds the changed ones; when that fails, LangChain's own
      has lost their source, and later clean-ups pass them over for good.
    - `get_time` never gives the same time twice, nor goes back with the system's clock, so
      that a run that follows at once still tells its records from those before.

    Args:
        namespace: Name of the records.

    Example:
        >>> manager = InMemoryRecordManager("docs")
        >>> manager.update(["a"], group_ids=["euler.txt"])
        >>> manager.update(["a"])
        >>> manager.list_keys(group_ids=["euler.txt"])
        ['a']
    """

    def __init__(self, namespace: str) -> None:
        super().__init__(namespace)
        self._latest = 0.0
        self._lock = threading.Lock()

    def get_time(self) -> float:
        """Return the time in seconds since 1970, later than any that it returned before."""
        with self._lock:
            self._latest = max(_clock(), math.nextafter(self._latest, math.inf))
            return self._latest

    def update(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """Write or refresh records.

        Args:
            keys: Their keys.
            group_ids: The source of each. Where there is none, a stored one is kept.
            time_at_least: A time that must have been reached.

        Raises:
            ValueError: If there is another number of group ids than of keys, or the time is
                still to come.
        """
        given = [None] * len(keys) if group_ids is None else list(group_ids)
        if len(given) != len(keys):
            msg = f"{len(keys)} keys have {len(given)} group ids: give one for each key."
            raise ValueError(msg)
        kept = [
            self.records[key]["group_id"] if group is None and key in self.records else group
            for key, group in zip(keys, given, strict=True)
        ]
        super().update(keys, group_ids=kept, time_at_least=time_at_least)
