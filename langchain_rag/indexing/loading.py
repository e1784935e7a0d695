"""Reading documents from whatever the caller has, a batch at a time."""

from __future__ import annotations

import time
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Sized,
)
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_rag._flow import Flow, call_as
from langchain_rag.errors import ConfigurationError

T = TypeVar("T")

Documents: TypeAlias = Iterable[Document] | AsyncIterable[Document] | BaseLoader
"""What can be indexed."""


_PATIENCE: Final = 0.02
"""Seconds of reading after which others of the same thread get a turn: answers of models that
have arrived meanwhile are kept, and the next calls begun."""


@dataclass(slots=True)
class _Part(Generic[T]):
    """What was read at a stretch."""

    read: int = 0
    taken: list[T] = field(default_factory=list[T])
    ended: bool = False
    failure: Exception | None = None


class Loading:
    """Reads documents as they are needed, and holds no more than a batch.

    Args:
        documents: A list, a generator, an asynchronous generator, a loader.

    Attributes:
        total: How many there are, None where nobody knows.

    Raises:
        ConfigurationError: It is none of these.
    """

    def __init__(self, documents: Documents) -> None:
        kinds = (BaseLoader, Iterable, AsyncIterable)
        given = cast("object", documents)
        if not isinstance(given, kinds) or isinstance(given, str | bytes | Document):
            message = (
                f"docs is a {type(given).__name__}; give Documents, as a list, a generator "
                "or a loader."
            )
            raise ConfigurationError(message)
        self.total = len(given) if isinstance(given, Sized) else None
        self._documents: Documents = documents
        self._iterator: Iterator[Document] | None = None
        self._aiterator: AsyncIterator[Document] | None = None
        self._failure: Exception | None = None

    def next(self, size: int, take: Callable[[Document], Iterable[T]]) -> Flow[list[T] | None]:
        """Read the next documents.

        Args:
            size: How many at most.
            take: Makes of a document what is kept of it, at once: the caller may change it
                as soon as the next one is asked for.

        Returns:
            What was made of them; None after the last one.

        Raises:
            Exception: What the loader raised, after the documents that came before it.
        """
        if self._failure is not None:
            raise self._failure
        taken: list[T] = []
        left = size
        while left > 0:
            flow: Flow[_Part[T]] = call_as("here", self._next, self._anext, left, take)
            part = yield from flow
            taken += part.taken
            left -= part.read
            if part.failure is not None:
                if left == size:
                    raise part.failure
                self._failure = part.failure
                break
            if part.ended:
                break
        return None if left == size else taken

    def close(self) -> Flow[None]:
        """End what was begun: a generator's `finally` runs now, and not some time later."""
        return call_as("here", self._close, self._aclose)

    def _close(self) -> None:
        close: Any = getattr(self._iterator, "close", None)
        if close is not None:
            close()

    async def _aclose(self) -> None:
        aclose: Any = getattr(self._aiterator, "aclose", None)
        if aclose is not None:
            await aclose()
        self._close()

    def _next(self, size: int, take: Callable[[Document], Iterable[T]]) -> _Part[T]:
        if self._iterator is None:
            self._iterator = self._begin()
        part = _Part[T]()
        until = time.monotonic() + _PATIENCE
        while part.read < size and time.monotonic() <= until:
            try:
                document = next(self._iterator)
            except StopIteration:
                part.ended = True
                break
            except Exception as error:  # noqa: BLE001 - it is raised in its turn
                part.failure = error
                break
            part.read += 1
            part.taken.extend(take(document))
        return part

    async def _anext(self, size: int, take: Callable[[Document], Iterable[T]]) -> _Part[T]:
        if isinstance(self._documents, BaseLoader):
            # LangChain declares an async generator in a way that type checkers misread.
            lazy: Any = self._documents.alazy_load()
            self._documents = lazy
        if not isinstance(self._documents, AsyncIterable):
            return self._next(size, take)
        if self._aiterator is None:
            self._aiterator = aiter(self._documents)
        part = _Part[T]()
        while part.read < size:
            try:
                document = await anext(self._aiterator)
            except StopAsyncIteration:
                part.ended = True
                break
            except Exception as error:  # noqa: BLE001 - it is raised in its turn
                part.failure = error
                break
            part.read += 1
            part.taken.extend(take(document))
        return part

    def _begin(self) -> Iterator[Document]:
        documents = self._documents
        if isinstance(documents, BaseLoader):
            return iter(documents.lazy_load())
        if isinstance(documents, Iterable):
            return iter(documents)
        message = "docs is asynchronous: await aindex() in place of index()."
        raise ConfigurationError(message)
