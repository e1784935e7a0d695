"""How to import."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from langchain_core.runnables import RunnableConfig

OnError: TypeAlias = Literal["raise", "skip", "copy"]
"""What becomes of a document whose import fails: the call fails; its old version stays; its
failing chunks are indexed by their plain text."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to import.

    Attributes:
        batch_size: Documents that go through each step together.
        config: For transformers that accept one.
        force: Do everything again, also for what did not change.
        options: Further arguments of the wrapped store's `add_documents`.
        on_error: What becomes of a document that fails.
        ignored: Metadata keys whose change is no change.
        dry_run: Find out what would be done, and do nothing that costs or writes.
    """

    batch_size: int
    config: RunnableConfig
    force: bool = False
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    on_error: OnError = "raise"
    ignored: frozenset[str] = frozenset()
    dry_run: bool = False

    @property
    def tolerant(self) -> bool:
        """Whether the other documents go on when one fails."""
        return self.on_error != "raise"
