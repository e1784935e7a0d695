"""Reading the docstore when some of it may be damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from langchain_rag.errors import CorruptStoreError

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Corrupt:
    """What stands in place of a record that cannot be read.

    Attributes:
        why: What is wrong with it.
    """

    why: str


def parsed(read: Callable[[str, object], R], key: str, value: object) -> R | Corrupt | None:
    """Make a record of a value.

    Args:
        read: A method of `langchain_rag.lifecycle.records.Reader`, or the like.
        key: Where it stands.
        value: What the docstore gave.
    """
    if value is None:
        return None
    try:
        return read(key, value)
    except CorruptStoreError as error:
        return Corrupt(str(error))
