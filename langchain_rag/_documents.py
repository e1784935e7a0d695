"""Making `Document`s of values whose types are known, and copying metadata, without waste.

An import makes half a dozen `Document`s for each variation. Validating each again, and copying
flat metadata by `copy.deepcopy`, took a third of all time that was not the wrapped store's.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from langchain_core.documents import Document

_set = object.__setattr__

_IMMUTABLE: Final = frozenset({str, int, float, bool, type(None)})


def document_of(text: str, metadata: dict[str, Any], id_: str | None = None) -> Document:
    """Make a document of values whose types are known.

    Sets what pydantic's `model_construct` sets, without its loop over fields and defaults.

    Args:
        text: Its text.
        metadata: Its metadata, which becomes the document's own.
        id_: Its id.

    Returns:
        The document.
    """
    document = Document.__new__(Document)
    values = {"id": id_, "metadata": metadata, "page_content": text, "type": "Document"}
    _set(document, "__dict__", values)
    _set(document, "__pydantic_fields_set__", {"id", "metadata", "page_content"})
    _set(document, "__pydantic_extra__", None)
    _set(document, "__pydantic_private__", None)
    return document


def copied(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return a deep copy of metadata.

    Args:
        metadata: Metadata, usually flat.
    """
    if all(type(value) in _IMMUTABLE for value in metadata.values()):
        return dict(metadata)
    return deepcopy(metadata)
