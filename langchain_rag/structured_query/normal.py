"""A filter in a form that translators can take as it is: without `not`, values plain."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
)

from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

Dates: TypeAlias = Literal["iso", "timestamp"]

OPPOSITES: Mapping[Comparator, Comparator] = {
    Comparator.EQ: Comparator.NE,
    Comparator.NE: Comparator.EQ,
    Comparator.LT: Comparator.GTE,
    Comparator.LTE: Comparator.GT,
    Comparator.GT: Comparator.LTE,
    Comparator.GTE: Comparator.LT,
    Comparator.IN: Comparator.NIN,
    Comparator.NIN: Comparator.IN,
}


def without_not(directive: FilterDirective, *, negated: bool = False) -> FilterDirective:
    """Move every `not` inward until it meets a comparison, and take the opposite of that.

    `contain` and `like` have no opposite; in front of them a `not` stays. An `and` or `or`
    of one argument becomes the argument.

    Args:
        directive: A filter.
        negated: Whether to return the opposite of it.

    Returns:
        A new filter.

    Raises:
        ConfigurationError: If an operator has no argument, or a `not` several.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison
        >>> from langchain_core.structured_query import Operation, Operator
        >>> old = Comparison(Comparator.LT, "year", 1900)
        >>> without_not(Operation(Operator.NOT, [old])).comparator.value
        'gte'
    """
    if isinstance(directive, Comparison):
        if not negated:
            return directive
        opposite = OPPOSITES.get(directive.comparator)
        if opposite is None:
            return Operation(Operator.NOT, [directive])
        return Comparison(opposite, directive.attribute, directive.value)
    if not isinstance(directive, Operation):
        msg = (
            f"The filter holds a {type(directive).__name__}: build filters of Comparison and "
            "Operation."
        )
        raise ConfigurationError(msg)
    operator, arguments = directive.operator, directive.arguments
    if not arguments or (operator is Operator.NOT and len(arguments) > 1):
        msg = (
            f"The filter has {operator.value!r} with {len(arguments)} arguments: 'not' takes "
            "one, 'and' and 'or' take one or more."
        )
        raise ConfigurationError(msg)
    if operator is Operator.NOT:
        return without_not(arguments[0], negated=not negated)
    parts = [without_not(argument, negated=negated) for argument in arguments]
    if len(parts) == 1:
        return parts[0]
    if negated:
        operator = Operator.OR if operator is Operator.AND else Operator.AND
    return Operation(operator, parts)


def plain_value(value: Any, dates: Dates) -> Any:
    """Turn the dates of LangChain's query parser into values that metadata can hold.

    Args:
        value: A value of a comparison, or a list of them.
        dates: `"iso"` for text as the parser has it, `"timestamp"` for seconds since 1970
            (UTC where no zone is given).

    Returns:
        The value; anything but a date as it is.

    Example:
        >>> plain_value({"date": "2024-01-31", "type": "date"}, "iso")
        '2024-01-31'
        >>> plain_value({"date": "1970-01-02", "type": "date"}, "timestamp")
        86400.0
    """
    if isinstance(value, list | tuple):
        values: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return [plain_value(item, dates) for item in values]
    if not is_date(value):
        return value
    # Filters written by hand have a date or a datetime.
    text = value.isoformat() if isinstance(value, dt.date) else str(value.get(value["type"]))
    if dates == "iso":
        return text
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"A filter has the date {text!r}, which is none: write it as 2024-01-31."
        raise ConfigurationError(msg) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


def is_date(value: Any) -> bool:
    """Say whether a value of a comparison is a date or a time, as the query parser has it.

    Args:
        value: Any value.

    Example:
        >>> is_date({"date": "2024-01-31", "type": "date"}), is_date("2024-01-31")
        (True, False)
    """
    if isinstance(value, dt.date):  # a datetime is one
        return True
    return isinstance(value, dict) and value.get("type") in ("date", "datetime")  # pyright: ignore[reportUnknownMemberType]
