"""What a caller wants of a search beyond what the wrapped store's search is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from langchain_core.documents import Document

from langchain_rag._reserved import DOCUMENT, KIND
from langchain_rag.errors import ConfigurationError

Aggregation: TypeAlias = Literal["best", "rank_sum"]

OURS: Final = frozenset(
    {
        "kinds",
        "except_kinds",
        "within",
        "match_details",
        "return_documents",
        "aggregation",
    }
)
"""The options that never reach the wrapped store."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted.

    Attributes:
        kinds: Kinds of variation to search, None for all.
        except_kinds: Kinds of variation not to search.
        within: Ids of the documents to search, None for all.
        match_details: Whether each result is to say what found it.
        return_documents: Whether whole documents are wanted, rather than chunks.
        aggregation: Whether a chunk is placed by its best variation, or by all that are found.
    """

    kinds: frozenset[str] | None = None
    except_kinds: frozenset[str] = frozenset()
    within: frozenset[str] | None = None
    match_details: bool = False
    return_documents: bool = False
    aggregation: Aggregation = "best"

    @property
    def allowed(self) -> dict[str, list[str]]:
        """The values that metadata keys of a variation may have."""
        limits = {KIND: self.kinds, DOCUMENT: self.within}
        return {key: sorted(some) for key, some in limits.items() if some is not None}

    @property
    def nothing(self) -> bool:
        """Whether nothing can be what is wanted."""
        return any(not values for values in self.allowed.values())

    @property
    def of_kinds(self) -> bool:
        """Whether only some kinds of variation are to be searched."""
        return self.kinds is not None or bool(self.except_kinds)

    def has_kind(self, kinds: Collection[str]) -> bool:
        """Say whether a chunk has a variation of a kind that is to be searched.

        Args:
            kinds: Of its variations.
        """
        left = {kind for kind in kinds if kind not in self.except_kinds}
        return bool(left if self.kinds is None else left & self.kinds)

    def is_allowed(self, row: Document) -> bool:
        """Say whether a variation is one of those to search.

        Args:
            row: A row of the wrapped store.
        """
        kind = row.metadata.get(KIND)
        return (
            (self.kinds is None or kind in self.kinds)
            and kind not in self.except_kinds
            and (self.within is None or row.metadata.get(DOCUMENT) in self.within)
        )


def wanted_of(options: Mapping[str, Any]) -> tuple[Wanted, dict[str, Any]]:
    """Take out of a search's options what is for us.

    Args:
        options: Keyword arguments of a search.

    Returns:
        What is wanted, and the rest, which is for the wrapped store.

    Raises:
        ConfigurationError: An option has a value that it cannot have.

    Example:
        >>> wanted, rest = wanted_of({"kinds": "summary", "filter": {"page": 3}})
        >>> wanted.kinds, rest
        (frozenset({'summary'}), {'filter': {'page': 3}})
    """
    rest = {key: value for key, value in options.items() if key not in OURS}
    if len(rest) == len(options):
        return ALL, rest
    aggregation = options.get("aggregation", "best")
    if aggregation not in get_args(Aggregation):
        message = f"aggregation is {aggregation!r}; it must be one of {get_args(Aggregation)}."
        raise ConfigurationError(message)
    wanted = Wanted(
        _texts("kinds", options.get("kinds")),
        _texts("except_kinds", options.get("except_kinds")) or frozenset(),
        _texts("within", options.get("within")),
        bool(options.get("match_details", False)),
        bool(options.get("return_documents", False)),
        aggregation,
    )
    return wanted, rest


ALL: Final = Wanted()
"""What is wanted where nothing is said."""


def _texts(name: str, given: object) -> frozenset[str] | None:
    if given is None:
        return None
    if isinstance(given, str):
        return frozenset({given})
    if isinstance(given, Collection):
        values = cast("Collection[object]", given)
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) == len(values):
            return frozenset(texts)
    message = f"{name} is {given!r}; give a set of texts, or None for all."
    raise ConfigurationError(message)
