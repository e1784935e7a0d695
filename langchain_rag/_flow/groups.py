"""What flows that run side by side know of each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_rag._flow.requests import Flow, Streamed


@dataclass(slots=True, eq=False)
class Group:
    """Flows that run side by side for another one, which waits for them."""

    parent: Node
    results: list[Any] = field(default_factory=list[Any])
    open: int = 0
    failed_at: int | None = None
    source: Streamed | None = None  # of a stream that may have more
    producing: bool = False

    def fail(self, position: int) -> None:
        """Note a failure: what comes after it is given up, and nothing more is made."""
        self.failed_at = position if self.failed_at is None else min(self.failed_at, position)
        self.source = None


@dataclass(slots=True, eq=False)
class Node:
    """A flow that runs."""

    flow: Flow[Any]
    group: Group | None = None
    position: int = 0
    started: bool = False  # whether it has begun to do something that is counted
    aside: bool = True  # whether what it does in turn may be done in another thread

    def is_given_up(self) -> bool:
        """Say whether a flow before it, or before one that it belongs to, has failed."""
        node = self
        while node.group is not None:
            failed_at = node.group.failed_at
            if failed_at is not None and failed_at < node.position:
                return True
            node = node.group.parent
        return False

    @property
    def depth(self) -> int:
        """How many flows wait for it."""
        return 0 if self.group is None else 1 + self.group.parent.depth
