"""Filters of pgvector, by langchain-postgres's `PGVectorStore`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from langchain_core.structured_query import Comparator, Comparison, Operator
from typing_extensions import override

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query.normal import Dates
from langchain_rag.structured_query.sql_json import like_pattern, quoted, texts_of
from langchain_rag.structured_query.translator import Translator, kind_of, values_of


class PGVectorStoreTranslator(Translator):
    """Turns structured queries into the dicts that `PGVectorStore` takes.

    It keeps metadata as JSON and compares it as text, so the number 1 equals the text "1",
    and `like` and `contain` look at what JSON writes. Only to order numbers does it turn the
    text into a number: PostgreSQL refuses a search that orders a key by number where one row
    holds text under it. Text is ordered by the database's collation. Keys that are columns of
    their own (`metadata_columns`) are compared as what they are.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.
        columns: Keys that are columns.
        taken: Names of columns that hold something else than metadata.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> translator = PGVectorStoreTranslator()
        >>> translator.visit_comparison(Comparison(Comparator.LT, "born", 1750))
        {'born': {'$lt': 1750.0}}
    """

    store = "PGVectorStore"
    allowed_comparators = tuple(Comparator)

    def __init__(
        self,
        dates: Dates = "iso",
        *,
        columns: Iterable[str] = (),
        taken: Iterable[str] = ("langchain_id", "content", "embedding"),
    ) -> None:
        super().__init__(dates)
        self._columns: Final = frozenset(columns)
        self._taken: Final = frozenset(taken)

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> dict[str, Any]:
        self._check_name(attribute)
        match comparator:
            case Comparator.EQ | Comparator.IN:
                return self._one_of(attribute, values_of(value))
            case Comparator.NE | Comparator.NIN:
                return self._none_of(attribute, values_of(value))
            case Comparator.CONTAIN:
                parts = [
                    {attribute: {"$like": f"%{quoted(item)}%"}}
                    for item in self._texts(attribute, values_of(value))
                ]
                return parts[0] if len(parts) == 1 else {"$and": parts}
            case Comparator.LIKE:
                return {attribute: {"$ilike": like_pattern(value)}}
            case _:
                return {attribute: {f"${comparator.value}": self._bound(attribute, value)}}

    @override
    def _negated(self, comparison: Comparison) -> dict[str, Any]:
        return _or_missing({"$not": self._native(comparison)}, comparison.attribute)

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> dict[str, Any]:
        return {f"${operator.value}": parts}

    def _check_name(self, attribute: str) -> None:
        if attribute in self._taken:
            why = "is a column that holds something else"
        elif not attribute.isidentifier():
            why = "is no identifier"
        else:
            return
        msg = (
            f"PGVectorStore cannot filter on {attribute!r}, whose name {why}: rename the key, "
            "for instance to letters, digits and underscores."
        )
        raise ConfigurationError(msg)

    def _one_of(self, attribute: str, values: list[Any]) -> dict[str, Any]:
        if attribute in self._columns:
            parts = [{attribute: {"$eq": value}} for value in values]
            return {"$or": parts} if parts else _never(attribute)
        texts = texts_of(attribute, values)
        return {attribute: {"$in": texts}} if texts else _never(attribute)

    def _none_of(self, attribute: str, values: list[Any]) -> dict[str, Any]:
        if attribute in self._columns:
            parts = [{attribute: {"$ne": value}} for value in values]
            some: dict[str, Any] = {"$and": parts} if parts else _present(attribute)
            return _or_missing(some, attribute)
        texts = texts_of(attribute, values)
        some = {attribute: {"$nin": texts}} if texts else _present(attribute)
        return _or_missing(some, attribute)

    def _bound(self, attribute: str, value: Any) -> Any:
        kind = kind_of(value)
        if attribute in self._columns or kind == "text":
            return value
        if kind == "number" and math.isfinite(value):
            return float(value)  # an integer would be compared with integers only
        msg = (
            f"PGVectorStore cannot compare {attribute!r} by order with {value!r}: it orders "
            "numbers and text."
        )
        raise ConfigurationError(msg)

    def _texts(self, attribute: str, values: list[Any]) -> list[str]:
        if all(isinstance(value, str) for value in values):
            return values
        msg = (
            f"PGVectorStore cannot look for {values!r} in {attribute!r}: it looks for text in "
            "text."
        )
        raise ConfigurationError(msg)


def _or_missing(condition: dict[str, Any], attribute: str) -> dict[str, Any]:
    # In SQL, the opposite of what is unknown is unknown.
    return {"$or": [condition, {attribute: {"$exists": False}}]}


def _present(attribute: str) -> dict[str, Any]:
    return {attribute: {"$exists": True}}


def _never(attribute: str) -> dict[str, Any]:
    return {"$and": [_present(attribute), {attribute: {"$exists": False}}]}
