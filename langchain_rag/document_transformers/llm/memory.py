"""Asking a variation cache before a model, and telling it each answer as it arrives.

The cache travels in the caller's config, so that it reaches transformers at any depth, and
none has to be changed for it:

    config = {"configurable": {"variation_cache": cache}}

A cache that fails costs a call of the model and a warning in the log, never the import.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.runnables import RunnableConfig

from langchain_rag._flow import Flow, call, call_as
from langchain_rag._identity import digest
from langchain_rag.caches.variation_codec import CacheKey
from langchain_rag.caches.variations import VariationCache
from langchain_rag.document_transformers.llm.calls import Asked, Piece
from langchain_rag.document_transformers.overseer import OVERSEER

__all__ = ["REFRESH", "VARIATION_CACHE", "Memory", "without_ours"]

_log = logging.getLogger(__name__)

VARIATION_CACHE: Final = "variation_cache"
"""Key of `config["configurable"]` whose value is the cache."""

REFRESH: Final = "refresh_variations"
"""Key of `config["configurable"]`; with True the model is asked whatever the cache has, and
the cache gets the new answers."""

_OURS: Final = frozenset({VARIATION_CACHE, REFRESH, OVERSEER})


class Memory:
    """What a transformer knows from earlier runs.

    Args:
        name: Class name of the transformer.
        fingerprint: Of its answers; without one nothing is remembered.
        config: The caller's config.
    """

    def __init__(
        self, name: str, fingerprint: str | None, config: RunnableConfig | None
    ) -> None:
        configurable = (config or {}).get("configurable") or {}
        cache = configurable.get(VARIATION_CACHE)
        self._cache: VariationCache | None = None if fingerprint is None else cache
        self._fingerprint = fingerprint or ""
        self._name = name
        self._refresh = bool(configurable.get(REFRESH))

    def recall(self, asked: Sequence[Asked]) -> Flow[dict[int, list[Piece]]]:
        """Look up what was answered before.

        Args:
            asked: What is to be asked.

        Returns:
            Pieces by position, of those that are known.
        """
        cache = self._cache
        keys = {one.position: self._key(one) for one in asked}
        known = {position: key for position, key in keys.items() if key is not None}
        if cache is None or self._refresh or not known:
            return {}
        try:
            found = yield from call(cache.mget, cache.amget, list(known.values()))
        except Exception:  # noqa: BLE001 - a cache is no reason to fail
            _log.warning("The variation cache could not be read.", exc_info=True)
            return {}
        return {
            # A user's own cache may give back pairs.
            position: [Piece(kind, text) for kind, text in pieces]
            for position, pieces in zip(known, found, strict=True)
            if pieces
        }

    def remember(self, asked: Asked, pieces: Sequence[Piece]) -> Flow[None]:
        """Keep a usable answer.

        Args:
            asked: What was asked.
            pieces: What was found in the answer.
        """
        cache, key = self._cache, self._key(asked)
        if cache is None or key is None:
            return
        try:
            yield from call_as("to_its_end", cache.mset, cache.amset, [(key, list(pieces))])
        except Exception:  # noqa: BLE001 - a cache is no reason to fail
            _log.warning("An answer could not be kept in the variation cache.", exc_info=True)

    def _key(self, asked: Asked) -> CacheKey | None:
        if self._cache is None:
            return None
        try:
            known_by = asked.remembered_by
            content = digest({"inputs": asked.inputs if known_by is None else known_by})
        except (TypeError, ValueError, RecursionError):
            return None  # what get_input made of it is nothing that can be compared
        return CacheKey(self._name, self._fingerprint, content)


def without_ours(config: RunnableConfig) -> RunnableConfig:
    """Return a config for a model, which has no business with what is only ours.

    Args:
        config: The caller's.

    Returns:
        The config itself, or a copy.
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    if configurable.keys().isdisjoint(_OURS):
        return config
    copy = config.copy()
    copy["configurable"] = {k: v for k, v in configurable.items() if k not in _OURS}
    return copy
