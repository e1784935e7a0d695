"""Filters of pgvector, by `PGVector` of langchain-postgres and of langchain-community."""

from __future__ import annotations

import math
from typing import Any

from langchain_core.structured_query import Comparator, Comparison, Operator
from typing_extensions import override

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query.sql_json import like_pattern, quoted, texts_of
from langchain_rag.structured_query.translator import ORDER, Translator, kind_of, values_of


class PGVectorTranslator(Translator):
    """Turns structured queries into the dicts that `PGVector` of langchain-postgres takes.

    It keeps metadata as JSONB, which knows numbers from text, and orders text by code points.
    `ne`, `nin`, `like` and `contain` look at the text that JSONB writes, so they take the
    number 1 for the text "1". Of a list, it compares every element.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> translator = PGVectorTranslator()
        >>> translator.visit_comparison(Comparison(Comparator.LT, "born", 1750))
        {'born': {'$lt': 1750}}
    """

    store = "PGVector"
    allowed_comparators = tuple(Comparator)

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> dict[str, Any]:
        if not attribute.isidentifier():
            msg = (
                f"PGVector cannot filter on {attribute!r}, whose name is no identifier: rename "
                "the key, for instance to letters, digits and underscores."
            )
            raise ConfigurationError(msg)
        values = values_of(value)
        self._check_values(comparator, attribute, values)
        match comparator:
            case Comparator.EQ | Comparator.IN:
                parts = [{attribute: {"$eq": item}} for item in values]
                return _all("$or", parts) if parts else {attribute: {"$in": []}}
            case Comparator.NE | Comparator.NIN:
                return _all("$and", [self._unlike(attribute, item) for item in values]) or (
                    _or_missing({attribute: {"$exists": True}}, attribute)
                )
            case Comparator.CONTAIN:
                return _all(
                    "$and", [{attribute: {"$like": f"%{quoted(item)}%"}} for item in values]
                )
            case Comparator.LIKE:
                return {attribute: {"$ilike": like_pattern(value)}}
            case _:
                return {attribute: {f"${comparator.value}": value}}

    @override
    def _negated(self, comparison: Comparison) -> dict[str, Any]:
        return _or_missing({"$not": self._native(comparison)}, comparison.attribute)

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> dict[str, Any]:
        return {f"${operator.value}": parts}

    def _unlike(self, attribute: str, value: Any) -> dict[str, Any]:
        # Unequal values of one type, or of two, which JSONB cannot compare but by their text.
        return {
            "$or": [
                {attribute: {"$ne": value}},
                {attribute: {"$nin": texts_of(attribute, [value])}},
                {attribute: {"$exists": False}},
            ]
        }

    def _check_values(self, comparator: Comparator, attribute: str, values: list[Any]) -> None:
        kinds = {"text", "number", "truth"}
        if comparator in ORDER:
            kinds = {"text", "number"}
        elif comparator in (Comparator.CONTAIN, Comparator.LIKE):
            kinds = {"text"}
        for value in values:
            if kind_of(value) not in kinds or (
                isinstance(value, float) and not math.isfinite(value)
            ):
                msg = (
                    f"PGVector cannot compare {attribute!r} by {comparator.value!r} with "
                    f"{value!r}: it orders numbers and text, looks for text in text, and "
                    "compares text, numbers and truth values for being equal."
                )
                raise ConfigurationError(msg)


class CommunityPGVectorTranslator(PGVectorTranslator):
    """Turns structured queries into the dicts that langchain-community's `PGVector` takes.

    It has no way to ask for rows that lack a key, and so neither `ne` nor `nin`.

    Example:
        >>> [comparator.value for comparator in CommunityPGVectorTranslator.allowed_comparators]
        ['eq', 'gt', 'gte', 'lt', 'lte', 'contain', 'like', 'in']
    """

    allowed_comparators = tuple(
        comparator
        for comparator in Comparator
        if comparator not in (Comparator.NE, Comparator.NIN)
    )
    allowed_operators = (Operator.AND, Operator.OR)

    @override
    def _negated(self, comparison: Comparison) -> dict[str, Any]:
        raise self._no_opposite(comparison)


def _all(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    if not parts:
        return {}
    return parts[0] if len(parts) == 1 else {operator: parts}


def _or_missing(condition: dict[str, Any], attribute: str) -> dict[str, Any]:
    # In SQL, the opposite of what is unknown is unknown.
    return {"$or": [condition, {attribute: {"$exists": False}}]}
