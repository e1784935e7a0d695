"""Stores that forward every call, and fail where their `FaultPlan` says."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    from langchain_rag.testing.faults import FaultPlan

__all__ = ["FaultyDocStore", "FaultyVectorStore"]


class FaultyDocStore(BaseStore[str, Any]):
    """A docstore that forwards to another, and fails as planned.

    Attributes:
        inner: The store that does the work. Reading it is never a fault.
        plan: The plan, which other stores may share.
    """

    def __init__(self, inner: BaseStore[str, Any], plan: FaultPlan) -> None:
        self.inner = inner
        self.plan = plan

    def __getattr__(self, name: str) -> Any:
        # A docstore with claims of its own keeps them.
        inner: Any = self.inner
        if name in {"claimed", "aclaimed"}:
            return getattr(inner, name)
        if name != "claim":
            raise AttributeError(name)
        return partial(_faulty_claim, inner.claim, self.plan)

    @override
    def mget(self, keys: Sequence[str]) -> list[Any]:
        self.plan.check()
        return self.inner.mget(keys)

    @override
    async def amget(self, keys: Sequence[str]) -> list[Any]:
        self.plan.check()
        return await self.inner.amget(keys)

    @override
    def mset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        keys = tuple(key for key, _ in key_value_pairs)
        ticket = self.plan.begin("mset", len(keys), keys)
        if ticket.rows != 0:
            self.inner.mset(key_value_pairs[: ticket.rows])
        self.plan.finish(ticket)

    @override
    async def amset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        keys = tuple(key for key, _ in key_value_pairs)
        ticket = self.plan.begin("mset", len(keys), keys)
        if ticket.rows != 0:
            await self.inner.amset(key_value_pairs[: ticket.rows])
        self.plan.finish(ticket)

    @override
    def mdelete(self, keys: Sequence[str]) -> None:
        ticket = self.plan.begin("mdelete", len(keys), tuple(keys))
        if ticket.rows != 0:
            self.inner.mdelete(keys[: ticket.rows])
        self.plan.finish(ticket)

    @override
    async def amdelete(self, keys: Sequence[str]) -> None:
        ticket = self.plan.begin("mdelete", len(keys), tuple(keys))
        if ticket.rows != 0:
            await self.inner.amdelete(keys[: ticket.rows])
        self.plan.finish(ticket)

    @override
    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        self.plan.check()
        yield from self.inner.yield_keys(prefix=prefix)

    @override
    async def ayield_keys(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, prefix: str | None = None
    ) -> AsyncIterator[str]:
        self.plan.check()
        # LangChain annotates it in a way that pyright takes for a coroutine.
        inner: Any = self.inner
        async for key in inner.ayield_keys(prefix=prefix):
            yield key


class _FaultyClaim(FaultyDocStore):
    """A claim that forwards to another, and whose writes fail as planned."""

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


def _faulty_claim(
    claim: Callable[[Mapping[str, str]], Any], plan: FaultPlan, documents: Mapping[str, str]
) -> _FaultyClaim:
    return _FaultyClaim(claim(documents), plan)


class FaultyVectorStore(VectorStore):
    """A vector store that forwards to another, and fails as planned.

    What this class does not name (`get` of Chroma, `store` of the in-memory one) is the
    inner store's own.

    Attributes:
        inner: The store that does the work. Reading it is never a fault.
        plan: The plan, which other stores may share.
    """

    def __init__(self, inner: VectorStore, plan: FaultPlan) -> None:
        self.inner = inner
        self.plan = plan

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # before __init__ (copy): no inner store to ask
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    @override
    def embeddings(self) -> Embeddings | None:
        return self.inner.embeddings

    @override
    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        ids = tuple(kwargs.get("ids") or ())
        ticket = self.plan.begin("add_documents", len(documents), ids)
        added: list[str] = []
        if ticket.rows != 0:
            part = _first(ticket.rows, kwargs)
            added = self.inner.add_documents(documents[: ticket.rows], **part)
        self.plan.finish(ticket)
        return added

    @override
    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        ids = tuple(kwargs.get("ids") or ())
        ticket = self.plan.begin("add_documents", len(documents), ids)
        added: list[str] = []
        if ticket.rows != 0:
            part = _first(ticket.rows, kwargs)
            added = await self.inner.aadd_documents(documents[: ticket.rows], **part)
        self.plan.finish(ticket)
        return added

    @override
    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        ticket = self.plan.begin("delete", len(ids or ()), tuple(ids or ()))
        done: bool | None = None
        if ticket.rows != 0:
            done = self.inner.delete(ids and ids[: ticket.rows], **kwargs)
        self.plan.finish(ticket)
        return done

    @override
    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        ticket = self.plan.begin("delete", len(ids or ()), tuple(ids or ()))
        done: bool | None = None
        if ticket.rows != 0:
            done = await self.inner.adelete(ids and ids[: ticket.rows], **kwargs)
        self.plan.finish(ticket)
        return done

    @override
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.plan.check()
        return self.inner.get_by_ids(ids)

    @override
    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.plan.check()
        return await self.inner.aget_by_ids(ids)

    @override
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        self.plan.check()
        return self.inner.similarity_search(query, k, **kwargs)

    @override
    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        self.plan.check()
        return await self.inner.asimilarity_search(query, k, **kwargs)

    @override
    def similarity_search_with_score(
        self, *args: Any, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        self.plan.check()
        return self.inner.similarity_search_with_score(*args, **kwargs)

    @override
    async def asimilarity_search_with_score(
        self, *args: Any, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        self.plan.check()
        return await self.inner.asimilarity_search_with_score(*args, **kwargs)

    @override
    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        self.plan.check()
        return self.inner._similarity_search_with_relevance_scores(query, k, **kwargs)  # noqa: SLF001

    @override
    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        self.plan.check()
        search = self.inner._asimilarity_search_with_relevance_scores  # noqa: SLF001
        return await search(query, k, **kwargs)

    @override
    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        self.plan.check()
        return self.inner.similarity_search_by_vector(embedding, k, **kwargs)

    @override
    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        self.plan.check()
        return await self.inner.asimilarity_search_by_vector(embedding, k, **kwargs)

    @override
    def max_marginal_relevance_search(
        self, query: str, *args: Any, **kwargs: Any
    ) -> list[Document]:
        self.plan.check()
        return self.inner.max_marginal_relevance_search(query, *args, **kwargs)

    @override
    async def amax_marginal_relevance_search(
        self, query: str, *args: Any, **kwargs: Any
    ) -> list[Document]:
        self.plan.check()
        return await self.inner.amax_marginal_relevance_search(query, *args, **kwargs)

    @override
    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], *args: Any, **kwargs: Any
    ) -> list[Document]:
        self.plan.check()
        search = self.inner.max_marginal_relevance_search_by_vector
        return search(embedding, *args, **kwargs)

    @override
    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], *args: Any, **kwargs: Any
    ) -> list[Document]:
        self.plan.check()
        search = self.inner.amax_marginal_relevance_search_by_vector
        return await search(embedding, *args, **kwargs)

    @classmethod
    @override
    def from_texts(cls, *args: Any, **kwargs: Any) -> FaultyVectorStore:
        msg = "Make the inner store first: FaultyVectorStore(inner, plan)."
        raise NotImplementedError(msg)


def _first(rows: int | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of `add_documents` for its first rows."""
    if rows is None or not kwargs.get("ids"):
        return kwargs
    return {**kwargs, "ids": kwargs["ids"][:rows]}
