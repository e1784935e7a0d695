"""PostgreSQL with pgvector, by langchain-postgres's `PGVectorStore`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from langchain_rag.backends.backend import Backend, DenseStore, Row

if TYPE_CHECKING:
    from sqlalchemy import ColumnClause

_PAGE: Final = 1_000


def backend(store: Any, name: str) -> Backend:
    """Say what it needs.

    It writes row by row, each with a statement and a commit of its own, so that no
    statement has too many parameters (PostgreSQL takes 65,535, asyncpg 32,767); a delete has
    one parameter a row. Its synchronous methods work only where its engine was made from a
    connection string.
    """
    return Backend(
        name,
        narrow=_narrow,
        dense=_dense(store),
        rows=lambda: _rows(store),
        arows=lambda: _arows(store),
    )


def _narrow(options: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    parts: list[Any] = [{key: {"$in": list(values)}} for key, values in allowed.items()]
    if options.get("filter"):  # it takes an empty one for none
        parts.insert(0, options["filter"])
    return {**options, "filter": {"$and": parts}}


def _inner(store: Any) -> Any:
    # What it delegates to, which knows the table; there is no public way.
    return store._PGVectorStore__vs  # noqa: SLF001


def _dense(store: Any) -> DenseStore | None:
    inner = _inner(store)
    # A hybrid search, and embeddings that the server makes, need the text.
    inline = hasattr(store.embeddings, "embed_query_inline_template")
    if inner.hybrid_search_config or inline:
        return None
    return DenseStore(
        scored=store.similarity_search_with_score_by_vector,
        relevance=store._select_relevance_score_fn,  # noqa: SLF001
        native=store.asimilarity_search_with_score_by_vector,
    )


def _rows(store: Any) -> Iterator[Row]:
    last = None
    while page := store._engine._run_as_sync(_page(store, last)):  # noqa: SLF001
        yield from ((str(id_), metadata) for id_, metadata in page)
        last = page[-1][0]


async def _arows(store: Any) -> AsyncIterator[Row]:
    last = None
    while page := await store._engine._run_as_async(_page(store, last)):  # noqa: SLF001
        for id_, metadata in page:
            yield str(id_), metadata
        last = page[-1][0]


async def _page(store: Any, last: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Read the rows after one id. Pages by offset would skip some while others are deleted."""
    from sqlalchemy import column, select, table  # noqa: PLC0415 - only where it is needed

    inner = _inner(store)
    id_: ColumnClause[Any] = column(inner.id_column)
    extra = [name for name in (inner.metadata_json_column,) if name]
    columns: list[ColumnClause[Any]] = [
        column(name) for name in (*inner.metadata_columns, *extra)
    ]
    source = table(inner.table_name, id_, *columns, schema=inner.schema_name)
    query = select(id_, *columns).select_from(source).order_by(id_).limit(_PAGE)
    if last is not None:
        query = query.where(id_ > last)
    async with inner.engine.connect() as connection:
        found = (await connection.execute(query)).all()
    names = inner.metadata_columns
    return [
        (
            row[0],
            {
                **dict(zip(names, row[1:], strict=False)),
                **((row[-1] or {}) if extra else {}),
            },
        )
        for row in found
    ]
