"""Metadata that reads back exactly as it was given, through any docstore.

JSON knows only some of Python's values. `encode` turns the others into tagged objects,
`decode` turns them back, and whatever would come back as something else is refused with the
key named. Both make new containers: nothing stored aliases what the caller holds. Nothing
in a record can name code to run; there is a fixed table of types.

Example:
    >>> from datetime import date
    >>> metadata = {"when": date(2026, 11, 30), "tags": ("a", "b"), "pages": [1, 2]}
    >>> decode(encode(metadata, "doc-1")) == metadata
    True
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Final, TypeVar, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_rag.errors import InvalidDocumentError, UnstorableMetadataError

C = TypeVar("C", datetime, time)

MAX_DEPTH: Final = 50
"""Levels of nesting. What is stored must be read under any stack, deeper than this one."""

_TAG: Final = "$type"
# LangChain's serialisation gives dicts with an "lc" key a meaning of its own; one in user
# metadata is stored as a list of pairs, so that no docstore ever interprets it.
_ESCAPED: Final = frozenset({_TAG, "lc", "__lc_escaped__"})
_SCALARS: Final = frozenset({bool, type(None)})
# Python refuses to write or read longer ones (its guard against quadratic time).
_MAX_BITS: Final = 10_000
_UNSTORABLE_TEXT: Final = re.compile("[\x00\ud800-\udfff]")


def unstorable_text(text: str) -> str | None:
    """Say what in a text cannot be stored everywhere, or None.

    Args:
        text: Any text.

    Returns:
        `"a NUL character at position 3"`, `"a lone surrogate at position 5"`, or None.
    """
    if text.isascii() and "\x00" not in text:
        return None
    found = _UNSTORABLE_TEXT.search(text)
    if found is None:
        return None
    name = "a NUL character" if found.group() == "\x00" else "a lone surrogate"
    return f"{name} at position {found.start()}"


def storable_text(text: str, owner: str) -> str:
    """Return a text that a transformer made, if every store can hold it.

    Args:
        text: The text.
        owner: What to call it in an error.

    Returns:
        The same.

    Raises:
        InvalidDocumentError: It has a NUL character or a lone surrogate.
    """
    fault = unstorable_text(text)
    if fault is not None:
        message = f"The text of {owner} has {fault}, which not every store can hold. Remove it."
        raise InvalidDocumentError(message)
    return text


def encode(metadata: dict[str, Any], owner: str) -> dict[str, Any]:
    """Turn metadata into plain JSON values.

    Args:
        metadata: The metadata of a document.
        owner: What to call the document in an error.

    Returns:
        New containers of str, int, float, bool, None, list and dict.

    Raises:
        UnstorableMetadataError: A value would not read back the same.
    """
    encoder = _Encoder(owner)
    try:
        return {encoder.key(key): encoder.value(value, key) for key, value in metadata.items()}
    except RecursionError as error:
        message = (
            f"The metadata of {owner} is nested too deeply or contains itself, and cannot be "
            "stored. Flatten it."
        )
        raise UnstorableMetadataError(message) from error


def canonical(encoded: dict[str, Any]) -> str:
    """Write encoded metadata as one text for each value, whatever the order of its keys.

    Args:
        encoded: What `encode` returned.

    Returns:
        JSON in ASCII with sorted keys.
    """
    return json.dumps(encoded, sort_keys=True, separators=(",", ":"), allow_nan=False)


def decode(encoded: dict[str, Any]) -> dict[str, Any]:
    """Turn encoded metadata back.

    Args:
        encoded: What `encode` returned, perhaps after a journey through a docstore.

    Returns:
        New metadata that aliases nothing.

    Raises:
        ValueError: The data was not written by `encode`.
    """
    return {key: _decode(value) for key, value in encoded.items()}


class _Encoder:
    """Encodes values; knows whose they are, for its errors."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._depth = 0

    def key(self, key: object) -> str:
        if not isinstance(key, str) or type(key) is not str:
            raise self._refusal(
                repr(key), f"its key is of type {type(key).__name__}", "a str key"
            )
        return self._text(key, key)

    def value(self, value: Any, path: str) -> Any:
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind in _SCALARS:
            return value
        if kind is str:
            return self._text(value, path)
        if kind in {int, float}:
            return self._number(value, path)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise RecursionError
        encoded = self._nested(value, path)
        self._depth -= 1
        return encoded

    def _nested(self, value: Any, path: str) -> Any:
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is list:
            return [self.value(item, f"{path}[{n}]") for n, item in enumerate(value)]
        if kind is dict:
            return self._dict(value, path)
        return self._tagged(value, path)

    def _dict(self, value: dict[Any, Any], path: str) -> dict[str, Any]:
        if all(type(key) is str for key in value) and _ESCAPED.isdisjoint(value):
            return {
                self._text(key, path): self.value(item, f"{path}.{key}")
                for key, item in value.items()
            }
        pairs = [
            [self.value(key, f"{path}.{key!r}"), self.value(item, f"{path}.{key!r}")]
            for key, item in value.items()
        ]
        return {_TAG: "dict", "value": pairs}

    def _tagged(self, value: Any, path: str) -> dict[str, Any]:
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind in {tuple, set, frozenset}:
            items = [self.value(item, f"{path}[{n}]") for n, item in enumerate(value)]
            if kind is not tuple:
                items.sort(key=lambda item: json.dumps(item, sort_keys=True))
            return {_TAG: kind.__name__, "value": items}
        if kind is bytes:
            return {_TAG: "bytes", "value": value.hex()}
        if kind is timedelta:
            return {
                _TAG: "timedelta",
                "value": [value.days, value.seconds, value.microseconds],
            }
        if kind in {datetime, time}:
            return self._clock(value, path)
        if kind in {date, Decimal, UUID}:
            return {_TAG: kind.__name__, "value": str(value)}
        raise self._refusal(
            path,
            f"its type {kind.__module__}.{kind.__qualname__} would not read back",
            "a str",
        )

    def _clock(self, value: datetime | time, path: str) -> dict[str, Any]:
        zone = value.tzinfo
        name = zone.key if type(zone) is ZoneInfo else None
        if zone is not None and name is None and type(zone) is not timezone:
            raise self._refusal(
                path,
                f"its time zone is a {type(zone).__qualname__}",
                "datetime.timezone or zoneinfo",
            )
        if type(zone) is timezone and zone.utcoffset(None).microseconds:
            # Python writes such an offset as a text that it reads back as another.
            raise self._refusal(path, "its time zone has a part of a second", "another")
        naive = value.replace(tzinfo=None) if name else value
        return {
            _TAG: type(value).__name__,
            "value": naive.isoformat(),
            "zone": name,
            "fold": value.fold,
        }

    def _number(self, value: float, path: str) -> Any:
        if isinstance(value, int):
            if value.bit_length() > _MAX_BITS:
                raise self._refusal(path, "it has thousands of digits", "a str")
            return value
        return value if math.isfinite(value) else {_TAG: "float", "value": repr(value)}

    def _text(self, text: str, path: str) -> str:
        fault = unstorable_text(text)
        if fault is not None:
            raise self._refusal(path, f"it has {fault}", "a text without it")
        return text

    def _refusal(self, path: str, why: str, remedy: str) -> UnstorableMetadataError:
        path = path.encode("ascii", "backslashreplace").decode("ascii")
        message = (
            f"Metadata {path!r} of {self._owner} cannot be stored: {why}. "
            f"Give {remedy} instead, or leave it out."
        )
        return UnstorableMetadataError(message)


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    return _decode_dict(cast("dict[str, Any]", value))


