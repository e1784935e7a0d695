"""Who is who: document ids, chunk keys, variation ids, storage keys.

Every id is a hash of length-prefixed parts, so no choice of texts makes two different lists
of parts collide by moving a separator. All ids have the shape of a UUID, since some stores
(Qdrant) refuse anything else; storage keys keep to what `LocalFileStore` accepts.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Collection
from typing import Any, Final

from langchain_rag.lifecycle import codec

_OURS: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
).fullmatch
"""What `str(uuid.UUID(text))` leaves as it is."""

GROUPS: Final = "summary-group:"
"""What the ids of documents begin with that hold the summaries of a group."""

_MANIFESTS: Final = "manifests"
_INTENTS: Final = "intents"
_CHUNKS: Final = "chunks"
_VARIATIONS: Final = "variations"


def digest(*parts: str) -> str:
    """Hash a list of texts, each prefixed with its length.

    Args:
        *parts: Texts; lone surrogates are allowed, so that a hash never fails.

    Returns:
        64 hexadecimal digits (SHA-256).

    Example:
        >>> digest("a", "bc") == digest("ab", "c")
        False
    """
    said: list[bytes] = []
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        said += (len(data).to_bytes(8, "big"), data)
    return hashlib.sha256(b"".join(said)).hexdigest()


def _uuid(*parts: str) -> str:
    # Version 5 is "a name, hashed"; only the hash function differs from the RFC's SHA-1. The
    # two marks are set by hand: `uuid.UUID` takes twice as long as the hash.
    hex_ = digest(*parts)
    variant = _VARIANT[hex_[16]]
    return f"{hex_[:8]}-{hex_[8:12]}-5{hex_[13:16]}-{variant}{hex_[17:20]}-{hex_[20:32]}"


_VARIANT: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def document_id(source_id: str | None, content: str, metadata: str) -> str:
    """Derive the id of a document that came without one.

    Args:
        source_id: Its source, or None where the store knows no sources.
        content: Its text.
        metadata: Its metadata as canonical JSON.

    Returns:
        A UUID.
    """
    source = () if source_id is None else (source_id,)
    return _uuid("document", *source, content, metadata)


def positional_id(source_id: str, position: int) -> str:
    """Name a document by its place, so that it keeps its id when its text changes.

    Args:
        source_id: Its source.
        position: How many documents of the source come before it.

    Returns:
        A UUID.
    """
    return _uuid("position", source_id, str(position))


def metadata_hash(metadata: dict[str, Any], ignored: Collection[str] = ()) -> str:
    """Hash metadata.

    Args:
        metadata: Encoded metadata.
        ignored: Keys to leave out.

    Returns:
        64 hexadecimal digits.
    """
    if ignored:
        metadata = {key: value for key, value in metadata.items() if key not in ignored}
    return digest(codec.canonical(metadata))


def chunk_key(namespace: str, document_id: str, content: str, ordinal: int) -> str:
    """Name a chunk by its text, so that a changed chunk is another chunk.

    Args:
        namespace: Namespace of the store.
        document_id: Its document. No two documents share a chunk.
        content: Its text.
        ordinal: How many equal texts stand before it in the document, since a repeated
            paragraph is two chunks.

    Returns:
        A UUID.
    """
    return _uuid("chunk", namespace, document_id, content, str(ordinal))


def variation_id(chunk_key: str, kind: str, position: int) -> str:
    """Name a variation by its place, so that a retry overwrites what an LLM said before.

    Args:
        chunk_key: Its chunk.
        kind: Its kind.
        position: Its position among the variations of that kind, from 0.

    Returns:
        A UUID.
    """
    return _uuid("variation", chunk_key, kind, str(position))


class StorageKeys:
    """The docstore's keys of one namespace.

    Args:
        namespace: Namespace of the store; it is hashed, so it may be any text.

    Attributes:
        namespace: The same.
        manifests: Prefix of the keys of all manifests.
        intents: Prefix of the keys of all intents.
        chunks: Prefix of the keys of all chunks.
        all_variations: Prefix of the keys of the variations of all chunks.
    """

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        tag = digest("namespace", namespace)[:16]
        self.manifests = f"{_MANIFESTS}/{tag}/"
        self.intents = f"{_INTENTS}/{tag}/"
        self.chunks = f"{_CHUNKS}/{tag}/"
        self.all_variations = f"{_VARIATIONS}/{tag}/"

    def manifest(self, document_id: str) -> str:
        """Return the key of a document's manifest."""
        return self.manifests + digest(document_id)

    def intent(self, document_id: str) -> str:
        """Return the key of a document's intent."""
        return self.intents + digest(document_id)

    def chunk(self, chunk_key: str) -> str:
        """Return the key of a chunk's record."""
        return self.chunks + _safe(chunk_key)

    def variations(self, chunk_key: str) -> str:
        """Return the key of the record of a chunk's variations."""
        return self.all_variations + _safe(chunk_key)

    def of_chunk(self, chunk_key: str) -> tuple[str, str]:
        """Return the keys of both records of a chunk."""
        return self.chunk(chunk_key), self.variations(chunk_key)


def _safe(chunk_key: str) -> str:
    """Return the key itself where it is one of ours; hash whatever else a caller gives."""
    if _OURS(chunk_key):
        return chunk_key
    try:
        return str(uuid.UUID(chunk_key))
    except ValueError:
        return digest(chunk_key)
