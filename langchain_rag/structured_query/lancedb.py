"""Filters of LanceDB, by langchain-community's class: conditions in SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from langchain_core.structured_query import Comparator, Comparison, Operator
from typing_extensions import override

from langchain_rag.backends.lancedb import field_of, text_of
from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query.normal import OPPOSITES, Dates
from langchain_rag.structured_query.sql_json import like_pattern
from langchain_rag.structured_query.translator import Translator, kind_of, values_of

_SIGNS: Final = {
    Comparator.LT: "<",
    Comparator.LTE: "<=",
    Comparator.GT: ">",
    Comparator.GTE: ">=",
}
_LARGEST: Final = 2**63
_NEVER: Final = "false"


class LanceDBTranslator(Translator):
    """Turns structured queries into conditions of LanceDB.

    Each key of the metadata is a column of one type; what is compared with a value of another
    type is unlike it. Text that a row lacks is stored as an empty one, so empty text is taken
    for missing, and cannot be asked for.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.
        types: Returns the columns of the metadata: by key, `"whole"`, `"broken"`, `"text"` or
            `"truth"`.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> translator = LanceDBTranslator(types=lambda: {"born": "whole"})
        >>> translator.visit_comparison(Comparison(Comparator.LT, "born", 1750.5))
        'metadata.`born` < 1751'
    """

    store = "LanceDB"
    allowed_comparators = tuple(Comparator)

    def __init__(self, dates: Dates = "iso", *, types: Callable[[], Mapping[str, str]]) -> None:
        super().__init__(dates)
        self._types = types

    @override
    def both(self, one: Any, other: Any) -> Any:
        return f"({_condition(one)}) AND ({_condition(other)})"

    @override
    def _options(self) -> dict[str, Any]:
        # It filters what it has found unless told otherwise.
        return {"prefilter": True}

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> str:
        if comparator in (Comparator.NE, Comparator.NIN):
            same = self._comparison(OPPOSITES[comparator], attribute, value, moment=moment)
            return f"({same}) IS NOT TRUE"
        kind = self._types().get(attribute)
        column = field_of(attribute)
        match comparator:
            case Comparator.EQ | Comparator.IN:
                literals = [_literal(attribute, item, kind) for item in values_of(value)]
                present = ", ".join(literal for literal in literals if literal is not None)
                return f"{column} IN ({present})" if present else _NEVER
            case Comparator.CONTAIN:
                parts = [_containing(column, item, kind) for item in values_of(value)]
                return f"({' AND '.join(parts)})"
            case Comparator.LIKE:
                like = f"{column} ILIKE {text_of(like_pattern(value))}"
                return f"({like} AND {column} != '')" if kind == "text" else _NEVER
            case _:
                return _ordered(comparator, column, value, kind)

    @override
    def _negated(self, comparison: Comparison) -> str:
        return f"({self._native(comparison)}) IS NOT TRUE"

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> str:
        return "(" + f" {operator.value.upper()} ".join(parts) + ")"


def _condition(given: Any) -> str:
    """Put a filter that the store takes as a dict into words."""
    if not isinstance(given, dict):
        return str(given)
    equal = cast("dict[str, Any]", given)
    return " AND ".join(f"{name} = {text_of(str(value))}" for name, value in equal.items())


def _literal(attribute: str, value: Any, kind: str | None) -> str | None:
    """Write a value as the column's type has it; None where it can have no such value."""
    if kind == kind_of(value) == "text" and len(value) == 0:
        msg = (
            f"LanceDB holds an empty text under {attribute!r} where there is none, so it "
            "cannot tell which rows have an empty one: ask for another value."
        )
        raise ConfigurationError(msg)
    match kind_of(value), kind:
        case "text", "text":
            return text_of(value)
        case "truth", "truth":
            return str(value).lower()
        case "number", "broken" if math.isfinite(value):
            return _broken(value)
        case "number", "whole" if abs(value) < _LARGEST and value == math.floor(value):
            return str(int(value))
        case _:
            return None


def _ordered(comparator: Comparator, column: str, value: Any, kind: str | None) -> str:
    sign = _SIGNS[comparator]
    if kind == kind_of(value) == "text":
        return f"({column} {sign} {text_of(value)} AND {column} != '')"
    numbers = kind_of(value) == "number" and kind in ("whole", "broken")
    if not numbers or math.isnan(value):
        return _NEVER
    if math.isfinite(value) and kind == "broken":
        return f"{column} {sign} {_broken(value)}"
    if not abs(value) < _LARGEST:
        # Beyond all numbers that there are.
        below = comparator in (Comparator.LT, Comparator.LTE)
        return f"{column} IS NOT NULL" if (value > 0) == below else _NEVER
    rounded = (
        math.ceil(value) if comparator in (Comparator.LT, Comparator.GTE) else math.floor(value)
    )
    return f"{column} {sign} {rounded}"


def _broken(value: float) -> str:
    text = repr(float(value))
    return text if "." in text or "e" in text else f"{text}.0"


def _containing(column: str, item: Any, kind: str | None) -> str:
    if not isinstance(item, str) or kind != "text":
        return _NEVER
    return f"(contains({column}, {text_of(item)}) AND {column} != '')"