def _decode_dict(value: dict[str, Any]) -> Any:
    if _TAG not in value:
        return {key: _decode(item) for key, item in value.items()}
    try:
        decoder = _DECODERS[value[_TAG]]
    except (KeyError, TypeError) as error:
        message = f"unknown type tag {value[_TAG]!r}"
        raise ValueError(message) from error
    try:
        return decoder(value)
    except (ArithmeticError, AttributeError, KeyError, TypeError) as error:
        message = f"damaged {value[_TAG]} value"
        raise ValueError(message) from error


def _decode_datetime(value: dict[str, Any]) -> datetime:
    return _zoned(datetime.fromisoformat(value["value"]), value)


def _decode_time(value: dict[str, Any]) -> time:
    return _zoned(time.fromisoformat(value["value"]), value)


def _zoned(clock: C, value: dict[str, Any]) -> C:
    zone = value["zone"]
    if zone is not None:
        clock = clock.replace(tzinfo=ZoneInfo(zone))
    return clock.replace(fold=value["fold"])


_DECODERS: Final[dict[Any, Callable[[dict[str, Any]], Any]]] = {
    "float": lambda value: float(value["value"]),
    "dict": lambda value: {_decode(key): _decode(item) for key, item in value["value"]},
    "tuple": lambda value: tuple(_decode(item) for item in value["value"]),
    "set": lambda value: {_decode(item) for item in value["value"]},
    "frozenset": lambda value: frozenset(_decode(item) for item in value["value"]),
    "bytes": lambda value: bytes.fromhex(value["value"]),
    "timedelta": lambda value: timedelta(*value["value"]),
    "datetime": _decode_datetime,
    "time": _decode_time,
    "date": lambda value: date.fromisoformat(value["value"]),
    "Decimal": lambda value: Decimal(value["value"]),
    "UUID": lambda value: UUID(value["value"]),
}
