"""One filter for both sides of a retriever: of the docstore's chunks, and of the vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
)
from langchain_core.vectorstores import VectorStore

from langchain_rag._documents import document_of
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.projection import projection
from langchain_rag.structured_query import InMemoryTranslator, translator_for

Predicate: TypeAlias = Callable[[Document], bool]


def directive_of(given: Any) -> FilterDirective | None:
    """Return a filter as LangChain's structured queries have it.

    Args:
        given: Such a filter, a dict of metadata keys and the values that they must have, or
            None for no filter.

    Returns:
        The filter; None for none.

    Raises:
        ConfigurationError: It is something else, such as a filter in a store's own language.

    Example:
        >>> directive_of({"page": 3}).attribute
        'page'
    """
    if given is None or isinstance(given, FilterDirective):
        return given
    if isinstance(given, dict):
        values = cast("dict[str, object]", given)
        if not any(_is_syntax(key, value) for key, value in values.items()):
            equal = [Comparison(Comparator.EQ, key, value) for key, value in values.items()]
            if len(equal) > 1:
                return Operation(Operator.AND, list[FilterDirective](equal))
            return equal[0] if equal else None
    message = (
        f"The filter is a {type(cast('object', given)).__name__} that only one store knows: "
        "give a Comparison or an Operation of langchain_core.structured_query, or a dict of "
        "metadata keys and the values that they must have."
    )
    raise ConfigurationError(message)


def _is_syntax(key: str, value: object) -> bool:
    return key.startswith("$") or isinstance(value, dict)


def predicate_of(directive: FilterDirective) -> Predicate:
    """Return what says whether a chunk passes a filter, as the wrapped store would.

    Args:
        directive: The filter.

    Returns:
        A function of a chunk as a search returns it.
    """
    passes: Any = directive.accept(InMemoryTranslator())

    def of_chunk(chunk: Document) -> bool:
        # Dates and times are texts in the wrapped store, and what is nested is not there.
        flat: dict[str, Any] = dict(projection(chunk.metadata))
        return bool(passes(document_of("", flat, None)))

    return of_chunk


def native_of(directive: FilterDirective, store: VectorStore) -> dict[str, Any]:
    """Return the arguments of a store's search that filter.

    Args:
        directive: The filter.
        store: The store.

    Raises:
        NoTranslatorError: There is no translator for the store.
    """
    query = StructuredQuery(query="", filter=directive, limit=None)
    _, arguments = translator_for(store).visit_structured_query(query)
    return dict(arguments)
