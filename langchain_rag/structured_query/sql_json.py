"""Values of metadata as PostgreSQL writes what it finds in JSON, and patterns of SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query.translator import kind_of


def texts_of(attribute: str, values: Sequence[Any]) -> list[str]:
    """Return every text that one of some values may be in a column of JSON.

    Args:
        attribute: The metadata key, for the message.
        values: Texts, numbers and truth values.

    Raises:
        ConfigurationError: A value is something else.

    Example:
        >>> texts_of("born", [1707, True, "x"])
        ['1707', '1707.0', 'true', 'x']
    """
    texts: list[str] = []
    for value in values:
        match kind_of(value):
            case "text":
                texts.append(value)
            case "truth":
                texts.append(str(value).lower())
            case "number" if math.isfinite(value):
                texts += _numbers(value)
            case _:
                msg = (
                    f"PostgreSQL cannot compare {attribute!r} with {value!r}: it compares "
                    "text, numbers and truth values for being equal."
                )
                raise ConfigurationError(msg)
    return texts


def _numbers(value: float) -> list[str]:
    # As Python writes it into JSON (1, 1.0, 1e+16), and as JSONB gives it back.
    forms = {repr(value), format(Decimal(repr(value)), "f")}
    if value == math.floor(value):
        forms |= {str(int(value)), repr(float(value))}
    if value == 0:
        forms |= {"-0.0"}
    return sorted(forms)


def quoted(text: str) -> str:
    """Return a pattern of SQL's LIKE that only a text itself fits.

    Args:
        text: Any text.

    Example:
        >>> print(quoted("50%").encode().hex(" "))
        35 30 5c 25
    """
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return text


def like_pattern(pattern: str) -> str:
    """Return the pattern of SQL's LIKE for one of the comparator `like`.

    Args:
        pattern: With `%` and `_`; without either it may be anywhere in the text.

    Example:
        >>> like_pattern("Eul"), like_pattern("Eul%")
        ('%Eul%', 'Eul%')
    """
    escaped = pattern.replace("\\", "\\\\")
    return escaped if "%" in escaped or "_" in escaped else f"%{escaped}%"
