"""FAISS, by langchain-community's class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_rag.backends.backend import Backend, DenseStore, Row


def backend(store: Any, name: str) -> Backend:
    """Say what it needs.

    It refuses ids that are there, and does so after it has put the vectors into its index,
    which is then no longer in step with its documents: rows are deleted before they are
    added. It filters what it has fetched, 20 hits unless told otherwise. Its index lives in
    memory; `save_local` writes it out.
    """
    dense = None
    if store.embeddings is not None:
        dense = DenseStore(
            scored=store.similarity_search_with_score_by_vector,
            relevance=store._select_relevance_score_fn,  # noqa: SLF001
        )
    return Backend(
        name,
        replaces=False,
        narrow=lambda options, allowed: _narrow(store, options, allowed),
        filtered_from=lambda: max(1, int(store.index.ntotal)),
        dense=dense,
        rows=lambda: _rows(store),
    )


def _narrow(
    store: Any, options: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    sets = {key: frozenset(values) for key, values in allowed.items()}
    given: Callable[[dict[str, Any]], bool] | None = None
    if options.get("filter") is not None:
        # A filter is a function of metadata, or a dict in a language of its own.
        given = store._create_filter_func(options["filter"])  # noqa: SLF001

    def passes(metadata: dict[str, Any]) -> bool:
        mine = all(metadata.get(key) in values for key, values in sets.items())
        return mine and (given is None or bool(given(metadata)))

    return {**options, "filter": passes}


def _rows(store: Any) -> Iterator[Row]:
    for id_ in list(store.index_to_docstore_id.values()):
        document = store.docstore.search(id_)
        if not isinstance(document, str):  # how it says that there is none
            yield id_, dict(document.metadata)
