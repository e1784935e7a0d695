"""The statements of the docstore, as bodies for `Database`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy import bindparam, delete, select
from sqlalchemy.exc import OperationalError

from langchain_rag.errors import CorruptStoreError
from langchain_rag.storage._codec import check_keys, decode, encode
from langchain_rag.storage._schema import DOCUMENTS, among, listed, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.documents import Document
    from sqlalchemy import ColumnElement, Connection, Delete, Select

_Row: TypeAlias = tuple[str, object, object, object]

_PAGE = 1000
"""Keys that are listed at once."""

_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def read(namespace: str, keys: Sequence[str]) -> Callable[[Connection], list[Document | None]]:
    """Return the body that reads documents in the order of their keys.

    Args:
        namespace: Namespace of the store.
        keys: The keys.

    Returns:
        The body, which raises `CorruptStoreError` for a row that cannot be decoded.

    Raises:
        InvalidDocumentError: If a key cannot be one.
    """
    check_keys(keys)
    unique = list(dict.fromkeys(keys))

    def body(connection: Connection) -> list[Document | None]:
        rows = {row[0]: row for row in _rows(connection, namespace, unique)}
        # Decoded once for each place: no two results are the same object.
        return [decode(*rows[key]) if key in rows else None for key in keys]

    return body


def write(namespace: str, documents: dict[str, Document]) -> Callable[[Connection], None]:
    """Return the body that writes documents over those that are there.

    Args:
        namespace: Namespace of the store.
        documents: Documents by key.

    Returns:
        The body.

    Raises:
        InvalidDocumentError: If a key or document cannot be stored.
    """
    # Everything is encoded, or refused, before a transaction begins.
    check_keys(documents)
    # Sorted, so that two calls that write the same rows do not wait for each other in a ring.
    rows = [
        {"namespace": namespace, **encode(key, documents[key])} for key in sorted(documents)
    ]

    def body(connection: Connection) -> None:
        insert = upsert(connection, DOCUMENTS)
        statement = insert.on_conflict_do_update(
            index_elements=[DOCUMENTS.c.namespace, DOCUMENTS.c.key],
            set_={name: insert.excluded[name] for name in ("page_content", "id", "metadata")},
        )
        # One statement run for many rows: no limit of variables to keep to.
        connection.execute(statement, rows)

    return body


def delete_keys(namespace: str, keys: Sequence[str]) -> Callable[[Connection], None]:
    """Return the body that deletes documents.

    Args:
        namespace: Namespace of the store.
        keys: The keys.

    Returns:
        The body.

    Raises:
        InvalidDocumentError: If a key cannot be one.
    """
    check_keys(keys)

    def body(connection: Connection) -> None:
        dialect = connection.dialect.name
        connection.execute(_delete(dialect), _these(dialect, namespace, keys))

    return body


def pages(
    namespace: str, prefix: str | None
) -> Callable[[str | None], Callable[[Connection], Sequence[str]]]:
    """Return what makes, for the last key seen, the body that lists the keys after it.

    Args:
        namespace: Namespace of the store.
        prefix: What the keys begin with. None or `""` for all.

    Returns:
        A function of the last key, None for the first page.

    Raises:
        InvalidDocumentError: If the prefix cannot be one of a key.
    """
    key = DOCUMENTS.c.key
    query = select(key).where(DOCUMENTS.c.namespace == namespace)
    if prefix:
        check_keys([prefix])
        # A range, not LIKE: nothing to escape, and the primary key's index serves it.
        query = query.where(key >= prefix)
        if end := after_prefix(prefix):
            query = query.where(key < end)
    query = query.order_by(key).limit(_PAGE)

    def page_after(last: str | None) -> Callable[[Connection], Sequence[str]]:
        page = query if last is None else query.where(key > last)
        return lambda connection: connection.scalars(page).all()

    return page_after


def after_prefix(prefix: str) -> str | None:
    """Return the least text that is greater than all that begin with a prefix.

    Args:
        prefix: The prefix.

    Returns:
        The text, or None if there is none.

    Example:
        >>> after_prefix("chunks/")
        'chunks0'
    """
    for index in range(len(prefix) - 1, -1, -1):
        following = ord(prefix[index]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST_CODE_POINT:
            return prefix[:index] + chr(following)
    return None


def _rows(connection: Connection, namespace: str, keys: list[str]) -> list[_Row]:
    dialect = connection.dialect.name
    try:
        query = connection.execute(_select(dialect), _these(dialect, namespace, keys))
        return [(row[0], row[1], row[2], row[3]) for row in query.all()]
    except OperationalError as error:
        if "Could not decode" not in str(error.orig):
            raise
        if len(keys) > 1:  # which of them is it?
            return [row for key in keys for row in _rows(connection, namespace, [key])]
        msg = (
            f"The docstore's row for key {keys[0]!r} cannot be decoded: it is not UTF-8. "
            "Delete the key and add its source document again."
        )
        raise CorruptStoreError(msg) from error


# Made once for each dialect: SQLAlchemy takes longer to make a statement than SQLite to run it.


@cache
def _select(dialect: str) -> Select[str, object, object, object]:
    columns = DOCUMENTS.c
    query: Select[str, object, object, object] = select(
        columns.key, columns.page_content, columns.id, columns.metadata
    )
    return query.where(*_named(dialect))


@cache
def _delete(dialect: str) -> Delete:
    return delete(DOCUMENTS).where(*_named(dialect))


def _named(dialect: str) -> tuple[ColumnElement[bool], ...]:
    columns = DOCUMENTS.c
    return columns.namespace == bindparam("of"), among(dialect, columns.key, "these")


def _these(dialect: str, namespace: str, keys: Sequence[str]) -> dict[str, object]:
    return {"of": namespace, "these": listed(dialect, keys)}
