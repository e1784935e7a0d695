"""Stores, callers and transformers that do what nobody expects, and lose nothing by it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_rag import (
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
    LazyDocumentTransformer,
    RAGVectorStore,
    SummarizeTransformer,
)
from langchain_rag.errors import (
    ConcurrentWriteError,
    ConfigurationError,
    InvalidDocumentError,
    TransformerError,
)
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    ScriptedChatModel,
    audit,
    contents,
    reachable,
)


def made(**kwargs: Any) -> RAGVectorStore:
    parts = {
        "vectorstore": InMemoryVectorStore(CountingEmbeddings()),
        "docstore": InMemoryStore(),
        "source_id_key": None,
    }
    return RAGVectorStore(**(parts | kwargs))


class SlowCommit(InMemoryStore):
    """Its async methods are its sync ones in a thread, and the first commit takes long."""

    slow = True

    def mset(self, key_value_pairs: Any) -> None:
        if self.slow and any(key.startswith("manifests") for key, _ in key_value_pairs):
            self.slow = False
            time.sleep(0.3)
        super().mset(key_value_pairs)

    async def amset(self, key_value_pairs: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.mset, key_value_pairs)


@pytest.mark.parametrize("then", ["again", "deleted"])
async def test_a_cancelled_write_in_a_thread_overtakes_nothing(then: str) -> None:
    rag = made(docstore=SlowCommit())
    important = [Document("important")]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(rag.aadd_documents(important, ids=["d"]), 0.05)
    await rag.aadd_documents([Document("other")], ids=["o"])
    await asyncio.sleep(0.4)
    if then == "again":
        await rag.aadd_documents(important, ids=["d"])
        assert {row[0] for row in reachable(rag)} == {"d", "o"}
    else:
        await rag.adelete(["d"])
        assert {row[0] for row in reachable(rag)} == {"o"}
    assert audit(rag) == []


def test_two_instances_on_one_database_write_one_document(tmp_path: Any) -> None:
    meeting = threading.Barrier(2)

    class Meeting(LazyDocumentTransformer):
        version = "1"

        def transform_document(self, document: Document) -> Iterator[Document]:
            meeting.wait(0.5)
            yield document

    wrapped = InMemoryVectorStore(CountingEmbeddings())
    url = f"sqlite:///{tmp_path}/rag.db"
    both = [
        RAGVectorStore.from_vs_in_sql(
            wrapped, db_url=url, source_id_key=None, parent_transformer=Meeting()
        )[0]
        for _ in range(2)
    ]
    errors: list[type[BaseException]] = []

    def write(rag: RAGVectorStore, text: str) -> None:
        try:
            rag.add_documents([Document(text)], ids=["d"])
        except (ConcurrentWriteError, TransformerError) as error:
            errors.append(type(error))

    threads = [
        threading.Thread(target=write, args=pair)
        for pair in zip(both, ["alpha", "beta"], strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # The one that was let in met nobody at the barrier, which broke; nothing is mixed.
    assert ConcurrentWriteError in errors
    meeting.reset()
    meeting = threading.Barrier(1)
    both[1].add_documents([Document("beta")], ids=["d"])
    assert {row[:2] for row in reachable(both[0])} == {("d", "beta")}
    assert audit(both[0]) == []
    for rag in both:
        rag.docstore.engine.dispose()  # type: ignore[attr-defined]


class FaissLike(InMemoryVectorStore):
    """Refuses to delete what is not there, as FAISS does."""

    bad = False

    def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> list[str]:
        if self.bad:
            self.bad = False
            raise RuntimeError("the embedding service is down")
        return super().add_documents(documents, ids=ids, **kwargs)

    async def aadd_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> list[str]:
        return self.add_documents(documents, ids=ids, **kwargs)

    def delete(self, ids: Any = None, **kwargs: Any) -> None:
        if set(ids) - set(self.store):
            raise ValueError("Some specified ids do not exist")
        super().delete(ids, **kwargs)

    async def adelete(self, ids: Any = None, **kwargs: Any) -> None:
        self.delete(ids, **kwargs)


async def test_a_store_that_refuses_to_delete_what_is_not_there(driver: Driver) -> None:
    wrapped = FaissLike(CountingEmbeddings())
    rag = made(vectorstore=wrapped)
    wrapped.bad = True
    with pytest.raises(RuntimeError, match="is down") as caught:
        await driver(rag, "add_documents", [Document("text")], ids=["my-doc"])
    assert "'my-doc'" in caught.value.__notes__[0]
    assert contents(rag) == ({}, {})
    await driver(rag, "add_documents", [Document("text")], ids=["my-doc"])
    wrapped.store.clear()
    await driver(rag, "delete", ["my-doc"])
    assert contents(rag) == ({}, {})


class Titled(LazyDocumentTransformer):
    version = "1"

    def transform_document(self, document: Document) -> Iterator[Document]:
        title = document.metadata["title"]
        yield Document(f"{title}: {document.page_content}", metadata=document.metadata)


def _titled_input(document: Document) -> dict[str, Any]:
    return {"context": document.page_content, "title": document.metadata["title"]}


@pytest.mark.parametrize("how", ["ours", "llm", "in a sum", "in a pipeline"])
async def test_variations_that_read_the_metadata_follow_it(driver: Driver, how: str) -> None:
    llm = ScriptedChatModel(answer=lambda prompt: f"Summary: about {prompt}")
    transformer = {
        "ours": Titled(),
        "llm": SummarizeTransformer.from_llm(
            llm, "{title} {context}", get_input=_titled_input, version="1"
        ),
        "in a sum": CopyDocumentTransformer() + Titled(),
        "in a pipeline": Titled() | CharacterTextSplitter(),
    }[how]
    rag = made(chunk_transformer=transformer)
    for title in ("Old", "New"):
        document = Document("body", metadata={"title": title})
        await driver(rag, "add_documents", [document], ids=["d"])
    texts = [row.page_content for row in contents(rag).rows.values()]
    assert any("New" in text for text in texts)
    assert not any("Old" in text for text in texts)
    assert audit(rag) == []


async def test_a_chunk_cannot_be_deleted_on_its_own(driver: Driver) -> None:
    splitter = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    rag = made(parent_transformer=splitter)
    await driver(rag, "add_documents", [Document("alpha betas")], ids=["my-doc"])
    (hit,) = await driver(rag, "similarity_search", "alpha", k=1)
    with pytest.raises(InvalidDocumentError, match="chunk of document 'my-doc'"):
        await driver(rag, "delete", [hit.id])
    assert len(await driver(rag, "get_by_ids", ["my-doc"])) == 2


async def test_errors_of_a_chunk_name_its_document(driver: Driver) -> None:
    class Boom(LazyDocumentTransformer):
        def transform_document(self, document: Document) -> Iterator[Document]:
            raise ValueError(document.page_content)

    silent = GenerateQuestionsTransformer.from_llm(ScriptedChatModel(answer=lambda _: " "))
    for transformer in (Boom(), silent):
        rag = made(chunk_transformer=transformer)
        with pytest.raises(TransformerError, match="my-doc"):
            await driver(rag, "add_documents", [Document("text")], ids=["my-doc"])


@pytest.mark.parametrize("odd", [{"transformer": 5}, {"langchain_rag_kind": ("a",)}])
async def test_a_transformer_that_uses_our_keys_for_something_else(
    driver: Driver, odd: dict[str, Any]
) -> None:
    class Odd(LazyDocumentTransformer):
        def transform_document(self, document: Document) -> Iterator[Document]:
            yield document

        def transform_documents(self, documents: Any, **kwargs: Any) -> list[Document]:
            return [Document(d.page_content, metadata=d.metadata | odd) for d in documents]

        async def atransform_documents(self, documents: Any, **kwargs: Any) -> list[Document]:
            return self.transform_documents(documents)

    rag = made(chunk_transformer=Odd())
    await driver(rag, "add_documents", [Document("text")], ids=["d"])
    assert audit(rag) == []


async def test_a_store_of_ours_is_not_wrapped_again() -> None:
    with pytest.raises(ConfigurationError, match="Wrap the store that it wraps"):
        made(vectorstore=made())


async def test_odd_numbers_and_ids(driver: Driver) -> None:
    import numpy as np

    rag = made(search_kwargs={"k": np.int64(2)})
    await driver(rag, "add_texts", ["a", "b", "c"], [{}, None, {}])
    assert len(await driver(rag, "similarity_search", "a")) == 2
    assert len(await driver(rag, "similarity_search", "a", k=np.int32(3))) == 3
    assert len(await driver(rag, "similarity_search", "a", k=2**40)) == 3
    with pytest.raises(TypeError):
        await driver(rag, "similarity_search", "a", k=3.5)
    with pytest.raises(InvalidDocumentError, match="3"):
        await driver(rag, "get_by_ids", [3])
    ids = (str(n) for n in range(2))
    assert await driver(rag, "add_texts", ["x", "y"], ids=ids) == ["0", "1"]


@pytest.mark.parametrize("gives", [Document("one"), "text", None, ["text"]])
async def test_a_method_that_gives_no_documents(driver: Driver, gives: Any) -> None:
    class Odd(LazyDocumentTransformer):
        def transform_document(self, document: Document) -> Any:
            return gives

    with pytest.raises(TransformerError, match=r"transform_document \w+ a \w+.*'my-doc"):
        await driver(Odd(), "transform_documents", [Document("text", id="my-doc")])


def test_the_repr_names_the_parts_and_no_secrets() -> None:
    rag = made(chunk_transformer=CopyDocumentTransformer(), namespace="n")
    assert repr(rag) == (
        "RAGVectorStore(vectorstore=InMemoryVectorStore, docstore=InMemoryStore, "
        "parent_transformer=NoneType, chunk_transformer=CopyDocumentTransformer, namespace='n')"
    )


def test_a_name_is_no_model() -> None:
    name: Any = "openai:gpt"
    with pytest.raises(ConfigurationError, match="llm is a str"):
        SummarizeTransformer.from_llm(name)
