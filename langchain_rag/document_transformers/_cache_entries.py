"""What a variation cache keeps, and its form as JSON; no I/O.

What a cache holds may have been cut off, edited, or written by something else. It is checked
on the way out as on the way in, and what is wrong counts as missing: the worst that a cache
may cost is a call of the model.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

from langchain_rag.document_transformers._patterns import SURROGATE_OR_NUL

logger = logging.getLogger(__name__)

_DIGEST: Final = re.compile("[0-9a-f]{64}")


class CacheKey(NamedTuple):
    """What an answer of a model depends on.

    An answer is found by fingerprint and content. The transformer, whose class is part of
    the fingerprint, only labels it.

    Attributes:
        transformer: Class name of the transformer, to purge and to count by.
        fingerprint: Of the transformer: class, prompt, model, parameters and version.
        content: Digest of the prompt's variables.
    """

    transformer: str
    fingerprint: str
    content: str


class CachedPiece(NamedTuple):
    """One variation that was found in an answer.

    Attributes:
        kind: Its kind, such as `"questions"`.
        text: Its text.
    """

    kind: str
    text: str


def name_of(key: CacheKey) -> str:
    """Return the name under which an answer is kept.

    Args:
        key: Its key. What is no digest yet becomes one.

    Returns:
        Two times 64 hex digits with a slash between.
    """
    return f"{_digest(key.fingerprint)}/{_digest(key.content)}"


def cachable(
    pairs: Sequence[tuple[CacheKey, Sequence[CachedPiece]]],
) -> dict[str, tuple[CacheKey, list[CachedPiece]]]:
    """Return what of some answers can be kept, and log what cannot.

    An answer was paid for, and must not be lost because a cache has no room for it.

    Args:
        pairs: Keys and pieces. Of equal keys the last one stays.

    Returns:
        Keys and pieces by name, sorted, so that two calls that write the same rows do not
        wait for each other in a ring.
    """
    kept: dict[str, tuple[CacheKey, list[CachedPiece]]] = {}
    for key, pieces in pairs:
        if fault := _fault(key, pieces):
            logger.warning(
                "An answer for %r is not cached, and will be asked for again: %s.",
                key.transformer,
                fault,
            )
        else:
            kept[name_of(key)] = key, list(pieces)
    return dict(sorted(kept.items()))


def characters_of(pieces: Sequence[CachedPiece]) -> int:
    """Return the length of all texts.

    Args:
        pieces: The pieces of an answer.
    """
    return sum(len(piece.text) for piece in pieces)


def dumps(value: object) -> str:
    """Return a value as JSON, in which text stays as it is.

    Args:
        value: Plain values without NUL characters and lone surrogates.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def loads(stored: object) -> Any:
    """Return the value of JSON text.

    Args:
        stored: Whatever a store gave back.

    Raises:
        ValueError: If it is no JSON in UTF-8.
    """
    try:
        text = stored.decode() if isinstance(stored, bytes) else stored
        if not isinstance(text, str):
            msg = f"it is a {type(stored).__name__}"
            raise ValueError(msg)  # noqa: TRY004 - the one error for all that is damaged
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        msg = "it is nested too deeply"
        raise ValueError(msg) from error


def pieces_of(value: object) -> list[CachedPiece]:
    """Return the pieces that `dumps` made a list of.

    Args:
        value: What `loads` returned.

    Returns:
        At least one.

    Raises:
        ValueError: If it is something else.
    """
    items = cast("list[object]", value) if isinstance(value, list) else []
    if not items:
        msg = "there are no pieces"
        raise ValueError(msg)
    return [_piece(item) for item in items]


def log_damage(name: str, error: ValueError) -> None:
    """Say that an entry counts as missing.

    Args:
        name: Of the entry.
        error: What is wrong with it; its text is not repeated whole, which may be long.
    """
    logger.warning(
        "The cached answer %s cannot be read (%.80s); it counts as missing, and the model is "
        "asked again.",
        name,
        error,
    )


def _fault(key: CacheKey, pieces: Sequence[CachedPiece]) -> str | None:
    if not pieces:
        return "it has nothing usable in it"
    texts = [key.transformer, *(part for piece in pieces for part in piece)]
    if any(SURROGATE_OR_NUL.search(text) for text in texts):
        # No store takes them as a variation either: kept, it would fail in every run.
        return "it has NUL characters or lone surrogates"
    return None


def _piece(item: object) -> CachedPiece:
    match item:
        case [str(kind), str(text)] if not SURROGATE_OR_NUL.search(kind + text):
            return CachedPiece(kind, text)
        case _:
            msg = "a piece is not a kind and a text"
            raise ValueError(msg)


def _digest(text: str) -> str:
    if _DIGEST.fullmatch(text):
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _refuse_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)
