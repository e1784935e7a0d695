"""`Document` to row and back. JSON only, and only what reads back the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from langchain_core.documents import Document

from langchain_rag._documents import document_of
from langchain_rag.errors import (
    CorruptStoreError,
    InvalidDocumentError,
    UnstorableMetadataError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_FIELDS = frozenset(Document.model_fields)


def check_keys(keys: Iterable[object]) -> None:
    """Refuse keys that no database can hold.

    Args:
        keys: Keys of a call.

    Raises:
        InvalidDocumentError: If one is not text, has a NUL, which PostgreSQL does not take,
            or a lone surrogate, which UTF-8 does not have.
    """
    for key in keys:
        if not isinstance(key, str) or not storable(key):
            msg = (
                f"The key {key!r} cannot be stored: use text without NUL characters and lone "
                "surrogates."
            )
            raise InvalidDocumentError(msg)


def encode(key: str, document: Document) -> dict[str, Any]:
    """Turn a document into the values of a row.

    Args:
        key: Its key, for error messages and the row.
        document: The document.

    Returns:
        Values by column name.

    Raises:
        InvalidDocumentError: If it is not a plain `Document`, or its text cannot be stored.
        UnstorableMetadataError: If a metadata value would not read back the same.
    """
    # Cast, since callers hand over whatever a transformer gave them.
    value: Any = document
    if not isinstance(value, Document) or not type(value).model_fields.keys() <= _FIELDS:
        msg = (
            f"The value for key {key!r} is a {type(value).__name__}, of which the docstore "
            "would lose a part. Store a langchain_core Document."
        )
        raise InvalidDocumentError(msg)
    for name in ("page_content", "id"):
        text: str | None = getattr(document, name)
        if text is not None and not storable(text):
            msg = (
                f"The {name} of the document for key {key!r} has NUL characters or lone "
                "surrogates, which not every database takes. Clean it, for example with "
                "text.replace('\\0', '').encode('utf-8', 'replace').decode()."
            )
            raise InvalidDocumentError(msg)
    return {
        "key": key,
        "page_content": document.page_content,
        "id": document.id,
        "metadata": _encode_metadata(key, document.metadata),
    }


def decode(key: str, page_content: object, id_: object, metadata: object) -> Document:
    """Turn the values of a row into a document.

    Args:
        key: The row's key, for error messages.
        page_content: The text.
        id_: The document's id, if it has one.
        metadata: The metadata as JSON text.

    Returns:
        A new document.

    Raises:
        CorruptStoreError: If the row is not one that `encode` made.
    """
    reason = "a value is not text"  # pydantic would turn bytes into it
    if (
        isinstance(page_content, str)
        and (id_ is None or isinstance(id_, str))
        and isinstance(metadata, str)
    ):
        try:
            loaded, end = _load(metadata)
        except (ValueError, RecursionError) as error:
            reason = type(error).__name__
        else:
            if isinstance(loaded, dict) and end == len(metadata):
                # Made without validation, which takes longer than SQLite needs for the row.
                return document_of(page_content, cast("dict[str, Any]", loaded), id_)
            reason = "the metadata is not one JSON object"
    msg = (
        f"The docstore's row for key {key!r} cannot be decoded ({reason}): it was damaged, "
        "or written by something else. Delete the key and add its source document again."
    )
    raise CorruptStoreError(msg)


def storable(text: str) -> bool:
    """Say whether every database that we store in takes a text.

    Args:
        text: The text.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _refuse_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


# Made once, and without the search for blanks around the value, which encode() writes none of:
# with 100 documents in a call, both count.
_load = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode


def _encode_metadata(key: str, metadata: dict[str, Any]) -> str:
    encoded = _json(metadata)
    if encoded is not None:
        return encoded
    names = [name for name, value in metadata.items() if _json({name: value}) is None]
    msg = (
        f"The metadata of the document for key {key!r} would not read back the same from "
        f"the docstore: {', '.join(repr(name) for name in names)}. Turn tuples and sets "
        "into lists, dates and bytes into text, keys of dicts into text, and leave out NaN."
    )
    raise UnstorableMetadataError(msg)


def _json(metadata: dict[Any, Any]) -> str | None:
    """JSON text that reads back equal, or None."""
    try:
        # ASCII: so that NUL and lone surrogates survive in any database.
        text = json.dumps(metadata, allow_nan=False, ensure_ascii=True)
        return text if json.loads(text) == metadata else None
    except (TypeError, ValueError, RecursionError):
        return None
