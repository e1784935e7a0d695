"""One cached answer as a value of a `ByteStore`: versioned JSON; no I/O."""

from __future__ import annotations

from typing import Final, NamedTuple

from langchain_rag import _caches
from langchain_rag.document_transformers import _cache_entries
from langchain_rag.document_transformers._cache_entries import CachedPiece

_VERSION: Final = 1


class Entry(NamedTuple):
    """What one value holds.

    Attributes:
        transformer: Class name of the transformer that the answer was made for.
        created_at: When it was written, in seconds since 1970.
        pieces: What was found in it.
    """

    transformer: str
    created_at: float
    pieces: list[CachedPiece]

    def encoded(self) -> bytes:
        """Return the value to store."""
        return _cache_entries.dumps({"version": _VERSION, **self._asdict()}).encode()

    @classmethod
    def of(cls, stored: object) -> Entry:
        """Read a value.

        Args:
            stored: Whatever the store gave back.

        Raises:
            ValueError: If it is not what `encoded` made.
        """
        match _cache_entries.loads(stored):
            case {
                "version": int(version),
                "transformer": str(transformer),
                "created_at": float() | int() as created_at,
                "pieces": pieces,
            } if version == _VERSION and 0 <= created_at < _caches.END_OF_TIME:
                return cls(transformer, float(created_at), _cache_entries.pieces_of(pieces))
            case _:
                msg = f"it is no entry of version {_VERSION}"
                raise ValueError(msg)


def read(name: str, value: object) -> Entry | None:
    """Read a value, and log it if it is damaged.

    Args:
        name: Its key in the store.
        value: What the store gave back.

    Returns:
        The entry, or None if there is none, or it is damaged.
    """
    if value is None:
        return None
    try:
        return Entry.of(value)
    except ValueError as error:
        _cache_entries.log_damage(name, error)
        return None


def decoded(value: object) -> Entry | None:
    """Read a value.

    Args:
        value: What the store gave back.

    Returns:
        The entry, or None if there is none, or it is damaged.
    """
    try:
        return Entry.of(value)
    except ValueError:
        return None


def is_doomed(value: object, transformer: str | None, before: float | None) -> bool:
    """Say whether a purge deletes a value.

    Args:
        value: What the store gave back.
        transformer: Class name of the transformer, None for any.
        before: When it must have been written before, None for any time.
    """
    entry = decoded(value)
    if entry is None:
        return True  # it serves nobody, and nothing else would ever delete it
    return (transformer is None or entry.transformer == transformer) and (
        before is None or entry.created_at < before
    )
