"""An answer of a model is paid for once, whatever happens after it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.storage import LocalFileStore
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_rag import RAGVectorStore
from langchain_rag.document_transformers import (
    ByteStoreVariationCache,
    CopyDocumentTransformer,
    GenerateQuestionsTransformer,
    SummarizeTransformer,
)
from langchain_rag.errors import ConfigurationError, TransformerError
from langchain_rag.storage import SQLVariationCache, create_engine
from langchain_rag.testing import (
    CountingEmbeddings,
    Driver,
    InjectedCrash,
    InjectedFault,
    ScriptedChatModel,
)

TEXT = "\n\n".join(f"this is paragraph {n:02}" for n in range(10))


@pytest.fixture(params=["sqlite", "files", "memory"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "sqlite":
        engine: Any = create_engine(f"sqlite:///{tmp_path / 'rag.db'}")
        yield SQLVariationCache(engine)
        engine.dispose()
    elif request.param == "files":
        yield ByteStoreVariationCache(LocalFileStore(tmp_path / "answers"))
    else:
        yield ByteStoreVariationCache(InMemoryByteStore())


def model(fail_when: Callable[[str], bool] | None = None) -> ScriptedChatModel:
    return ScriptedChatModel(
        answer=lambda prompt: f"What of {prompt.splitlines()[0]}?", fail_when=fail_when
    )


def store(llm: ScriptedChatModel, cache: Any, version: str = "1", **options: Any) -> Any:
    questions = GenerateQuestionsTransformer.from_llm(llm, version=version)
    summaries = SummarizeTransformer.from_llm(llm, version=version)
    return RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=InMemoryStore(),
        source_id_key=None,
        parent_transformer=RecursiveCharacterTextSplitter(
            separators=["\n\n"], chunk_size=25, chunk_overlap=0
        ),
        chunk_transformer=questions + summaries + CopyDocumentTransformer(),
        variation_cache=cache,
        **options,
    )


def variations(rag: Any) -> list[str]:
    return sorted(row["text"] for row in rag.vectorstore.store.values())


async def test_what_was_answered_is_not_asked_again(driver: Driver, cache: Any) -> None:
    llm = model()
    first = store(llm, cache)
    await driver(first, "add_texts", [TEXT], ids=["a"])
    assert llm.calls == 20
    # Another store that has lost everything, and the same texts under another id.
    second = store(llm, cache)
    await driver(second, "add_texts", [TEXT], ids=["b"])
    assert llm.calls == 20
    assert variations(second) == variations(first)
    stats = await driver(cache, "stats")
    assert stats.entries == 20
    assert stats.hits == 20
    # One paragraph changed: its two answers.
    await driver(second, "add_texts", [TEXT.replace("paragraph 03", "something")], ids=["c"])
    assert llm.calls == 22


async def test_answers_beside_one_that_failed_are_kept(driver: Driver, cache: Any) -> None:
    broken = True
    llm = model(
        fail_when=lambda prompt: broken and "paragraph 09" in prompt and "question" in prompt
    )
    rag = store(llm, cache, max_concurrency=1)
    with pytest.raises(TransformerError, match="InjectedFault"):
        await driver(rag, "add_texts", [TEXT], ids=["a"])
    paid = llm.calls
    assert 9 <= paid <= 20
    assert variations(rag) == []
    broken = False
    await driver(rag, "add_texts", [TEXT], ids=["a"])
    # The one that failed was never kept; all that had an answer were.
    assert llm.calls == 20 + 1
    assert len(variations(rag)) == 30


async def test_a_process_that_dies_loses_only_what_was_in_flight(
    driver: Driver, cache: Any
) -> None:
    answers = itertools.count(1)

    def dies(prompt: str) -> str:
        if next(answers) == 7:
            if driver.name == "sync":
                raise InjectedCrash
            task.cancel()  # LangChain takes what else an async call raises for an answer
        return f"What of {prompt.splitlines()[0]}?"

    llm = ScriptedChatModel(answer=dies)
    rag = store(llm, cache, max_concurrency=2)
    task = asyncio.ensure_future(driver(rag, "add_texts", [TEXT], ids=["a"]))
    with pytest.raises((InjectedCrash, asyncio.CancelledError)):
        await task
    assert (await driver(cache, "stats")).entries >= 5
    paid = llm.calls
    llm = model()
    await driver(store(llm, cache), "add_texts", [TEXT], ids=["a"])
    assert paid + llm.calls <= 20 + 2


async def test_an_unusable_answer_is_not_kept(driver: Driver, cache: Any) -> None:
    usable = False
    llm = ScriptedChatModel(answer=lambda prompt: "What is it?" if usable else "  ")
    rag = store(llm, cache)
    with pytest.raises(TransformerError, match="nothing usable"):
        await driver(rag, "add_texts", ["a text"], ids=["a"])
    assert (await driver(cache, "stats")).entries == 0
    usable = True
    asked = llm.calls
    await driver(rag, "add_texts", ["a text"], ids=["a"])
    assert llm.calls == asked + 2


async def test_force_asks_again_and_keeps_the_new_answers(driver: Driver, cache: Any) -> None:
    llm = model()
    rag = store(llm, cache)
    await driver(rag, "add_texts", ["a text"], ids=["a"])
    await driver(rag, "add_texts", ["a text"], ids=["a"], force=True)
    assert llm.calls == 4
    await driver(store(llm, cache), "add_texts", ["a text"], ids=["a"])
    assert llm.calls == 4


async def test_another_version_or_model_asks_again(driver: Driver, cache: Any) -> None:
    llm = model()
    await driver(store(llm, cache), "add_texts", ["a text"], ids=["a"])
    await driver(store(llm, cache, version="2"), "add_texts", ["a text"], ids=["a"])
    assert llm.calls == 4
    assert await driver(cache, "purge", transformer="SummarizeTransformer") == 2
    await driver(store(llm, cache), "add_texts", ["a text"], ids=["a"])
    assert llm.calls == 5


class Broken(ByteStoreVariationCache):
    """Fails in every way."""

    def mget(self, keys: Any) -> Any:
        raise InjectedFault

    async def amget(self, keys: Any) -> Any:
        raise InjectedFault

    def mset(self, pairs: Any) -> Any:
        raise InjectedFault

    async def amset(self, pairs: Any) -> Any:
        raise InjectedFault


async def test_a_cache_that_fails_does_not_fail_the_import(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    llm = model()
    rag = store(llm, Broken(InMemoryByteStore()))
    assert await driver(rag, "add_texts", ["a text"], ids=["a"]) == ["a"]
    assert llm.calls == 2
    assert "could not be read" in caplog.text
    assert "could not be kept" in caplog.text


class Pairs(ByteStoreVariationCache):
    """Gives back what any JSON does, which has no named tuples."""

    def mget(self, keys: Any) -> Any:
        found = super().mget(keys)
        return [pieces and [list(piece) for piece in pieces] for pieces in found]

    async def amget(self, keys: Any) -> Any:
        return self.mget(keys)


async def test_a_cache_may_give_back_pairs(driver: Driver) -> None:
    cache, llm = Pairs(InMemoryByteStore()), model()
    first, second = store(llm, cache), store(llm, cache)
    for rag in (first, second):
        await driver(rag, "add_documents", [Document("one")], ids=["1"])
    assert llm.calls == 2
    assert variations(second) == variations(first)


async def test_the_cache_is_hidden_from_the_model(driver: Driver, cache: Any) -> None:
    seen: list[dict[str, Any]] = []

    class Spy(BaseCallbackHandler):
        def on_chat_model_start(self, *_: Any, metadata: Any = None, **__: Any) -> None:
            seen.append(dict(metadata))

    rag = store(model(), cache)
    config = {
        "metadata": {"ours": 1},
        "configurable": {"thread_id": "t"},
        "callbacks": [Spy()],
    }
    given = dict(config)
    await driver(rag, "add_texts", ["a text"], ids=["a"], config=config)
    assert len(seen) == 2
    for metadata in seen:
        assert metadata["ours"] == 1
        assert not {"variation_cache", "refresh_variations"} & metadata.keys()
    assert config == given


async def test_from_vs_in_sql_keeps_answers(driver: Driver, tmp_path: Path) -> None:
    llm = model()
    engine: Any = create_engine(f"sqlite:///{tmp_path / 'rag.db'}")

    def start(**options: Any) -> Any:
        return RAGVectorStore.from_vs_in_sql(
            InMemoryVectorStore(CountingEmbeddings()),
            engine=engine,
            chunk_transformer=GenerateQuestionsTransformer.from_llm(llm, version="1"),
            **options,
        )

    rag, kwargs = start()
    page = Document("a text", metadata={"source": "s"})
    await driver.index([page], cleanup="scoped_full", **kwargs)
    assert rag.variation_cache is not None
    # index() gives a document with other metadata another id; its answers are the same.
    other = Document("a text", metadata={"source": "s", "tag": "new"})
    assert (await driver.index([other], cleanup="scoped_full", **kwargs))["num_added"] == 1
    assert llm.calls == 1
    without, _ = start(variation_cache=None, namespace="other")
    assert without.variation_cache is None
    await driver(without, "add_texts", ["a text"], [{"source": "s"}])
    assert llm.calls == 2
    engine.dispose()


def test_what_is_no_cache_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="variation_cache is a dict"):
        store(model(), {})
