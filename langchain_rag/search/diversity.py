"""Chunks that are near a query and unlike each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_rag._flow import Flow, call
from langchain_rag.backends.backend import Backend
from langchain_rag.search.engine import Hit

V = TypeVar("V")


def most_diverse(
    embedding: Sequence[float],
    hits: Sequence[Hit[V]],
    vectors: Sequence[Sequence[float]],
    k: int,
    lambda_mult: float,
) -> list[Hit[V]]:
    """Choose chunks by maximal marginal relevance (Carbonell and Goldstein 1998).

    Args:
        embedding: The query's vector.
        hits: What was found, best first.
        vectors: One vector for each hit.
        k: How many to choose.
        lambda_mult: 1 weighs nearness only, 0 difference only.

    Returns:
        Hits, in the order in which they were chosen.
    """
    import numpy as np  # noqa: PLC0415 - cheap imports
    from langchain_core.vectorstores.utils import (  # noqa: PLC0415
        maximal_marginal_relevance,
    )

    if not hits:
        return []
    chosen = maximal_marginal_relevance(
        np.asarray(embedding, dtype=float),
        [list(vector) for vector in vectors],
        lambda_mult=lambda_mult,
        k=k,
    )
    return [hits[place] for place in chosen]


def vectors_of(
    backend: Backend, embeddings: Embeddings, hits: Sequence[Hit[Any]]
) -> Flow[list[Sequence[float]]]:
    """Return the vector by which each chunk was found.

    Args:
        backend: What is known of the wrapped store; it may be able to give them.
        embeddings: Else they are made again, or come from a cache.
        hits: What was found.

    Returns:
        One vector for each hit.
    """
    rows = [hit.variation for hit in hits]
    known: dict[str, Sequence[float]] = {}
    ids = [row.id for row in rows if row.id is not None]
    if backend.vectors is not None and ids:
        read = partial(backend.vectors, ids)
        known = yield from call(read, partial(run_in_executor, None, read))
    texts = list(dict.fromkeys(row.page_content for row in rows if row.id not in known))
    made: list[list[float]] = []
    if texts:
        made = yield from call(embeddings.embed_documents, embeddings.aembed_documents, texts)
    by_text = dict(zip(texts, made, strict=True))
    return [known.get(row.id or "") or by_text[row.page_content] for row in rows]
