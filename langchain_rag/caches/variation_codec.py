"""What models answered, and its form in a store: JSON; no I/O."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from typing_extensions import override

from langchain_rag.caches.codec import END_OF_TIME, UNSTORABLE, Cached, Codec
from langchain_rag.caches.figures import summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from langchain_rag.caches.figures import Figures

_log = logging.getLogger(__name__)

_VERSION: Final = 1
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


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What is in a cache, and what it was good for.

    Attributes:
        entries: Answers that are kept.
        characters: Length of their texts.
        by_transformer: Answers by class name of the transformer.
        hits: Answers that were found through this object, in this process.
        misses: Answers that were not.
        oldest: When the oldest answer was written, None if there is none.
        newest: When the newest answer was written, None if there is none.

    Example:
        >>> print(CacheStats(3, 120, {"SummarizeTransformer": 3}, hits=9, misses=3))
        3 answers, 120 characters
        - SummarizeTransformer: 3
        9 hits and 3 misses (75 % hits)
    """

    entries: int
    characters: int
    by_transformer: dict[str, int]
    hits: int = 0
    misses: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None

    def __str__(self) -> str:
        return summary(
            f"{self.entries:,} answers, {self.characters:,} characters",
            self.by_transformer,
            (self.oldest, self.newest),
            (self.hits, self.misses),
        )


class VariationCodec(Codec[CacheKey, CachedPiece, CacheStats]):
    """The pieces of an answer as JSON, in which text stays as it is."""

    folder = "variations"
    pattern = "[0-9a-f]{64}/[0-9a-f]{64}"
    noun = "answer"
    remedy = "the model is asked again"

    @override
    def name_of(self, key: CacheKey) -> str:
        # What is no digest yet becomes one.
        return f"{_digest(key.fingerprint)}/{_digest(key.content)}"

    @override
    def label_of(self, key: CacheKey) -> str:
        return key.transformer

    @override
    def size_of(self, value: Sequence[CachedPiece], stored: str | bytes) -> int:
        return sum(len(piece.text) for piece in value)

    @override
    def to_column(self, name: str, key: CacheKey, value: Sequence[CachedPiece]) -> str:
        _check(key, value)
        return _dumps(list(value))

    @override
    def from_column(self, name: str, stored: object) -> list[CachedPiece]:
        return _pieces_of(_loads(stored))

    @override
    def to_bytes(
        self, name: str, key: CacheKey, value: Sequence[CachedPiece], created_at: float
    ) -> bytes:
        _check(key, value)
        cached = {
            "version": _VERSION,
            "transformer": key.transformer,
            "created_at": created_at,
            "pieces": list(value),
        }
        return _dumps(cached).encode()

    @override
    def from_bytes(self, name: str, stored: object) -> Cached[CachedPiece]:
        match _loads(stored):
            case {
                "version": int(version),
                "transformer": str(transformer),
                "created_at": float() | int() as created_at,
                "pieces": pieces,
            } if version == _VERSION and 0 <= created_at < END_OF_TIME:
                return Cached(transformer, float(created_at), _pieces_of(pieces))
            case _:
                msg = f"it is no entry of version {_VERSION}"
                raise ValueError(msg)

    @override
    def log_refused(self, faults: Sequence[tuple[CacheKey, ValueError]], of: int) -> None:
        for key, fault in faults:
            _log.warning(
                "An answer for %r is not cached, and will be asked for again: %s.",
                key.transformer,
                fault,
            )

    @override
    def statistics(self, figures: Figures) -> CacheStats:
        return CacheStats(*figures)


def _check(key: CacheKey, pieces: Sequence[CachedPiece]) -> None:
    if not pieces:
        msg = "it has nothing usable in it"
        raise ValueError(msg)
    texts = [key.transformer, *(part for piece in pieces for part in piece)]
    if any(UNSTORABLE.search(text) for text in texts):
        # No store takes them as a variation either: kept, it would fail in every run.
        msg = "it has NUL characters or lone surrogates"
        raise ValueError(msg)


def _digest(text: str) -> str:
    if _DIGEST.fullmatch(text):
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _loads(stored: object) -> Any:
    try:
        text = stored.decode() if isinstance(stored, bytes) else stored
        if not isinstance(text, str):
            msg = f"it is a {type(stored).__name__}"
            raise ValueError(msg)  # noqa: TRY004 - the one error for all that is damaged
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        msg = "it is nested too deeply"
        raise ValueError(msg) from error


def _refuse_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _pieces_of(value: object) -> list[CachedPiece]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    if not items:
        msg = "there are no pieces"
        raise ValueError(msg)
    return [_piece(item) for item in items]


def _piece(item: object) -> CachedPiece:
    match item:
        case [str(kind), str(text)] if not UNSTORABLE.search(kind + text):
            return CachedPiece(kind, text)
        case _:
            msg = "a piece is not a kind and a text"
            raise ValueError(msg)
