"""Reading documents from whatever the caller has, a batch at a time."""

from __future__ import annotations

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Iterable,
    Iterator,
    Sized,
)
from itertools import islice
from typing import Any, TypeAlias, cast

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_rag._flow import Flow, call_here
from langchain_rag.errors import ConfigurationError

Documents: TypeAlias = Iterable[Document] | AsyncIterable[Document] | BaseLoader
"""What can be indexed."""


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

    def next(self, size: int) -> Flow[list[Document]]:
        """Read the next documents.

        Args:
            size: How many at most.

        Returns:
            The documents, none after the last one.

        Raises:
            Exception: What the loader raised, after the documents that came before it.
        """
        return call_here(self._next, self._anext, size)

    def close(self) -> Flow[None]:
        """End what was begun: a generator's `finally` runs now, and not some time later."""
        return call_here(self._close, self._aclose)

    def _close(self) -> None:
        close: Any = getattr(self._iterator, "close", None)
        if close is not None:
            close()

    async def _aclose(self) -> None:
        aclose: Any = getattr(self._aiterator, "aclose", None)
        if aclose is not None:
            await aclose()
        self._close()

    def _next(self, size: int) -> list[Document]:
        if self._failure is not None:
            raise self._failure
        if self._iterator is None:
            self._iterator = self._begin()
        batch: list[Document] = []
        try:
            batch.extend(islice(self._iterator, size))
        except Exception as error:
            if not batch:
                raise
            self._failure = error
        return batch

    async def _anext(self, size: int) -> list[Document]:
        if self._failure is not None:
            raise self._failure
        if isinstance(self._documents, BaseLoader):
            # LangChain declares an async generator in a way that type checkers misread.
            lazy: Any = self._documents.alazy_load()
            self._documents = lazy
        if not isinstance(self._documents, AsyncIterable):
            return self._next(size)
        if self._aiterator is None:
            self._aiterator = aiter(self._documents)
        batch: list[Document] = []
        try:
            async for document in self._aiterator:
                batch.append(document)
                if len(batch) >= size:
                    break
        except Exception as error:
            if not batch:
                raise
            self._failure = error
        return batch

    def _begin(self) -> Iterator[Document]:
        documents = self._documents
        if isinstance(documents, BaseLoader):
            return iter(documents.lazy_load())
        if isinstance(documents, Iterable):
            return iter(documents)
        message = "docs is asynchronous: await aindex() in place of index()."
        raise ConfigurationError(message)
