"""Cases 12 (at the store), 18, 22 and 23: what LangChain's own parts expect of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter

from langchain_rag._reserved import RESERVED
from langchain_rag.document_transformers import (
    CopyDocumentTransformer,
    DocumentTransformerPipeline,
    DocumentTransformers,
    GenerateQuestionsTransformer,
    SummarizeTransformer,
)
from langchain_rag.testing import (
    AsyncOnlyVectorStore,
    CountingEmbeddings,
    Driver,
    ScriptedChatModel,
    ScriptedTransformer,
    SyncOnlyVectorStore,
    audit,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore


async def test_case_12_a_chunk_is_identical_whichever_variation_was_hit(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore
) -> None:
    rag = make(
        wrapped,
        source_id_key=None,
        parent_transformer=ScriptedTransformer(str.splitlines),
        chunk_transformer=ScriptedTransformer(str.split),
    )
    text = "alpha beta\ngamma delta"
    await driver(rag, "add_documents", [Document(text, metadata={"tags": ["x"]})], ids=["a"])
    (alpha,) = await driver(rag, "similarity_search", "alpha", k=1)
    for query in ("beta", "alpha beta"):
        assert await driver(rag, "similarity_search", query, k=1) == [alpha]
        assert await driver(rag, "max_marginal_relevance_search", query, k=1) == [alpha]
        ((scored, _),) = await driver(rag, "similarity_search_with_score", query, k=1)
        assert scored == alpha
    assert (await driver(rag, "get_by_ids", [alpha.id])) == [alpha]


async def test_case_18_aindex_over_a_store_with_only_sync_methods() -> None:
    wrapped = SyncOnlyVectorStore(CountingEmbeddings())
    rag, kwargs = RAGVectorStore.from_vs_in_memory(
        wrapped, chunk_transformer=ScriptedTransformer(str.split)
    )
    driver = Driver("async")
    pages = [Document(f"page number{n}", metadata={"source": "s"}) for n in range(3)]
    result = await driver.index(pages, cleanup="scoped_full", **kwargs)
    assert result["num_added"] == 3
    result = await driver.index(pages[:2], cleanup="scoped_full", **kwargs)
    assert (result["num_skipped"], result["num_deleted"]) == (2, 1)
    assert len(contents(rag).rows) == 4
    assert audit(rag) == []
    for method in (
        "similarity_search",
        "similarity_search_with_score",
        "max_marginal_relevance_search",
    ):
        assert len(await driver(rag, method, "page", k=5)) == 2


async def test_case_18_and_over_one_with_only_async_methods() -> None:
    rag, kwargs = RAGVectorStore.from_vs_in_memory(AsyncOnlyVectorStore(CountingEmbeddings()))
    driver = Driver("async")
    page = Document("page", metadata={"source": "s"})
    assert (await driver.index([page], cleanup="full", **kwargs))["num_added"] == 1
    assert len(await driver(rag, "similarity_search", "page")) == 1
    assert (await driver.index([], cleanup="full", **kwargs))["num_deleted"] == 1
    assert contents(rag) == ({}, {})


async def test_a_loader_that_fails_half_way_empties_nothing(driver: Driver) -> None:
    """One that swallows its failure, or finds nothing, empties the store: the docs say so."""
    rag, kwargs = RAGVectorStore.from_vs_in_memory(InMemoryVectorStore(CountingEmbeddings()))
    pages = [Document(f"page {n}", metadata={"source": f"{n}"}) for n in range(3)]
    await driver.index(pages, cleanup="full", **kwargs)

    def loader() -> Iterator[Document]:
        yield pages[0]
        raise OSError

    with pytest.raises(OSError):
        await driver.index(loader(), cleanup="full", batch_size=1, **kwargs)
    assert len(await driver(rag, "similarity_search", "page", k=5)) == 3
    assert audit(rag) == []
    assert (await driver.index(iter(()), cleanup="full", **kwargs))["num_deleted"] == 3
    assert await driver(rag, "similarity_search", "page", k=5) == []


class Recorder(BaseCallbackHandler):
    """Notes the tags and metadata of every model call."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], dict[str, Any]]] = []

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[Any],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.calls.append((tags or [], metadata or {}))


async def test_case_22_config_reaches_every_model_call(
    driver: Driver, make: Callable[..., RAGVectorStore]
) -> None:
    llm = ScriptedChatModel(answer=lambda prompt: "What is it, then?", delay=0.01)
    model_stages = DocumentTransformers(
        [
            CopyDocumentTransformer(),
            GenerateQuestionsTransformer.from_llm(llm),
            DocumentTransformerPipeline(
                [
                    CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0),
                    SummarizeTransformer.from_llm(llm),
                ]
            ),
        ]
    )
    rag = make(
        source_id_key=None,
        parent_transformer=RecursiveCharacterTextSplitter(
            separators=["\n"], chunk_size=12, chunk_overlap=0
        )
        | CopyDocumentTransformer(),
        chunk_transformer=model_stages,
        max_concurrency=2,
    )
    recorder = Recorder()
    config = {"callbacks": [recorder], "tags": ["import"], "metadata": {"job": 7}}
    before = dict(config)
    documents = [Document("alpha betas\ngamma delta")]
    await driver(rag, "add_documents", documents, ids=["a"], config=config)
    assert config == before
    # Two chunks; for each one call for questions and one for each of two words.
    assert len(recorder.calls) == llm.calls == 2 + 4
    assert all("import" in tags for tags, _ in recorder.calls)
    assert all(metadata["job"] == 7 for _, metadata in recorder.calls)
    assert llm.peak == 2
    # What a call says about concurrency beats the constructor.
    llm.reset()
    config = {**config, "max_concurrency": 1}
    await driver(rag, "add_documents", documents, ids=["b"], config=config)
    assert llm.peak == 1


