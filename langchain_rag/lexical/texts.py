"""What of a docstore's records is text that can be searched by its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from langchain_core.documents import Document

CHUNKS: Final = "chunks/"
"""What the keys of chunks begin with; a tag of the store's namespace follows, and a slash."""

VARIATIONS: Final = "variations/"

HEADINGS: Final = (
    "title",
    "Header 1",
    "Header 2",
    "Header 3",
    "Header 4",
    "Header 5",
    "Header 6",
    "headings",
    "context",
)
"""Metadata that says what a chunk is about: as LangChain's splitters by headings write the
path to it, and our transformers what situates it in its document."""


def text_of(chunk: Document, variations: Document | None = None) -> str | None:
    """Return the text under which a chunk can be found.

    Args:
        chunk: The record of a chunk, as the docstore holds it.
        variations: The record of its variations, if their texts count too.

    Returns:
        Its headings, its text, and the texts of its variations; None for what is no chunk, or
        one that is not searched, such as an inner node of a tree of chunks.
    """
    fan_out = chunk.metadata.get("fan_out")
    metadata: Any = chunk.metadata.get("metadata")
    if not isinstance(fan_out, int) or fan_out <= 0 or not isinstance(metadata, dict):
        return None
    parts = [*_headings(metadata), chunk.page_content]  # pyright: ignore[reportUnknownArgumentType]
    if variations is not None:
        parts += _texts(variations.metadata.get("variations"))
    return "\n".join(parts)


def chunk_key_of(key: str) -> str | None:
    """Return the key of the chunk that a record says something of.

    Args:
        key: Of a record of a chunk, or of its variations.

    Returns:
        The chunk's key; None for other records.
    """
    if key.startswith(CHUNKS):
        return key
    if key.startswith(VARIATIONS):
        return CHUNKS + key.removeprefix(VARIATIONS)
    return None


def variations_key_of(key: str) -> str:
    """Return the key of the record of a chunk's variations.

    Args:
        key: Of the chunk.
    """
    return VARIATIONS + key.removeprefix(CHUNKS)


def prefix_of(key: str) -> str:
    """Return what the keys of all chunks of a store begin with.

    Args:
        key: Of one of them.
    """
    return key[: key.rfind("/") + 1]


def _headings(metadata: Mapping[str, Any]) -> Iterable[str]:
    for name in HEADINGS:
        value = metadata.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            yield from _strings(value)  # pyright: ignore[reportUnknownArgumentType]


def _strings(value: Any) -> Iterable[str]:
    inner: Any = value
    if isinstance(value, dict):  # of headings, or what the codec makes of a tuple
        named = cast("dict[str, Any]", value)
        inner = [item for name, item in named.items() if name != "$type"]
    for item in inner:
        if isinstance(item, (list, tuple, dict)):
            yield from _strings(item)
        elif isinstance(item, str):
            yield item


def _texts(variations: Any) -> Iterable[str]:
    if not isinstance(variations, list):
        return
    for row in cast("Iterable[Any]", variations):
        text: Any = cast("dict[str, Any]", row).get("text") if isinstance(row, dict) else None
        if isinstance(text, str):  # what is a part of the chunk's is not written out again
            yield text
