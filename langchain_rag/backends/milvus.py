"""Milvus: a server, or Milvus Lite."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.embeddings import Embeddings

from langchain_rag.backends.backend import Backend, DenseStore, Row
from langchain_rag.errors import ConfigurationError, IdsIgnoredError, RAGError

_PAGE: Final = 1_000
_MAX_HITS: Final = 16_384
"""Milvus's own limit."""

_KEYWORDS: Final = frozenset(
    {
        "and",
        "exists",
        "false",
        "in",
        "is",
        "like",
        "not",
        "null",
        "or",
        "true",
    }
)
"""Names that an expression takes for something else."""


def backend(store: Any, name: str) -> Backend:
    """Say what it needs.

    Its class adds by an insert, and a Milvus server keeps two rows that were inserted under
    one id. A collection is made with the first row: before that, it answers a delete with
    False.
    """
    return Backend(
        name,
        max_hits=_MAX_HITS,
        replaces=False,
        narrow=lambda options, allowed: _narrow(store, options, allowed),
        refusal=lambda: _refusal(store),
        exists=lambda: bool(store.client.has_collection(store.collection_name)),
        dense=_dense(store),
        rows=lambda: _rows(store),
    )


def field_of(store: Any, key: str) -> str:
    """Return how an expression names a key of the metadata.

    A key is a field of the collection's schema, or of the one JSON field that holds all
    metadata, or of the dynamic field, which Milvus calls `$meta`.

    Args:
        store: A Milvus store; None for one with a dynamic field.
        key: A metadata key.

    Example:
        >>> field_of(None, "born"), field_of(None, "country of birth")
        ('born', '$meta["country of birth"]')
    """
    column = getattr(store, "_metadata_field", None)
    plain = key.isascii() and key.isidentifier() and key.lower() not in _KEYWORDS
    if column is None and plain:
        return key
    return f"{column or '$meta'}[{text_of(key)}]"


def one_of(field: str, literals: Sequence[str]) -> str:
    """Return an expression that says that a field is one of some values.

    Args:
        field: As `field_of` returns it.
        literals: The values as they are written in an expression; of one type.

    Example:
        >>> one_of("born", ["1707", "1777"])
        'born in [1707, 1777]'
        >>> one_of('$meta["in"]', ["1707", "1777"])
        '($meta["in"] == 1707 or $meta["in"] == 1777)'
    """
    if len(literals) == 1:
        return f"{field} == {literals[0]}"
    if "[" not in field:
        return f"{field} in [{', '.join(literals)}]"
    # Milvus Lite wants a plain name on the left of `in`.
    never = f"{field} == 0 and {field} == 1"
    return f"({' or '.join(f'{field} == {literal}' for literal in literals) or never})"


def text_of(text: str) -> str:
    """Quote a text for an expression.

    Args:
        text: Any text.

    Example:
        >>> text_of("CH")
        '"CH"'
    """
    return json.dumps(text, ensure_ascii=False)


def _narrow(
    store: Any, options: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    parts = [
        one_of(field_of(store, key), [text_of(value) for value in values])
        for key, values in allowed.items()
    ]
    if options.get("expr"):
        parts.insert(0, f"({options['expr']})")
    return {**options, "expr": " and ".join(parts)}


def _refusal(store: Any) -> RAGError | None:
    if store.auto_id:
        message = (
            "This Milvus numbers its rows itself, so what it holds could never be changed: "
            "make it with auto_id=False. Nothing was written."
        )
        return IdsIgnoredError(message)
    flexible = store.enable_dynamic_field or store._metadata_field or store.metadata_schema  # noqa: SLF001
    if flexible:
        return None
    message = (
        "This Milvus takes the metadata keys of its first row for those of all, refuses rows "
        "that lack one, and drops what is new: make it with enable_dynamic_field=True. "
        "Nothing was written."
    )
    return ConfigurationError(message)


def _dense(store: Any) -> DenseStore | None:
    # With several vector fields, with sparse ones or with functions of the server, a text is
    # more than its embedding.
    one = isinstance(store.embeddings, Embeddings)
    if not one or not store._is_embedding_only or store._is_multi_vector:  # noqa: SLF001
        return None
    return DenseStore(
        scored=store.similarity_search_with_score_by_vector,
        relevance=store._select_relevance_score_fn,  # noqa: SLF001
        native=store.asimilarity_search_with_score_by_vector,
    )


def _rows(store: Any) -> Iterator[Row]:
    if not store.client.has_collection(store.collection_name):
        return
    key = store._primary_field  # noqa: SLF001
    hidden = {key, store._text_field, *store.vector_fields}  # noqa: SLF001
    iterator = store.client.query_iterator(
        store.collection_name, batch_size=_PAGE, output_fields=["*"]
    )
    try:
        while page := iterator.next():
            for row in page:
                inside = store._metadata_field  # noqa: SLF001
                metadata = row[inside] if inside else row
                yield str(row[key]), {k: v for k, v in metadata.items() if k not in hidden}
    finally:
        iterator.close()
