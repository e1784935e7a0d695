"""The vectors of texts, and their form in a store; no I/O."""

from __future__ import annotations

import hashlib
import logging
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from langchain_rag.caches.codec import END_OF_TIME, UNSTORABLE, Cached, Codec
from langchain_rag.caches.figures import summary
from langchain_rag.caches.packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from langchain_rag.caches.figures import Figures

_log = logging.getLogger(__name__)

_VERSION: Final = 1
_HEAD: Final = struct.Struct("<BdH")
"""Version, time of writing, bytes of the model's identity, which follows."""


@dataclass(frozen=True, slots=True)
class EmbeddingCacheStats:
    """What is in a cache, and what it was good for.

    Attributes:
        entries: Vectors that are kept.
        size: Their length in bytes.
        by_model: Vectors by identity of the model.
        hits: Texts that were found through this object, in this process.
        misses: Texts that were not.
        oldest: When the oldest vector was written, None if there is none.
        newest: When the newest vector was written, None if there is none.

    Example:
        >>> print(EmbeddingCacheStats(3, 3102, {"my-model": 3}, hits=9, misses=3))
        3 vectors, 3,102 bytes
        - my-model: 3
        9 hits and 3 misses (75 % hits)
    """

    entries: int
    size: int
    by_model: dict[str, int]
    hits: int = 0
    misses: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None

    def __str__(self) -> str:
        return summary(
            f"{self.entries:,} vectors, {self.size:,} bytes",
            self.by_model,
            (self.oldest, self.newest),
            (self.hits, self.misses),
        )


class EmbeddingCodec(Codec[tuple[str, str], float, EmbeddingCacheStats]):
    """A vector as packed numbers; its key is the identity of a model, and a text."""

    folder = "embeddings"
    pattern = "[0-9a-f]{64}"
    noun = "vector"
    remedy = "the text is embedded again"

    @override
    def name_of(self, key: tuple[str, str]) -> str:
        digest = hashlib.sha256()
        for part in key:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()

    @override
    def label_of(self, key: tuple[str, str]) -> str:
        return key[0]

    @override
    def size_of(self, value: Sequence[float], stored: str | bytes) -> int:
        return len(stored)

    @override
    def to_column(self, name: str, key: tuple[str, str], value: Sequence[float]) -> bytes:
        _check(key)
        return pack(value, name.encode())

    @override
    def from_column(self, name: str, stored: object) -> list[float]:
        return unpack(stored, name.encode())

    @override
    def to_bytes(
        self, name: str, key: tuple[str, str], value: Sequence[float], created_at: float
    ) -> bytes:
        _check(key)
        label = self.label_of(key).encode()
        head = _HEAD.pack(_VERSION, created_at, len(label)) + label
        return head + pack(value, name.encode() + head)

    @override
    def from_bytes(self, name: str, stored: object) -> Cached[float]:
        if not isinstance(stored, bytes) or len(stored) < _HEAD.size:
            msg = "it is too short" if isinstance(stored, bytes) else "it is not bytes"
            raise ValueError(msg)
        version, created_at, length = _HEAD.unpack_from(stored)
        head = stored[: _HEAD.size + length]
        if version != _VERSION or not 0 <= created_at < END_OF_TIME:
            msg = f"it is no entry of version {_VERSION}"
            raise ValueError(msg)
        vector = unpack(stored[len(head) :], name.encode() + head)
        return Cached(head[_HEAD.size :].decode(), created_at, vector)

    @override
    def log_refused(
        self, faults: Sequence[tuple[tuple[str, str], ValueError]], of: int
    ) -> None:
        key, fault = faults[0]
        _log.warning(
            "%d of %d vectors of %a are not cached, and will be made again; the first: %s.",
            len(faults),
            of,
            self.label_of(key)[:100],
            fault,
        )

    @override
    def statistics(self, figures: Figures) -> EmbeddingCacheStats:
        return EmbeddingCacheStats(*figures)


def is_storable(model: str) -> bool:
    """Say whether every store takes a model's identity.

    Args:
        model: The identity.
    """
    return not UNSTORABLE.search(model) and len(model.encode()) < 2**16


def _check(key: tuple[str, str]) -> None:
    if not is_storable(key[0]):
        msg = "the model's identity has NUL characters or lone surrogates, or is too long"
        raise ValueError(msg)
