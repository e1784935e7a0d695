"""What of a chunk's metadata the wrapped vector store gets."""

from __future__ import annotations

import math
from datetime import date, time
from typing import Any, Final

_LARGEST: Final = 2**63
"""No store keeps a larger integer; some refuse it, others round it."""

_REFUSED: Final = ("$", "#", "chroma:")
"""Beginnings of keys that Chroma keeps for itself."""


def projection(metadata: dict[str, Any]) -> dict[str, str | int | float | bool]:
    """Flatten metadata to what every vector store accepts and can filter on.

    Text, numbers and truth values stay; dates and times become ISO 8601 texts, which sort
    as they should; anything nested, None, numbers that are not finite, integers of more
    than 64 bits, and keys that are empty or that a store keeps for itself, stay out. The
    docstore keeps the metadata whole.

    Args:
        metadata: Metadata as the user gave it.

    Returns:
        A new flat dict.

    Example:
        >>> projection({"page": 3, "tags": ["a"], "when": date(2026, 11, 30), "by": None})
        {'page': 3, 'when': '2026-11-30'}
    """
    flat: dict[str, str | int | float | bool] = {}
    for key, value in metadata.items():
        if not key or key.startswith(_REFUSED):
            continue
        if isinstance(value, date | time):
            flat[key] = value.isoformat()
        elif _is_scalar(value):
            flat[key] = value
    return flat


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return -_LARGEST <= value < _LARGEST
    return isinstance(value, str)
