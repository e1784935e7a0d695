"""Filters of Chroma."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from langchain_core.structured_query import Comparator, Operator
from typing_extensions import override

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query.translator import ORDER, Translator, values_of

if TYPE_CHECKING:
    from collections.abc import Callable

# Chroma (1.5.9) cuts the fraction off when it compares a number like 1.5 with a whole number
# in the metadata: 1 equals 1.5 there. A second condition, with a whole number, mends it.
_MENDED: dict[Comparator, tuple[str, Comparator, Callable[[float], int]]] = {
    Comparator.EQ: ("$and", Comparator.NE, math.trunc),
    Comparator.NE: ("$or", Comparator.EQ, math.trunc),
    Comparator.LT: ("$or", Comparator.LTE, math.floor),
    Comparator.LTE: ("$and", Comparator.LT, math.ceil),
    Comparator.GT: ("$or", Comparator.GTE, math.ceil),
    Comparator.GTE: ("$and", Comparator.GT, math.floor),
}


class ChromaTranslator(Translator):
    """Turns structured queries into Chroma's `where`.

    Chroma has no `not`, which is moved inward here, and orders numbers only: a date that is
    to be compared by order has to be a number in the metadata, and the translator be made
    with `dates="timestamp"`.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> from langchain_core.structured_query import Operation, Operator
        >>> old = Comparison(Comparator.LT, "born", 1750)
        >>> swiss = Comparison(Comparator.EQ, "country", "CH")
        >>> translator = ChromaTranslator()
        >>> translator.visit_operation(Operation(Operator.AND, [old, swiss]))
        {'$and': [{'born': {'$lt': 1750}}, {'country': {'$eq': 'CH'}}]}
        >>> translator.visit_operation(Operation(Operator.NOT, [old]))
        {'born': {'$gte': 1750}}
    """

    store = "Chroma"

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> dict[str, Any]:
        return _comparison(comparator, attribute, value)

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> dict[str, Any]:
        return {f"${operator.value}": parts}


def _comparison(comparator: Comparator, attribute: str, value: Any) -> dict[str, Any]:
    if comparator in (Comparator.IN, Comparator.NIN):
        return _membership(comparator, attribute, value)
    usable = isinstance(value, int | float if comparator in ORDER else int | float | str)
    if isinstance(value, bool):
        usable = comparator not in ORDER
    elif isinstance(value, float):
        usable = math.isfinite(value)
    if not usable:
        msg = (
            f"Chroma cannot compare {attribute!r} by {comparator.value!r} with {value!r}: it "
            "orders numbers only, and compares text, numbers and truth values for being "
            "equal. Keep what is to be ordered as a number in the metadata (a year, or a "
            "timestamp with ChromaTranslator(dates='timestamp'))."
        )
        raise ConfigurationError(msg)
    condition = {attribute: {f"${comparator.value}": value}}
    if not _broken(value):
        return condition
    combine, second, whole = _MENDED[comparator]
    return {combine: [condition, {attribute: {f"${second.value}": whole(value)}}]}


def _broken(value: Any) -> bool:
    return isinstance(value, float) and not value.is_integer()


def _membership(comparator: Comparator, attribute: str, value: Any) -> dict[str, Any]:
    """Chroma wants lists that are not empty, and of one type."""
    inside = comparator is Comparator.IN
    each = Comparator.EQ if inside else Comparator.NE
    parts: list[dict[str, Any]] = []
    by_type: dict[str, list[Any]] = {}
    for item in values_of(value):
        condition = _comparison(each, attribute, item)  # which checks it as well
        if _broken(item):
            parts.append(condition)
        else:
            by_type.setdefault(type(item).__name__, []).append(item)
    parts += [{attribute: {f"${comparator.value}": items}} for items in by_type.values()]
    if not parts:  # in nothing: never; not in nothing: always
        never_or_always = [{attribute: {"$eq": ""}}, {attribute: {"$ne": ""}}]
        return {"$and" if inside else "$or": never_or_always}
    if len(parts) == 1:
        return parts[0]
    return {"$or" if inside else "$and": parts}
