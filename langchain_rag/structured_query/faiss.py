"""Filters of FAISS, by langchain-community's class: functions of metadata."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, cast

from langchain_core.structured_query import Comparator, Comparison, Operator
from typing_extensions import override

from langchain_rag.structured_query.in_memory import holds
from langchain_rag.structured_query.normal import Dates
from langchain_rag.structured_query.translator import Translator

Condition: TypeAlias = Callable[[dict[str, Any]], bool]


class FAISSTranslator(Translator):
    """Turns structured queries into functions that say whether metadata passes.

    They mean the same as those of `InMemoryTranslator`.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.
        rows: Returns how many rows there are. FAISS filters what it has fetched, 20 rows
            unless told otherwise, so a search that is to miss nothing fetches all. Without
            it, the search is left to know how many it needs: `RAGVectorStore` does.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> passes = FAISSTranslator().visit_comparison(
        ...     Comparison(Comparator.LT, "born", 1750)
        ... )
        >>> passes({"born": 1707}), passes({})
        (True, False)
    """

    store = "FAISS"
    allowed_comparators = tuple(Comparator)

    def __init__(self, dates: Dates = "iso", *, rows: Callable[[], int] | None = None) -> None:
        super().__init__(dates)
        self.rows = rows

    @override
    def both(self, one: Any, other: Any) -> Any:
        return self._combined(Operator.AND, [_function(one), _function(other)])

    @override
    def _options(self) -> dict[str, Any]:
        return {} if self.rows is None else {"fetch_k": max(1, self.rows())}

    @override
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> Condition:
        return lambda metadata: holds(comparator, metadata, attribute, value)

    @override
    def _check_value(self, comparison: Comparison, value: Any) -> None:
        """Take all: a list may be equal to a list, for instance."""

    @override
    def _negated(self, comparison: Comparison) -> Condition:
        passes = self._native(comparison)
        return lambda metadata: not passes(metadata)

    @override
    def _combined(self, operator: Operator, parts: list[Any]) -> Condition:
        combine = all if operator is Operator.AND else any
        return lambda metadata: combine(part(metadata) for part in parts)


def _function(given: Any) -> Condition:
    if callable(given):
        return cast("Condition", given)
    # FAISS takes a dict as well, in a language of its own that only its class can read.
    store = import_module("langchain_community.vectorstores.faiss").FAISS
    read: Condition = store._create_filter_func(given)  # noqa: SLF001
    return read
