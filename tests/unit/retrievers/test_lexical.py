"""Chunks by their words, over every kind of docstore."""

import datetime as dt
import logging
import sys
import threading

import pytest
from langchain_classic.storage import LocalFileStore, create_kv_docstore
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import Comparator, Comparison, Operation, Operator
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.errors import ConfigurationError
from langchain_rag.lexical import InMemoryLexicalSearch
from langchain_rag.retrievers import LexicalRetriever
from langchain_rag.storage import SQLDocStore, create_engine
from langchain_rag.testing import CountingEmbeddings, ScriptedTransformer
from langchain_rag.vectorstores import RAGVectorStore

WORDS = ("apple", "berry", "cedar", "daisy")


@pytest.fixture(params=["sql", "memory", "files"])
def docstore(request, tmp_path):
    if request.param == "sql":
        engine = create_engine(f"sqlite:///{tmp_path}/rag.db")
        yield SQLDocStore(engine, full_text="english")
        engine.dispose()
    elif request.param == "memory":
        yield InMemoryStore()
    else:
        yield create_kv_docstore(LocalFileStore(tmp_path / "files"))


@pytest.fixture
def rag(docstore):
    return RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=docstore,
        source_id_key=None,
        parent_transformer=ScriptedTransformer(lambda text: text.split("\n")),
    )


def dispose(rag):
    rag.docstore.engine.dispose()


def page(id_, *lines, **metadata):
    return Document("\n".join(lines), id=id_, metadata=metadata)


async def texts(driver, retriever, query, **options):
    return [
        document.page_content
        for document in await driver(retriever, "invoke", query, **options)
    ]


async def test_the_best_come_first_through_updates_and_deletes(driver, rag):
    await driver(
        rag,
        "add_documents",
        [page("a", "apple pies", "an apple among apples"), page("b", "cedar and pine")],
    )
    retriever = rag.as_lexical_retriever(k=5)
    assert await texts(driver, retriever, "apples?") == ["an apple among apples", "apple pies"]
    assert await texts(driver, retriever, "apples?", k=1) == ["an apple among apples"]
    assert await texts(driver, retriever, "the of and") == []
    assert await texts(driver, retriever, "apples?", k=0) == []
    await driver(rag, "add_documents", [page("a", "apple pies", "a berry")])
    assert await texts(driver, retriever, "apples berries") == ["a berry", "apple pies"] or (
        await texts(driver, retriever, "apples berries") == ["apple pies", "a berry"]
    )
    await driver(rag, "delete", ["b"])
    assert await texts(driver, retriever, "cedars") == []
    assert await texts(driver, retriever, "apple") == ["apple pies"]


async def test_results_are_those_of_a_search(driver, rag):
    await driver(
        rag, "add_documents", [page("a", "apple one", "apple two", when=dt.date(2026, 1, 2))]
    )
    [searched] = [
        d
        for d in await driver(rag, "similarity_search", "apple", k=9)
        if "one" in d.page_content
    ]
    [found] = await driver(rag.as_lexical_retriever(), "invoke", "one")
    assert found == searched
    assert found.metadata == {"when": dt.date(2026, 1, 2)}
    found.metadata["changed"] = True
    assert await driver(rag.as_lexical_retriever(), "invoke", "one") == [searched]


FILTERS = [
    ({"n": 3}, lambda m: m["n"] == 3),
    ({"n": 3, "even": False}, lambda m: m["n"] == 3 and not m["even"]),
    ({"n": 3, "even": True}, lambda m: False),
    ({}, lambda m: True),
    (Comparison(Comparator.GTE, "n", 36), lambda m: m["n"] >= 36),
    (Comparison(Comparator.LT, "day", "2026-01-04"), lambda m: m["day"] < dt.date(2026, 1, 4)),
    (
        Operation(
            Operator.OR,
            [Comparison(Comparator.IN, "n", [1, 39]), Comparison(Comparator.EQ, "n", 20)],
        ),
        lambda m: m["n"] in (1, 20, 39),
    ),
]


async def test_a_filter_is_for_chunks_and_is_widened_until_there_are_enough(driver, rag):
    documents = [
        page(
            str(n),
            f"apple {'x ' * n}",
            n=n,
            even=n % 2 == 0,
            day=dt.date(2026, 1, 1) + dt.timedelta(n),
        )
        for n in range(40)
    ]
    await driver(rag, "add_documents", documents)
    for given, passes in FILTERS:
        # Shorter texts rank higher.
        expected = [str(n) for n in range(40) if passes(documents[n].metadata)]
        for k in (1, 3, 50):
            retriever = rag.as_lexical_retriever(k=k, filter=given)
            found = await driver(retriever, "invoke", "apple")
            assert [document.id for document in found] == expected[:k]
            plain = rag.as_lexical_retriever(k=k)
            assert await driver(plain, "invoke", "apple", filter=given) == found


async def test_documents_and_details(driver, rag):
    await driver(
        rag, "add_documents", [page("a", "apple", "apple apple"), page("b", "an apple x y")]
    )
    whole = rag.as_lexical_retriever(search_kwargs={"return_documents": True})
    assert [d.id for d in await driver(whole, "invoke", "apple")] == ["a", "b"]
    within = rag.as_lexical_retriever(search_kwargs={"within": {"b"}, "match_details": True})
    [found] = await driver(within, "invoke", "apple")
    match = found.metadata["langchain_rag_match"]
    assert (match["kind"], match["text"], match["rank"]) == ("text", "an apple x y", 3)
    assert 0 < match["score"] < 1
    nowhere = rag.as_lexical_retriever(search_kwargs={"within": set()})
    assert await driver(nowhere, "invoke", "apple") == []


