"""What the retrievers over a `RAGVectorStore` have in common."""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final, Self

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from langchain_rag._flow import Flow
from langchain_rag._flow.together import arun_together, run_together
from langchain_rag.errors import ConfigurationError
from langchain_rag.search.access import queries_of
from langchain_rag.search.queries import Queries

if TYPE_CHECKING:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )

logger = logging.getLogger(__name__)

_LIMIT: Final = 4
"""Counted operations of one retrieval that may be under way; no config reaches it."""


class RAGRetriever(BaseRetriever):
    """Base of the retrievers over a `RAGVectorStore`.

    A subclass writes one flow, `_found`, for sync and async.

    Attributes:
        vectorstore: The store.
        k: Documents wanted.
        search_kwargs: Further arguments of the store's searches: `filter`, `kinds`,
            `match_details`, ...; laid over the store's own.
        fallback: Whether plain search answers where this way of retrieving fails, with a
            warning in the log. An argument that cannot work is an error in any case.
    """

    vectorstore: VectorStore
    k: int = 4
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    fallback: bool = True

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @model_validator(mode="after")
    def _check_store(self) -> Self:
        queries_of(self.vectorstore)
        return self

    @property
    def _queries(self) -> Queries:
        return queries_of(self.vectorstore)

    @abstractmethod
    def _found(self, query: str, k: int, options: dict[str, Any]) -> Flow[list[Document]]:
        """Find documents.

        Args:
            query: A text.
            k: Documents wanted, at least 1.
            options: Arguments of the store's searches.

        Returns:
            The documents, best first.
        """

    def _answer(self, query: str, k: int | None, given: dict[str, Any]) -> Flow[list[Document]]:
        options = {**self._queries.defaults, **self.search_kwargs, **given}
        wanted = options.pop("k", self.k) if k is None else k
        if wanted <= 0:
            return []
        try:
            return (yield from self._found(query, wanted, options))
        except (ConfigurationError, TypeError):
            raise  # an argument that no search takes; plain search would not, either
        except Exception as error:
            if not self.fallback:
                raise
            logger.warning(
                "%s failed (%s: %s); plain search answers instead.",
                type(self).__name__,
                type(error).__name__,
                error,
            )
        return (yield from self._queries.similarity(query, wanted, options))

    @override
    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        return run_together(self._answer(query, k, kwargs), _LIMIT)

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        return await arun_together(self._answer(query, k, kwargs), _LIMIT)
