"""What a filter means, said a second time, and random filters.

The definition is SQL's logic of three values: an order comparison with what is missing or of
another type is unknown, `not` of unknown is unknown, and only what is true passes.
"""

import operator
import re

from hypothesis import strategies as st
from langchain_core.structured_query import Comparator, Comparison, Operation, Operator

ORDER = {
    Comparator.LT: operator.lt,
    Comparator.LTE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GTE: operator.ge,
}
EXACT = [Comparator.EQ, Comparator.NE]
LISTS = [Comparator.IN, Comparator.NIN]


def kind(value):
    return {bool: "bool", int: "number", float: "number", str: "text"}.get(type(value))


def same(value, wanted):
    return kind(value) == kind(wanted) and value == wanted


def like(value, pattern):
    if not set(pattern) & set("%_"):
        return pattern.lower() in value.lower()
    regex = "".join({"%": ".*", "_": "."}.get(char, re.escape(char)) for char in pattern)
    return bool(re.fullmatch(regex, value, re.IGNORECASE | re.DOTALL))


def meaning(directive, metadata):
    """True, False, or None for unknown."""
    if isinstance(directive, Operation):
        parts = [meaning(argument, metadata) for argument in directive.arguments]
        if directive.operator is Operator.NOT:
            return None if parts[0] is None else not parts[0]
        decisive = directive.operator is Operator.OR
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    value, wanted = metadata.get(directive.attribute), directive.value
    if isinstance(wanted, dict):
        wanted = wanted[wanted["type"]]
    if directive.comparator in ORDER:
        if kind(value) != kind(wanted) or kind(value) == "bool":
            return None
        return ORDER[directive.comparator](value, wanted)
    if directive.comparator is Comparator.CONTAIN:
        return kind(value) == "text" and wanted in value
    if directive.comparator is Comparator.LIKE:
        return kind(value) == "text" and like(value, wanted)
    found = any(
        same(value, item) for item in (wanted if isinstance(wanted, list) else [wanted])
    )
    return found == (directive.comparator in (Comparator.EQ, Comparator.IN))


def passing(directive, rows):
    """The numbers of the rows that pass."""
    return {number for number, row in enumerate(rows) if meaning(directive, row) is True}


def trees(comparisons):
    """Random filters of some comparisons."""
    both = st.sampled_from([Operator.AND, Operator.OR])
    return st.recursive(
        comparisons,
        lambda inner: (
            st.builds(Operation, both, st.lists(inner, min_size=1, max_size=3))
            | st.builds(
                Operation, st.just(Operator.NOT), st.lists(inner, min_size=1, max_size=1)
            )
        ),
        max_leaves=8,
    )


def compared(comparators, attributes, values):
    """Random comparisons."""
    return st.builds(
        Comparison, st.sampled_from(list(comparators)), st.sampled_from(attributes), values
    )
