"""What a cache asks of the codec of its values; no I/O.

What a cache holds may have been cut off, edited, or written by something else. It is checked
on the way out as on the way in, and what is wrong counts as missing: the worst that a cache
may cost is a call of the model.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_rag.caches.figures import Figures

K = TypeVar("K")
"""What a value is looked up by."""

E = TypeVar("E")
"""Elements of a value, which is a list."""

S = TypeVar("S")
"""Statistics."""

END_OF_TIME: Final = 1e11
"""In seconds since 1970. A stored time beyond it, or before 1970, is damaged."""

UNSTORABLE: Final = re.compile("[\ud800-\udfff\x00]")
"""What no store takes in a text: lone surrogates and NUL characters."""


class Cached(NamedTuple, Generic[E]):
    """What one value of a `ByteStore` holds.

    Attributes:
        label: What values are purged and counted by.
        created_at: When it was written, in seconds since 1970.
        value: What is kept.
    """

    label: str
    created_at: float
    value: list[E]


class Codec(ABC, Generic[K, E, S]):
    """Turns keys into names, and values into what a store takes, and back.

    Attributes:
        folder: What keys in a byte store begin with.
        pattern: A regular expression of all names.
        noun: What a value is called.
        remedy: What is done about one that cannot be read.
    """

    folder: ClassVar[str]
    pattern: ClassVar[str]
    noun: ClassVar[str]
    remedy: ClassVar[str]

    @abstractmethod
    def name_of(self, key: K) -> str:
        """Return the name under which a value is kept.

        Args:
            key: Its key.
        """

    @abstractmethod
    def label_of(self, key: K) -> str:
        """Return what a value is purged and counted by.

        Args:
            key: Its key.
        """

    @abstractmethod
    def size_of(self, value: Sequence[E], stored: str | bytes) -> int:
        """Return what the statistics sum up.

        Args:
            value: The value.
            stored: What a store holds of it.
        """

    @abstractmethod
    def to_column(self, name: str, key: K, value: Sequence[E]) -> str | bytes:
        """Return a value for a row, whose columns hold what else there is to know.

        Args:
            name: Its name.
            key: Its key.
            value: The value.

        Raises:
            ValueError: If it cannot be kept.
        """

    @abstractmethod
    def from_column(self, name: str, stored: object) -> list[E]:
        """Read a value of a row.

        Args:
            name: Its name.
            stored: Whatever the database gave back.

        Raises:
            ValueError: If it is not what `to_column` made.
        """

    @abstractmethod
    def to_bytes(self, name: str, key: K, value: Sequence[E], created_at: float) -> bytes:
        """Return a value for a `ByteStore`, which holds all that there is to know.

        Args:
            name: Its name.
            key: Its key.
            value: The value.
            created_at: The time, in seconds since 1970.

        Raises:
            ValueError: If it cannot be kept.
        """

    @abstractmethod
    def from_bytes(self, name: str, stored: object) -> Cached[E]:
        """Read a value of a `ByteStore`.

        Args:
            name: Its name.
            stored: Whatever the store gave back.

        Raises:
            ValueError: If it is not what `to_bytes` made.
        """

    @abstractmethod
    def log_refused(self, faults: Sequence[tuple[K, ValueError]], of: int) -> None:
        """Say what cannot be kept.

        Args:
            faults: At least one key, and what is wrong with its value.
            of: How many values were to be kept.
        """

    @abstractmethod
    def statistics(self, figures: Figures) -> S:
        """Return what the statistics say.

        Args:
            figures: What was counted.
        """
