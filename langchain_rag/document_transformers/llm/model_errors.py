"""What the error of a model call says, whichever client library raised it.

No client library is imported: attributes are read by name, and classes are recognised by
their name over the MRO. Only facts are found here; `retries` decides what follows from them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_LINKS: Final = 50
"""How far a chain of errors is followed. A real one has about five links."""

_STATUS: Final = ("status_code", "http_status", "status", "code")
_LABEL: Final = ("code", "Code", "type", "status", "error_code")
_SECONDS: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what led to it, as a traceback would tell it.

    Args:
        error: The error that was raised last.

    Yields:
        The error, its cause (or the error that was being handled), and so on. Each once.
    """
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen and len(seen) < _MOST_LINKS:
        seen.add(id(link))
        yield link
        if link.__cause__ is not None or link.__suppress_context__:
            link = link.__cause__
        else:
            link = link.__context__


def names_of(error: BaseException) -> set[str]:
    """Return the names of an error's class and its bases, as package and class.

    The modules between are left out: libraries move their classes about, and export them
    from the top.

    Args:
        error: The error.

    Returns:
        For example `{"openai.APITimeoutError", "openai.APIConnectionError", ...}`.
    """
    return {f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(error).__mro__}


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status from 400 to 599 that an error carries.

    Args:
        error: The error.

    Returns:
        The status, or None.
    """
    response = _attribute(error, "response")
    found = [_attribute(of, name) for of in (error, response) for name in _STATUS]
    found += [body.get(name) for body in _bodies_of(error) for name in _STATUS]
    found.append(_item(_item(response, "ResponseMetadata"), "HTTPStatusCode"))
    return next((status for value in found if (status := _status(value)) is not None), None)


def labels_of(error: BaseException) -> set[str]:
    """Return the words by which a provider names the kind of an error.

    Args:
        error: The error.

    Returns:
        For example `{"insufficient_quota"}`, `{"ThrottlingException"}`, `{"UNAVAILABLE"}`.
    """
    found = [_attribute(error, name) for name in _LABEL]
    found += [body.get(name) for body in _bodies_of(error) for name in _LABEL]
    with suppress(Exception):
        # gRPC has a method where the others have an attribute.
        code = _attribute(error, "code")
        found.append(code() if callable(code) and not isinstance(code, type) else None)
    names = (value.name if isinstance(value, Enum) else value for value in found)
    return {name for name in names if isinstance(name, str)}


def headers_of(error: BaseException) -> dict[str, str]:
    """Return the headers of the response that an error carries, under small letters.

    Args:
        error: The error.

    Returns:
        The headers, perhaps none.
    """
    response = _attribute(error, "response")
    headers: dict[str, str] = {}
    for found in (
        _attribute(error, "headers"),
        _item(_item(response, "ResponseMetadata"), "HTTPHeaders"),
        _attribute(response, "headers"),
    ):
        with suppress(Exception):
            items = cast("Mapping[object, object]", found).items()
            headers |= {str(name).lower(): str(value) for name, value in items}
    return headers


def wait_of(error: BaseException, now: datetime) -> float | None:
    """Return how many seconds one error, not its chain, asks to wait.

    Args:
        error: The error.
        now: The time, with a time zone.

    Returns:
        Seconds, below 0 for a time that is past; None where nothing readable is said.
    """
    headers = headers_of(error)
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is None and text:
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            date = parsedate_to_datetime(text)
            # A date without a zone is what C's asctime() writes, and means GMT.
            date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
            seconds = (date - now).total_seconds()
    return _retry_info(error) if seconds is None else seconds


def _retry_info(error: BaseException) -> float | None:
    """Return what Google's RetryInfo says, which comes in place of a Retry-After."""
    found = [_attribute(error, "details"), *(body.get("details") for body in _bodies_of(error))]
    for details in found:
        for detail in cast("list[object]", details) if isinstance(details, list) else []:
            text = _item(detail, "retryDelay")
            seconds = _number(text.removesuffix("s")) if isinstance(text, str) else None
            if seconds is not None:
                return seconds
            delay = _attribute(detail, "retry_delay")
            with suppress(TypeError, ValueError):
                seconds = float(cast("float", _attribute(delay, "seconds")))
                return seconds + float(cast("float", _attribute(delay, "nanos"))) / 1e9
    return None


def _bodies_of(error: BaseException) -> Iterator[Mapping[object, object]]:
    """Yield what the provider answered, where a client library keeps it."""
    # LangChain raises ValueError(body) where a provider answers 200 with an error in it.
    first = error.args[0] if error.args else None
    for name in ("body", "details", "response"):
        yield from _with_inner(_attribute(error, name))
    yield from _with_inner(first)


def _with_inner(body: object) -> Iterator[Mapping[object, object]]:
    for found in (body, _item(body, "error"), _item(body, "Error")):
        if isinstance(found, Mapping):
            yield cast("Mapping[object, object]", found)


def _attribute(of: object, name: str) -> object:
    found: object = None
    with suppress(Exception):  # a property may raise what it likes
        found = getattr(of, name, None)
    return found


def _item(of: object, key: str) -> object:
    return cast("Mapping[object, object]", of).get(key) if isinstance(of, Mapping) else None


def _status(value: object) -> int | None:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and 400 <= value <= 599 else None


def _number(text: str) -> float | None:
    text = text.strip()
    number = float(text) if _SECONDS.fullmatch(text) else math.nan
    return None if math.isnan(number) else number
