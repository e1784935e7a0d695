"""Cutting what is many into calls that a store can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

MAX_RECORDS: Final = 5_000
"""Records in one call to a docstore, so that no call holds the texts of a whole corpus."""

BATCH_SIZE: Final = 100
"""Documents that go through each step together, unless a call says otherwise."""


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut into lists of at most `size` items (`itertools.batched` comes with Python 3.12)."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
