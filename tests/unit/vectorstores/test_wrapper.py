"""Every method of the wrapper is the wrapped store's."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_rag.testing import CountingEmbeddings, Driver
from langchain_rag.vectorstores import WrapperVectorStore

DOCUMENTS = [Document("a")]
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "add_texts": ((["a"], [{"n": 1}]), {"ids": ["1"]}),
    "add_documents": ((DOCUMENTS,), {"ids": ["1"]}),
    "delete": ((["1"],), {"x": 1}),
    "get_by_ids": ((["1"],), {}),
    "search": (("q", "mmr"), {"x": 1}),
    "similarity_search": (("q", 3), {"x": 1}),
    "similarity_search_with_score": (("q", 3), {"x": 1}),
    "similarity_search_with_relevance_scores": (("q", 3), {"x": 1}),
    "similarity_search_by_vector": (([1.0], 3), {"x": 1}),
    "max_marginal_relevance_search": (("q", 3, 5, 0.1), {"x": 1}),
    "max_marginal_relevance_search_by_vector": (([1.0], 3, 5, 0.1), {"x": 1}),
}
# What LangChain makes of the methods above, and the constructors.
DERIVED = {"as_retriever", "from_texts", "afrom_texts", "from_documents", "afrom_documents"}


class Recording(InMemoryVectorStore):
    """Notes every call, and answers with a mark of it."""

    def __init__(self) -> None:
        super().__init__(CountingEmbeddings())
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattribute__(self, name: str) -> Any:
        plain = name.removeprefix("a") if name not in CALLS else name
        if plain not in CALLS or not (name == plain or name == f"a{plain}"):
            return super().__getattribute__(name)

        def sync(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args, kwargs))
            return f"answer of {name}"

        async def asynchronous(*args: Any, **kwargs: Any) -> Any:
            return sync(*args, **kwargs)

        return sync if name == plain else asynchronous


@pytest.mark.parametrize("method", CALLS)
async def test_a_call_is_handed_on(driver: Driver, method: str) -> None:
    store = Recording()
    args, kwargs = CALLS[method]
    answer = await driver(WrapperVectorStore(store), method, *args, **kwargs)
    name = method if driver.name == "sync" else f"a{method}"
    assert answer == f"answer of {name}"
    ((called, given, options),) = store.calls
    assert called == name
    assert (given, options) == (args, kwargs)


def test_no_public_method_is_forgotten() -> None:
    public = {
        name
        for name, _ in inspect.getmembers(VectorStore, callable)
        if not name.startswith("_")
    }
    assert {name for method in CALLS for name in (method, f"a{method}")} | DERIVED == public


def test_the_rest_is_the_wrapped_store_s() -> None:
    store = InMemoryVectorStore(CountingEmbeddings())
    wrapper = WrapperVectorStore(store)
    assert wrapper.vectorstore is store
    assert wrapper.embeddings is store.embeddings


def test_the_relevance_function_is_the_wrapped_store_s() -> None:
    class Halving(InMemoryVectorStore):
        def _select_relevance_score_fn(self) -> Any:
            return lambda score: score / 2

    assert (
        WrapperVectorStore(Halving(CountingEmbeddings()))._select_relevance_score_fn()(1) == 0.5
    )


async def test_a_real_store_behind_it(driver: Driver) -> None:
    wrapper = WrapperVectorStore(InMemoryVectorStore(CountingEmbeddings()))
    assert await driver(wrapper, "add_texts", ["a", "b"], ids=["1", "2"]) == ["1", "2"]
    assert [d.id for d in await driver(wrapper, "similarity_search", "b", k=1)] == ["2"]
    assert await driver(wrapper.as_retriever(search_kwargs={"k": 1}), "invoke", "a") == [
        Document("a", id="1")
    ]
    await driver(wrapper, "delete", ["1"])
    assert await driver(wrapper, "get_by_ids", ["1"]) == []


@pytest.mark.parametrize("method", ["from_texts", "from_documents"])
async def test_there_is_no_telling_what_to_wrap(driver: Driver, method: str) -> None:
    texts: list[Any] = ["a"] if method == "from_texts" else DOCUMENTS
    with pytest.raises(NotImplementedError, match=r"WrapperVectorStore\(vectorstore\)"):
        await driver(WrapperVectorStore, method, texts, CountingEmbeddings())
