"""What an embedding cache keeps, and under which name; no I/O.

What a cache holds may have been cut off, edited, or written by something else. It is checked
on the way out as on the way in, and what is wrong counts as missing: the worst that a cache
may cost is an embedding.
"""

from __future__ import annotations

import hashlib
import logging
import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from langchain_rag._caches import END_OF_TIME
from langchain_rag.document_transformers._patterns import SURROGATE_OR_NUL
from langchain_rag.embedding_cache._packing import pack, unpack

logger = logging.getLogger(__name__)

_VERSION: Final = 1
_HEAD: Final = struct.Struct("<BdH")
"""Version, time of writing, bytes of the model's identity, which follows."""


class Entry(NamedTuple):
    """What one value of a `ByteStore` holds.

    Attributes:
        model: Identity of the model.
        created_at: When it was written, in seconds since 1970.
        vector: The numbers.
    """

    model: str
    created_at: float
    vector: list[float]


def name_of(model: str, text: str) -> str:
    """Return the name under which a vector is kept.

    Args:
        model: Identity of the model.
        text: What was embedded.

    Returns:
        64 hex digits.
    """
    digest = hashlib.sha256()
    for part in (model, text):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def is_storable(model: str) -> bool:
    """Say whether every store takes a model's identity.

    Args:
        model: The identity.
    """
    return not SURROGATE_OR_NUL.search(model) and len(model.encode()) < 2**16


def cachable(
    model: str,
    pairs: Sequence[tuple[str, Sequence[float]]],
    packed: Callable[[str, Sequence[float]], bytes],
) -> dict[str, bytes]:
    """Return what of some vectors can be kept, and log what cannot.

    Args:
        model: Identity of the model.
        pairs: Texts and their vectors. Of equal texts the last one stays.
        packed: Makes a value of a name and a vector.

    Returns:
        Values by name, sorted, so that two calls that write the same rows do not wait for
        each other in a ring.
    """
    kept: dict[str, bytes] = {}
    faults: list[str] = []
    for text, vector in pairs:
        name = name_of(model, text)
        try:
            kept[name] = packed(name, vector)
        except ValueError as error:
            faults.append(str(error))
    if faults:
        logger.warning(
            "%d of %d vectors of %a are not cached, and will be made again; the first: %s.",
            len(faults),
            len(pairs),
            model[:100],
            faults[0],
        )
    return dict(sorted(kept.items()))


def pack_row(model: str, name: str, vector: Sequence[float]) -> bytes:
    """Return the vector of a row, whose columns hold what else there is to know.

    Args:
        model: Identity of the model.
        name: The row's key.
        vector: The vector.

    Raises:
        ValueError: If it cannot be kept.
    """
    _check_model(model)
    return pack(vector, name.encode())


def unpack_row(name: str, stored: object) -> list[float]:
    """Read the vector of a row.

    Args:
        name: The row's key.
        stored: Whatever the database gave back.

    Raises:
        ValueError: If it is not what `pack_row` made.
    """
    return unpack(stored, name.encode())


def pack_entry(model: str, created_at: float, name: str, vector: Sequence[float]) -> bytes:
    """Return a value of a `ByteStore`.

    Args:
        model: Identity of the model.
        created_at: The time, in seconds since 1970.
        name: Name of the entry.
        vector: The vector.

    Raises:
        ValueError: If it cannot be kept.
    """
    _check_model(model)
    label = model.encode()
    head = _HEAD.pack(_VERSION, created_at, len(label)) + label
    return head + pack(vector, name.encode() + head)


def unpack_entry(name: str, stored: object) -> Entry:
    """Read a value of a `ByteStore`.

    Args:
        name: Name of the entry.
        stored: Whatever the store gave back.

    Raises:
        ValueError: If it is not what `pack_entry` made.
    """
    if not isinstance(stored, bytes) or len(stored) < _HEAD.size:
        msg = "it is too short" if isinstance(stored, bytes) else "it is not bytes"
        raise ValueError(msg)
    version, created_at, length = _HEAD.unpack_from(stored)
    head = stored[: _HEAD.size + length]
    if version != _VERSION or not 0 <= created_at < END_OF_TIME:
        msg = f"it is no entry of version {_VERSION}"
        raise ValueError(msg)
    vector = unpack(stored[len(head) :], name.encode() + head)
    return Entry(head[_HEAD.size :].decode(), created_at, vector)


def log_damage(name: str, error: ValueError) -> None:
    """Say that an entry counts as missing.

    Args:
        name: Of the entry.
        error: What is wrong with it.
    """
    logger.warning(
        "The cached vector %s cannot be read (%.80s); it counts as missing, and the text is "
        "embedded again.",
        name,
        error,
    )


def _check_model(model: str) -> None:
    if not is_storable(model):
        msg = "the model's identity has NUL characters or lone surrogates, or is too long"
        raise ValueError(msg)
