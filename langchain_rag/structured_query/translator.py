"""What all our translators have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

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

from langchain_rag.errors import ConfigurationError
from langchain_rag.structured_query.normal import Dates, is_date, plain_value, without_not

EXACT: Final = (Comparator.EQ, Comparator.NE)
ORDER: Final = (Comparator.LT, Comparator.LTE, Comparator.GT, Comparator.GTE)
LISTS: Final = (Comparator.IN, Comparator.NIN)


class Translator(Visitor):
    """Turns structured queries into one store's filters; a subclass says how each part looks.

    Args:
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text,
            `"timestamp"` for seconds since 1970.

    Attributes:
        store: What messages call the store.
        keyword: The argument of the store's search that takes the filter.
    """

    store: ClassVar[str]
    keyword: ClassVar[str] = "filter"
    allowed_comparators: Sequence[Comparator] | None = (*EXACT, *ORDER, *LISTS)
    allowed_operators: Sequence[Operator] | None = tuple(Operator)

    def __init__(self, dates: Dates = "iso") -> None:
        self.dates: Dates = dates

    @override
    def visit_operation(self, operation: Operation) -> Any:
        return self._native(without_not(operation))

    @override
    def visit_comparison(self, comparison: Comparison) -> Any:
        return self._native(comparison)

    @override
    def visit_structured_query(
        self, structured_query: StructuredQuery
    ) -> tuple[str, dict[str, Any]]:
        if structured_query.filter is None:
            return structured_query.query, {}
        native = self._native(without_not(structured_query.filter))
        return structured_query.query, {self.keyword: native, **self._options()}

    def both(self, one: Any, other: Any) -> Any:
        """Make a filter that means two filters of the store, whoever made them.

        Args:
            one: A filter as the store takes it.
            other: Another one.

        Returns:
            A new filter.
        """
        return self._combined(Operator.AND, [one, other])

    def _native(self, directive: FilterDirective) -> Any:
        if isinstance(directive, Comparison):
            self._check(directive)
            value = plain_value(directive.value, self.dates)
            self._check_value(directive, value)
            moment = self.dates == "iso" and is_date(directive.value)
            return self._comparison(
                directive.comparator, directive.attribute, value, moment=moment
            )
        assert isinstance(directive, Operation)  # noqa: S101 - checked by without_not
        if directive.operator is Operator.NOT:  # stays before what has no opposite only
            inner = directive.arguments[0]
            assert isinstance(inner, Comparison)  # noqa: S101 - of those that there are
            self._check(inner)
            return self._negated(inner)
        parts = [self._native(argument) for argument in directive.arguments]
        return self._combined(directive.operator, parts)

    def _check(self, comparison: Comparison) -> None:
        allowed = self.allowed_comparators or ()
        if comparison.comparator in allowed:
            return
        names = ", ".join(comparator.value for comparator in allowed)
        msg = (
            f"{self.store}'s metadata filters have no {comparison.comparator.value!r} (asked "
            f"of {comparison.attribute!r}): use one of {names}."
        )
        raise ConfigurationError(msg)

    def _check_value(self, comparison: Comparison, value: Any) -> None:
        """Refuse values that the comparator can do nothing with."""
        comparator = comparison.comparator
        if isinstance(value, list):
            usable = comparator in LISTS or (comparator is Comparator.CONTAIN and value != [])
        else:
            usable = comparator is not Comparator.LIKE or isinstance(value, str)
        if not usable:
            msg = (
                f"{self.store} cannot compare {comparison.attribute!r} by {comparator.value!r} "
                f"with {value!r}: give one value, a text for 'like', and lists to 'in', 'nin' "
                "and 'contain' only."
            )
            raise ConfigurationError(msg)

    def _negated(self, comparison: Comparison) -> Any:
        """Translate the opposite of `contain` or `like`, which have no comparator for it."""
        raise self._no_opposite(comparison)

    def _no_opposite(self, comparison: Comparison) -> ConfigurationError:
        msg = (
            f"{self.store}'s metadata filters have no 'not' of {comparison.comparator.value!r} "
            f"(asked of {comparison.attribute!r}): leave the 'not' out."
        )
        return ConfigurationError(msg)

    def _options(self) -> dict[str, Any]:
        """Return what else a search with a filter has to be given."""
        return {}

    @abstractmethod
    def _comparison(
        self, comparator: Comparator, attribute: str, value: Any, *, moment: bool
    ) -> Any:
        """Translate a comparison; `moment` says that the value is the ISO text of a date."""

    @abstractmethod
    def _combined(self, operator: Operator, parts: list[Any]) -> Any:
        """Combine translated filters, two or more, by `and` or `or`."""


def values_of(value: Any) -> list[Any]:
    """Return the values of a comparison that takes several.

    Args:
        value: A list, or one value.
    """
    return list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]


def kind_of(value: object) -> str:
    """Return the type of a metadata value as comparisons see it.

    Args:
        value: A value.

    Returns:
        `"number"`, `"text"`, `"truth"`, or the name of its class.
    """
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__
