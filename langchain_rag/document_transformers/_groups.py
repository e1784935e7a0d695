"""Groups: lists of documents that stem from one document of the caller.

Groups are what flows through composed transformers, so that each result is known to belong
to one input: the order of the results, and what a member sees, then never depend on how
many documents are handed over at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeAlias

from langchain_core.documents import Document

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator

Group: TypeAlias = list[Document]


def groups_of(documents: Iterable[Document]) -> Iterator[Group]:
    """Make each document a group of its own.

    Args:
        documents: Documents of a caller, read as far as needed.

    Yields:
        One group for each document.
    """
    for document in documents:
        yield [document]


async def agroups_of(
    documents: Iterable[Document] | AsyncIterable[Document],
) -> AsyncGenerator[Group]:
    """Async form of `groups_of`, which reads either kind of iterable.

    Args:
        documents: Documents of a caller, read as far as needed.

    Yields:
        One group for each document.
    """
    if isinstance(documents, AsyncIterable):
        async for document in documents:
            yield [document]
    else:
        for document in documents:
            yield [document]


def flat(groups: Iterable[Group]) -> Group:
    """Return the documents of all groups.

    Args:
        groups: The groups.

    Returns:
        Their documents, in order.
    """
    return [document for group in groups for document in group]


def windows_of(groups: Iterable[Group], size: int) -> Iterator[list[Group]]:
    """Gather groups until they have enough documents. A group is never cut.

    Args:
        groups: The groups, read as far as needed.
        size: Documents in a window. It may have more, by what its last group brings.

    Yields:
        Windows, none of them empty.
    """
    window: list[Group] = []
    for group in groups:
        window.append(group)
        if _is_full(window, size):
            yield window
            window = []
    if window:
        yield window


async def awindows_of(groups: AsyncGenerator[Group], size: int) -> AsyncGenerator[list[Group]]:
    """Async form of `windows_of`.

    Args:
        groups: The groups, read as far as needed, and closed in the end.
        size: Documents in a window.

    Yields:
        Windows, none of them empty.
    """
    window: list[Group] = []
    async with aclosing(groups):
        async for group in groups:
            window.append(group)
            if _is_full(window, size):
                yield window
                window = []
    if window:
        yield window


def _is_full(window: list[Group], size: int) -> bool:
    # An empty group counts too: a stage that makes nothing must not hold up the stream.
    return sum(max(1, len(group)) for group in window) >= size
