"""How a store imports: its transformers, its defaults, and the options of a call."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from langchain_core.documents import BaseDocumentTransformer
from langchain_core.runnables import RunnableConfig

from langchain_rag.caches.variations import VariationCache
from langchain_rag.document_transformers import fingerprint_of
from langchain_rag.document_transformers.base import limit_of
from langchain_rag.document_transformers.llm.memory import REFRESH, VARIATION_CACHE
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.batches import BATCH_SIZE

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

    @property
    def limit(self) -> int:
        """How many model calls may be under way."""
        return limit_of(self.config)


@dataclass(frozen=True, slots=True)
class Defaults:
    """How a store imports unless a call says otherwise.

    Attributes:
        max_concurrency: Largest number of model calls at a time.
        variation_cache: Keeps what models answer; None keeps nothing.
    """

    max_concurrency: int | None
    variation_cache: VariationCache | None

    def settings(
        self,
        batch_size: int | None = None,
        config: RunnableConfig | None = None,
        *,
        force: bool = False,
        options: dict[str, Any] | None = None,
        on_error: OnError = "raise",
        ignore_metadata: Collection[str] = (),
        dry_run: bool = False,
    ) -> Settings:
        """Check what a call asks for, and complete it.

        Args:
            batch_size: As in `Settings`, None for the default.
            config: The caller's config, which is not changed.
            force: As in `Settings`.
            options: The same.
            on_error: The same.
            ignore_metadata: The same.
            dry_run: The same.

        Raises:
            ConfigurationError: An argument cannot work.
        """
        if on_error not in {"raise", "skip", "copy"}:
            message = f"on_error is {on_error!r}; give 'raise', 'skip' or 'copy'."
            raise ConfigurationError(message)
        if isinstance(ignore_metadata, str):
            message = f"ignore_metadata is the text {ignore_metadata!r}; give a list of keys."
            raise ConfigurationError(message)
        size = BATCH_SIZE if batch_size is None else batch_size
        if size < 1:
            message = f"batch_size is {batch_size}; it must be 1 or more."
            raise ConfigurationError(message)
        return Settings(
            size,
            self._completed(config, force=force),
            force,
            options or {},
            on_error,
            frozenset(ignore_metadata),
            dry_run,
        )

    def _completed(self, config: RunnableConfig | None, *, force: bool) -> RunnableConfig:
        """Return a caller's config with the store's limit and cache."""
        completed = RunnableConfig(**(config or {}))
        if self.max_concurrency is not None:
            completed.setdefault("max_concurrency", self.max_concurrency)
        configurable = dict(completed.get("configurable") or {})
        if self.variation_cache is not None:
            configurable.setdefault(VARIATION_CACHE, self.variation_cache)
        if force:
            configurable[REFRESH] = True
        if configurable:
            completed["configurable"] = configurable
        return completed


Fingerprints: TypeAlias = tuple[str | None, str | None]
"""Identity of both transformers, None for one that has none that can be relied on."""

NO_TRANSFORMER: Final = "none"
"""Fingerprint of a transformer that is not there."""


@dataclass(frozen=True, slots=True)
class Transformers:
    """The two stages that a document goes through.

    Attributes:
        parent: Cuts documents into chunks; None keeps them whole.
        chunk: Makes the variations of a chunk; None searches the chunk itself.
        namespace: Namespace of the store.
        counts_as: Fingerprints that stand for theirs, where what they make counts as made by
            others.
    """

    parent: BaseDocumentTransformer | None
    chunk: BaseDocumentTransformer | None
    namespace: str
    counts_as: Fingerprints | None = None

    @property
    def fingerprints(self) -> Fingerprints:
        """Their identity."""
        return self.counts_as or (_fingerprint(self.parent), _fingerprint(self.chunk))


def _fingerprint(transformer: BaseDocumentTransformer | None) -> str | None:
    return NO_TRANSFORMER if transformer is None else fingerprint_of(transformer)
