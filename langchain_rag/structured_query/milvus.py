"""Filters of Milvus: boolean expressions."""

from __future__ import annotations

import math
from typing import Any, Final

from langchain_core.structured_query import Comparator, Comparison, Operator
from typing_extensions import override

from langchain_rag.backends.milvus import field_of, one_of, text_of
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

_SIGNS: Final = {
    Comparator.LT: "<",
    Comparator.LTE: "<=",
    Comparator.GT: ">",
    Comparator.GTE: ">=",
}
_LARGEST: Final = 2**63


class MilvusTranslator(Translator):
    """Turns structured queries into Milvus's boolean expressions.

    `contain` looks for a part of a text, which may have none of `%`, `_` and the backslash in
    it, since Milvus Lite has no way to quote them. Milvus Lite takes the truth values for the
    numbers 1 and 0.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.
        store: The store, which knows which keys are fields of the collection's schema; by
            default all are in its dynamic field.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> MilvusTranslator().visit_comparison(Comparison(Comparator.LT, "born", 1750))
        'born < 1750'
    """

    store = "Milvus"
    keyword = "expr"
    allowed_comparators = (*EXACT, *ORDER, *LISTS, Comparator.CONTAIN)

    def __init__(self, dates: Dates = "iso", *, store: object = None) -> None:
        super().__init__(dates)
        self._store = store

    @override
    def both(self, one: Any, other: Any) -> Any:
        return f"({one}) and ({other})"

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> str:
        field = field_of(self._store, attribute)
        match comparator:
            case Comparator.EQ | Comparator.IN:
                return _one_of(field, attribute, values_of(value))
            case Comparator.NE | Comparator.NIN:
                same = _one_of(field, attribute, values_of(value))
                return self._or_missing(f"not ({same})", attribute)
            case Comparator.CONTAIN:
                parts = [_containing(field, attribute, item) for item in values_of(value)]
                return f"({' and '.join(parts)})"
            case _:
                if kind_of(value) not in ("number", "text"):
                    raise _incomparable(attribute, value)
                return f"{field} {_SIGNS[comparator]} {_literal(attribute, value)}"

    @override
    def _negated(self, comparison: Comparison) -> str:
        return self._or_missing(f"not {self._native(comparison)}", comparison.attribute)

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> str:
        return "(" + f" {operator.value} ".join(parts) + ")"

    def _or_missing(self, condition: str, attribute: str) -> str:
        # The opposite of what is unknown is unknown. Where a key is a field of the schema,
        # Milvus refuses rows that lack it.
        field = field_of(self._store, attribute)
        if "[" not in field and attribute in getattr(self._store, "fields", ()):
            return condition
        return f"({condition} or not exists {field})"


def _one_of(field: str, attribute: str, values: list[Any]) -> str:
    # Numbers and truth values one by one, since the members of a list must be of one type.
    texts = [_literal(attribute, value) for value in values if isinstance(value, str)]
    parts = [
        f"{field} == {_literal(attribute, value)}"
        for value in values
        if not isinstance(value, str)
    ]
    if texts or not parts:
        parts.append(one_of(field, texts))
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def _containing(field: str, attribute: str, item: Any) -> str:
    if not isinstance(item, str) or set(item) & set("%_\\"):
        msg = (
            f"Milvus cannot look for {item!r} in {attribute!r}: it looks for text without "
            "'%', '_' and backslashes only."
        )
        raise ConfigurationError(msg)
    return f"{field} like {text_of(f'%{item}%')}"


def _literal(attribute: str, value: Any) -> str:
    match kind_of(value):
        case "text":
            return text_of(value)
        case "truth":
            return str(value).lower()
        case "number" if math.isfinite(value) and abs(value) < _LARGEST:
            return repr(value)
        case _:
            raise _incomparable(attribute, value)


def _incomparable(attribute: str, value: Any) -> ConfigurationError:
    msg = (
        f"Milvus cannot compare {attribute!r} with {value!r}: it orders numbers of up to 64 "
        "bits and text, and compares these and truth values for being equal."
    )
    return ConfigurationError(msg)