@pytest.mark.parametrize(
    ("search_type", "search_kwargs"),
    [
        ("similarity", {"k": 2}),
        ("mmr", {"k": 2, "fetch_k": 5, "lambda_mult": 0.3}),
        ("similarity_score_threshold", {"k": 2, "score_threshold": 0.05}),
    ],
)
async def test_case_22_as_retriever_keeps_tags_and_defaults(
    driver: Driver,
    make: Callable[..., RAGVectorStore],
    wrapped: VectorStore,
    search_type: str,
    search_kwargs: dict[str, Any],
) -> None:
    rag = make(
        wrapped, source_id_key=None, search_type=search_type, search_kwargs=search_kwargs
    )
    await driver(rag, "add_texts", [f"text {n}" for n in range(4)])
    retriever = rag.as_retriever(tags=["mine"], metadata={"a": 1})
    assert retriever.search_type == search_type
    assert retriever.tags == ["mine"]
    assert "RAGVectorStore" in (rag.as_retriever().tags or [])
    assert retriever.metadata == {"a": 1}
    assert len(await driver(retriever, "invoke", "text")) == 2
    assert len(await driver(rag, "search", "text")) == 2
    # What is said when the retriever is made beats the constructor.
    three = rag.as_retriever(search_kwargs={"k": 3})
    assert len(await driver(three, "invoke", "text")) == 3
    # And so does what is said when it is called.
    assert len(await driver(three, "invoke", "text", k=1)) == 1


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "similarity_score_threshold"])
async def test_case_22_defaults_for_several_search_types(
    driver: Driver, make: Callable[..., RAGVectorStore], wrapped: VectorStore, search_type: str
) -> None:
    """Each search takes what is for it of the constructor's, and leaves the rest."""
    defaults = {"k": 2, "fetch_k": 5, "lambda_mult": 0.3, "score_threshold": 0.05}
    rag = make(wrapped, source_id_key=None, search_kwargs=defaults)
    await driver(rag, "add_texts", [f"text {n}" for n in range(4)])
    assert len(await driver(rag, "search", "text", search_type=search_type)) == 2
    retriever = rag.as_retriever(search_type=search_type)
    assert len(await driver(retriever, "invoke", "text")) == 2


def both_stages() -> dict[str, Any]:
    return {
        "source_id_key": None,
        "parent_transformer": ScriptedTransformer(str.splitlines),
        "chunk_transformer": ScriptedTransformer(str.split),
    }


WAYS = ["add_texts", "add_documents", "from_texts", "from_documents", "index"]


@pytest.mark.parametrize("way", WAYS)
async def test_case_23_everything_goes_through_both_transformers(
    driver: Driver, embeddings: CountingEmbeddings, wrapped: VectorStore, way: str
) -> None:
    text, metadata = "alpha beta\ngamma delta", {"source": "s", "tags": ["x"]}
    document = Document(text, metadata=metadata)
    options = both_stages()
    rag: RAGVectorStore
    if way == "index":
        rag, kwargs = RAGVectorStore.from_vs_in_memory(
            wrapped, **{**options, "source_id_key": "source"}
        )
        await driver.index([document], cleanup="scoped_full", **kwargs)
    elif way == "from_texts":
        rag = await driver(
            RAGVectorStore, way, [text], embeddings, [metadata], vectorstore=wrapped, **options
        )
    elif way == "from_documents":
        rag = await driver(
            RAGVectorStore, way, [document], embeddings, vectorstore=wrapped, **options
        )
    else:
        rag = RAGVectorStore(vectorstore=wrapped, docstore=InMemoryStore(), **options)
        if way == "add_texts":
            await driver(rag, way, [text], [metadata])
        else:
            await driver(rag, way, [document])
    rows = contents(rag).rows.values()
    assert sorted(row.page_content for row in rows) == ["alpha", "beta", "delta", "gamma"]
    for found in (
        await driver(rag, "similarity_search", "alpha"),
        [d for d, _ in await driver(rag, "similarity_search_with_score", "alpha")],
        await driver(rag, "max_marginal_relevance_search", "alpha"),
        await driver(rag.as_retriever(), "invoke", "alpha"),
    ):
        assert sorted(d.page_content for d in found) == ["alpha beta", "gamma delta"]
        assert all(d.metadata == metadata for d in found)
        assert all(RESERVED.isdisjoint(d.metadata) for d in found)


async def test_case_23_from_texts_alone(driver: Driver, embeddings: CountingEmbeddings) -> None:
    rag = await driver(RAGVectorStore, "from_texts", ["a", "b"], embeddings, ids=["1", "2"])
    assert [d.id for d in await driver(rag, "get_by_ids", ["2", "1"])] == ["2", "1"]
    assert rag.embeddings is embeddings