async def test_a_filter_in_a_stores_own_language_is_refused(driver, rag):
    for given in ({"$and": [{"n": 1}]}, {"n": {"$gt": 1}}, lambda document: True):
        with pytest.raises(ConfigurationError, match="Comparison"):
            rag.as_lexical_retriever(filter=given)


async def test_it_is_a_retriever_with_tags_and_callbacks(driver, rag):
    class Seen(BaseCallbackHandler):
        def __init__(self):
            self.tags = []

        def on_retriever_start(self, *args, tags=None, **kwargs):
            self.tags.append(tags)

    seen = Seen()
    await driver(rag, "add_documents", [page("a", "apple")])
    retriever = rag.as_lexical_retriever(tags=["mine"], metadata={"m": 1})
    await driver(retriever, "invoke", "apple", {"callbacks": [seen]})
    assert seen.tags == [["mine", "RAGVectorStore", "CountingEmbeddings"]] or (
        seen.tags == [["mine", *rag.as_retriever().tags]]
    )
    assert [len(found) for found in await driver(retriever, "batch", ["apple", "x"])] == [1, 0]


async def test_where_words_fail_vectors_answer_with_the_filter(
    driver, rag, caplog, monkeypatch
):
    await driver(rag, "add_documents", [page("a", "apple", n=1), page("b", "apple", n=2)])
    retriever = rag.as_lexical_retriever(filter={"n": 2})

    def fail(*args, **kwargs):
        raise OSError("planned")

    search = retriever._search
    monkeypatch.setattr(type(search), "lexical_search", fail)
    monkeypatch.setattr(type(search), "alexical_search", fail)
    with caplog.at_level(logging.WARNING):
        assert [d.id for d in await driver(retriever, "invoke", "apple")] == ["b"]
    assert "LexicalRetriever failed (OSError: planned)" in caplog.text
    strict = rag.as_lexical_retriever(fallback=False)
    with pytest.raises(OSError, match="planned"):
        await driver(strict, "invoke", "apple")


async def test_a_docstore_that_was_not_told_to_keep_an_index_is_refused(driver):
    engine = create_engine("sqlite://")
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()), docstore=SQLDocStore(engine)
    )
    with pytest.raises(ConfigurationError, match="full_text='english'"):
        rag.as_lexical_retriever()
    engine.dispose()


def test_without_bm25s_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    rag, _ = RAGVectorStore.from_vs_in_memory(InMemoryVectorStore(CountingEmbeddings()))
    with pytest.raises(ConfigurationError, match=r"pip install 'langchain-rag\[lexical\]'"):
        rag.as_lexical_retriever()
    sql, _ = RAGVectorStore.from_vs_in_sql(
        InMemoryVectorStore(CountingEmbeddings()), db_url="sqlite://"
    )
    sql.add_texts(["apple"], [{"source": "s"}])
    assert len(sql.as_lexical_retriever().invoke("apple")) == 1
    dispose(sql)


def test_another_store_is_refused():
    with pytest.raises(ValueError, match="InMemoryVectorStore"):
        LexicalRetriever(vectorstore=InMemoryVectorStore(CountingEmbeddings()))


async def test_headings_that_change_alone_are_seen_in_memory(driver):
    rag = RAGVectorStore(
        vectorstore=InMemoryVectorStore(CountingEmbeddings()),
        docstore=InMemoryStore(),
        source_id_key=None,
    )
    retriever = rag.as_lexical_retriever()
    await driver(rag, "add_documents", [Document("text", id="a", metadata={"title": "Apples"})])
    assert len(await driver(retriever, "invoke", "apple")) == 1
    await driver(rag, "add_documents", [Document("text", id="a", metadata={"title": "Cedar"})])
    assert await driver(retriever, "invoke", "apple") == []
    assert len(await driver(retriever, "invoke", "cedars")) == 1


def test_threads_share_an_index_while_chunks_come():
    rag, _ = RAGVectorStore.from_vs_in_memory(
        InMemoryVectorStore(CountingEmbeddings()), source_id_key=None
    )
    retriever = rag.as_lexical_retriever(k=100)
    errors = []

    def search():
        try:
            for _ in range(20):
                retriever.invoke("apple")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(20):
        rag.add_documents([Document(f"apple {n}", id=str(n))])
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(retriever.invoke("apple")) == 20


async def test_an_index_in_memory_reads_only_what_is_new(driver):
    docstore = InMemoryStore()
    made = []

    class Counting(InMemoryLexicalSearch):
        def _made(self, old, there, read):
            made.append(sorted(key for key in read if key not in old.records))
            return super()._made(old, there, read)

    record = Document("apple", metadata={"fan_out": 1, "metadata": {}})
    search = Counting(docstore)
    assert await driver(search, "lexical_search", "apple", 3, prefix="chunks/x/") == []
    docstore.mset([("chunks/x/1", record), ("chunks/y/2", record)])
    for _ in range(2):
        [(key, _)] = await driver(search, "lexical_search", "apple", 3, prefix="chunks/x/")
        assert key == "chunks/x/1"
    assert made == [["chunks/x/1"]]
    docstore.mset([("chunks/x/0", record)])
    found = await driver(search, "lexical_search", "apple", 3, prefix="chunks/x/")
    assert [key for key, _ in found] == ["chunks/x/0", "chunks/x/1"]
    assert made[1:] == [["chunks/x/0"]]
