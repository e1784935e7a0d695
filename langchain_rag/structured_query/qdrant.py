"""Filters of Qdrant."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.structured_query import Comparator, Comparison, Operator
from typing_extensions import override

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query.normal import Dates
from langchain_rag.structured_query.translator import (
    EXACT,
    LISTS,
    ORDER,
    Translator,
    kind_of,
    values_of,
)

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_EXACT_INTEGERS: Final = 2**53
"""A range is of floating-point numbers, which hold no larger integers exactly."""


class QdrantTranslator(Translator):
    """Turns structured queries into Qdrant's `Filter`.

    Qdrant orders numbers and moments. A date in a filter is compared with the moment that the
    ISO 8601 text in the metadata stands for; other text has no order. `contain` looks for a
    part of a text. Of a list, Qdrant compares every element, where `InMemoryTranslator` takes
    the list as a whole.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.
        metadata_key: Where in the payload the store keeps the metadata.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> made = QdrantTranslator().visit_comparison(
        ...     Comparison(Comparator.EQ, "country", "CH")
        ... )
        >>> made.must[0].key, made.must[0].match.value
        ('metadata.country', 'CH')
    """

    store = "Qdrant"
    allowed_comparators: Sequence[Comparator] | None = (
        *EXACT,
        *ORDER,
        *LISTS,
        Comparator.CONTAIN,
    )

    def __init__(self, dates: Dates = "iso", *, metadata_key: str = "metadata") -> None:
        super().__init__(dates)
        self.metadata_key = metadata_key
        if not hasattr(_models(), "MatchSubstring"):  # qdrant-client before 1.18
            self.allowed_comparators = (*EXACT, *ORDER, *LISTS)

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> Any:
        models, key = _models(), self._key(attribute)
        match comparator:
            case Comparator.EQ | Comparator.NE:
                found = [_equal(key, attribute, value)]
            case Comparator.IN | Comparator.NIN:
                found = _one_of(key, attribute, values_of(value))
            case Comparator.CONTAIN:
                parts = [_containing(key, attribute, item) for item in values_of(value)]
                return models.Filter(must=parts)
            case _:
                return models.Filter(
                    must=[_ordered(comparator, key, attribute, value, moment=moment)]
                )
        if comparator in (Comparator.NE, Comparator.NIN):
            return models.Filter(must_not=found)
        # In Qdrant, one of no conditions is fulfilled by all rows.
        return models.Filter(should=found) if len(found) > 1 else models.Filter(must=found)

    @override
    def _negated(self, comparison: Comparison) -> Any:
        return _models().Filter(must_not=[self._native(comparison)])

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> Any:
        models = _models()
        if operator is Operator.AND:
            return models.Filter(must=parts)
        return models.Filter(should=parts)

    def _key(self, attribute: str) -> str:
        if _PLAIN.fullmatch(attribute):
            return f"{self.metadata_key}.{attribute}"
        if '"' in attribute:
            msg = f'Qdrant cannot filter on {attribute!r}, whose name has a ": rename the key.'
            raise ConfigurationError(msg)
        return f'{self.metadata_key}."{attribute}"'


def _models() -> Any:
    from qdrant_client import models  # noqa: PLC0415 - only where it is needed

    return models


def _equal(key: str, attribute: str, value: Any) -> Any:
    models = _models()
    kind = _kind(value)
    if kind == "number" and not (isinstance(value, int) and abs(value) > _EXACT_INTEGERS):
        # A match of the integer 1 would pass over 1.0.
        return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))
    if kind in ("number", "truth", "text"):
        return models.FieldCondition(key=key, match=models.MatchValue(value=value))
    raise _incomparable(attribute, "is equal", value)


def _one_of(key: str, attribute: str, values: list[Any]) -> list[Any]:
    models = _models()
    texts = [value for value in values if isinstance(value, str)]
    found = [_equal(key, attribute, value) for value in values if not isinstance(value, str)]
    if texts:
        found.append(models.FieldCondition(key=key, match=models.MatchAny(any=texts)))
    if not found:  # one of nothing, which nothing is
        empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=key))
        found.append(models.Filter(must=[empty], must_not=[empty]))
    return found


def _containing(key: str, attribute: str, item: Any) -> Any:
    models = _models()
    if not isinstance(item, str):
        raise _incomparable(attribute, "contains", item)
    return models.FieldCondition(key=key, match=models.MatchSubstring(substring=item))


def _ordered(
    comparator: Comparator, key: str, attribute: str, value: Any, *, moment: bool
) -> Any:
    models = _models()
    if moment:
        bounds = models.DatetimeRange(**{comparator.value: value})
    elif _kind(value) == "number":
        bounds = models.Range(**{comparator.value: value})
    else:
        raise _incomparable(attribute, f"is {comparator.value}", value)
    return models.FieldCondition(key=key, range=bounds)


def _kind(value: Any) -> str:
    # JSON has no infinite numbers.
    return "" if isinstance(value, float) and not math.isfinite(value) else kind_of(value)


def _incomparable(attribute: str, how: str, value: Any) -> ConfigurationError:
    msg = (
        f"Qdrant cannot say whether {attribute!r} {how} {value!r}: it orders numbers and dates "
        "only, looks for text in text, and compares text, numbers and truth values for being "
        "equal. Keep what is to be ordered as a number or as an ISO 8601 date in the metadata."
    )
    return ConfigurationError(msg)
