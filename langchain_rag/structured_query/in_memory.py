"""Filters of `InMemoryVectorStore`: functions of a document."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.structured_query import Comparator, Comparison, Operator
from typing_extensions import override

from langchain_rag.structured_query.normal import OPPOSITES
from langchain_rag.structured_query.translator import Translator, kind_of, values_of

Predicate: TypeAlias = Callable[[Document], bool]

_MISSING = object()

_ORDERED: dict[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.LT: operator.lt,
    Comparator.LTE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GTE: operator.ge,
}


class InMemoryTranslator(Translator):
    """Turns structured queries into functions that say whether a document passes.

    `contain` holds for a list that has the value, and for text that has it as a part.
    `like` is SQL's, without regard to case: `%` stands for any text and `_` for any
    character; a pattern without either may be anywhere in the text.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> passes = InMemoryTranslator().visit_comparison(
        ...     Comparison(Comparator.LT, "born", 1750)
        ... )
        >>> passes(Document("Euler", metadata={"born": 1707}))
        True
        >>> passes(Document("Anonymous"))
        False
    """

    store = "InMemoryVectorStore"
    allowed_comparators = tuple(Comparator)

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> Predicate:
        return lambda document: holds(comparator, document.metadata, attribute, value)

    @override
    def _check_value(self, comparison: Comparison, value: Any) -> None:
        """Take all: a list may be equal to a list, for instance."""

    @override
    def _negated(self, comparison: Comparison) -> Predicate:
        passes = self._native(comparison)
        return lambda document: not passes(document)

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> Predicate:
        combine = all if operator is Operator.AND else any
        return lambda document: combine(part(document) for part in parts)


def holds(
    comparator: Comparator, metadata: Mapping[str, Any], attribute: str, wanted: Any
) -> bool:
    """Say whether metadata satisfies a comparison.

    Args:
        comparator: How to compare.
        metadata: Metadata of a document.
        attribute: Its key.
        wanted: What to compare the value there with; no date but its text or number.

    Example:
        >>> holds(Comparator.LT, {"born": 1707}, "born", 1750)
        True
    """
    return _holds(comparator, metadata.get(attribute, _MISSING), wanted)


def _holds(comparator: Comparator, value: Any, wanted: Any) -> bool:
    match comparator:
        case Comparator.EQ:
            return _alike(value, wanted) and bool(value == wanted)
        case Comparator.IN:
            return any(_holds(Comparator.EQ, value, item) for item in values_of(wanted))
        case Comparator.NE | Comparator.NIN:
            return not _holds(OPPOSITES[comparator], value, wanted)
        case Comparator.CONTAIN:
            return all(_contains(value, item) for item in values_of(wanted))
        case Comparator.LIKE:
            return isinstance(value, str) and _like(value, str(wanted))
        case _:
            # Order is for numbers and text; two truth values or lists have none.
            ordered = kind_of(value) in ("number", "text") and _alike(value, wanted)
            return ordered and _ORDERED[comparator](value, wanted)


def _alike(value: Any, wanted: Any) -> bool:
    return value is not _MISSING and kind_of(value) == kind_of(wanted)


def _contains(value: Any, item: Any) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        members: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return any(_holds(Comparator.EQ, member, item) for member in members)
    return isinstance(value, str) and isinstance(item, str) and item in value


def _like(value: str, pattern: str) -> bool:
    if "%" not in pattern and "_" not in pattern:
        return pattern.casefold() in value.casefold()
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(char) or re.escape(char) for char in pattern)
    return re.fullmatch(regex, value, re.IGNORECASE | re.DOTALL) is not None
