"""Filters of `InMemoryVectorStore`: functions of a document."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)
from typing_extensions import override

from langchain_rag.structured_query.normal import OPPOSITES, Dates, plain_value, without_not

Predicate: TypeAlias = Callable[[Document], bool]

_MISSING = object()

_ORDERED: dict[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.LT: operator.lt,
    Comparator.LTE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GTE: operator.ge,
}


class InMemoryTranslator(Visitor):
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

    allowed_comparators = tuple(Comparator)
    allowed_operators = tuple(Operator)

    def __init__(self, dates: Dates = "iso") -> None:
        self.dates: Dates = dates

    @override
    def visit_operation(self, operation: Operation) -> Predicate:
        return self._predicate(without_not(operation))

    @override
    def visit_comparison(self, comparison: Comparison) -> Predicate:
        return self._predicate(comparison)

    @override
    def visit_structured_query(
        self, structured_query: StructuredQuery
    ) -> tuple[str, dict[str, Any]]:
        if structured_query.filter is None:
            return structured_query.query, {}
        predicate = self._predicate(without_not(structured_query.filter))
        return structured_query.query, {"filter": predicate}

    def _predicate(self, directive: FilterDirective) -> Predicate:
        if isinstance(directive, Operation):
            parts = [self._predicate(argument) for argument in directive.arguments]
            if directive.operator is Operator.NOT:
                return lambda document: not parts[0](document)
            combine = all if directive.operator is Operator.AND else any
            return lambda document: combine(part(document) for part in parts)
        assert isinstance(directive, Comparison)  # noqa: S101 - checked by without_not
        comparator, attribute = directive.comparator, directive.attribute
        wanted = plain_value(directive.value, self.dates)
        return lambda document: _holds(
            comparator, document.metadata.get(attribute, _MISSING), wanted
        )


def _holds(comparator: Comparator, value: Any, wanted: Any) -> bool:
    match comparator:
        case Comparator.EQ:
            return _alike(value, wanted) and bool(value == wanted)
        case Comparator.IN:
            return any(_holds(Comparator.EQ, value, item) for item in _list(wanted))
        case Comparator.NE | Comparator.NIN:
            return not _holds(OPPOSITES[comparator], value, wanted)
        case Comparator.CONTAIN:
            return all(_contains(value, item) for item in _list(wanted))
        case Comparator.LIKE:
            return isinstance(value, str) and _like(value, str(wanted))
        case _:
            # Order is for numbers and text; two truth values or lists have none.
            ordered = _kind(value) in ("number", "str") and _alike(value, wanted)
            return ordered and _ORDERED[comparator](value, wanted)


def _alike(value: Any, wanted: Any) -> bool:
    return value is not _MISSING and _kind(value) == _kind(wanted)


def _kind(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def _list(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]  # pyright: ignore[reportUnknownVariableType]


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
