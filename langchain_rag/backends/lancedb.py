"""LanceDB, by langchain-community's class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.documents import Document

from langchain_rag._reserved import LINEAGE, RESERVED
from langchain_rag.backends.backend import Backend, DenseStore, Row
from langchain_rag.errors import ConfigurationError

_PAGE: Final = 1_000
_OURS: Final = tuple(sorted(RESERVED - {LINEAGE}))
_TYPES: Final[dict[str, type]] = {"string": str, "int64": int, "double": float, "bool": bool}


def backend(store: Any, name: str) -> Backend:
    """Say what it needs.

    Metadata is one column of a fixed type, which the first rows decide. Rows with another
    key are refused, and rows that lack one break every filter; so rows get exactly the
    table's keys, and what does not fit stays out (the docstore keeps it). Its class adds a
    second row under an id that is there, and filters what it has found unless told
    otherwise.
    """
    return Backend(
        name,
        replaces=False,
        refusal=lambda: _refusal(store),
        exists=lambda: store.get_table() is not None,
        fitted=lambda rows: _fitted(store, rows),
        narrow=_narrow,
        filtering={"prefilter": True},
        dense=DenseStore(scored=_scored(store), relevance=store._select_relevance_score_fn),  # noqa: SLF001
        rows=lambda: _rows(store),
    )


def field_of(key: str) -> str:
    """Return how a condition names a key of the metadata.

    Args:
        key: A metadata key.

    Example:
        >>> field_of("born")
        'metadata.`born`'
    """
    return f"metadata.`{key.replace('`', '``')}`"


def text_of(text: str) -> str:
    """Quote a text for a condition.

    Args:
        text: Any text.

    Example:
        >>> text_of("it's")
        "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _narrow(options: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    parts = [
        f"{field_of(key)} IN ({', '.join(map(text_of, values))})"
        for key, values in allowed.items()
    ]
    given = options.get("filter")
    if isinstance(given, dict):  # of names and the texts they are equal to
        equal = cast("dict[str, Any]", given)
        parts = [*(f"{name} = {text_of(str(text))}" for name, text in equal.items()), *parts]
    elif given:
        parts.insert(0, f"({given})")
    return {**options, "filter": " AND ".join(parts)}


def _refusal(store: Any) -> ConfigurationError | None:
    if store.mode != "overwrite" or store.api_key:
        return None
    message = (
        "This LanceDB overwrites its whole table with every add (mode='overwrite', its "
        "default): make it with mode='append'. Nothing was written."
    )
    return ConfigurationError(message)


def _scored(store: Any) -> Any:
    def scored(embedding: list[float], k: int = 4, **options: Any) -> Any:
        return store.similarity_search_by_vector(embedding, k, score=True, **options)

    return scored


def _fitted(store: Any, rows: Sequence[Document]) -> list[Document]:
    table = store.get_table()
    types: dict[str, type[Any]]
    if table is None:
        types = {key: type(value) for row in rows for key, value in row.metadata.items()}
        types |= dict.fromkeys(_OURS, str)
    else:
        column = table.schema.field("metadata").type
        types = {field.name: _TYPES.get(str(field.type), str) for field in column}
    return [
        Document(
            id=row.id,
            page_content=row.page_content,
            metadata={key: _value(row.metadata.get(key), kind) for key, kind in types.items()},
        )
        for row in rows
    ]


def _value(value: Any, kind: type) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is kind:
        return value
    # A column of nothing but None would have no type.
    return "" if kind is str else None


def _rows(store: Any) -> Iterator[Row]:
    table = store.get_table()
    if table is None:
        return
    key = store._id_key  # noqa: SLF001
    for batch in table.search().select([key, "metadata"]).to_batches(_PAGE):
        for row in batch.to_pylist():
            metadata: dict[str, Any] = row["metadata"] or {}
            yield row[key], {k: v for k, v in metadata.items() if v not in (None, "")}
