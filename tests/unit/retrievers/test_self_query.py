"""Our self-query retriever, and LangChain's with our translator."""

import json
import uuid
from typing import Any

import pytest
from langchain_classic.chains.query_constructor.schema import AttributeInfo
from langchain_classic.retrievers.self_query.base import (
    SelfQueryRetriever as LangChainsSelfQueryRetriever,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.exceptions import OutputParserException
from langchain_core.runnables import RunnableLambda
from langchain_core.structured_query import StructuredQuery, Visitor
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag import retrievers
from langchain_rag.errors import ConfigurationError, NoTranslatorError
from langchain_rag.retrievers import SelfQueryRetriever
from langchain_rag.structured_query import InMemoryTranslator, translator_for
from langchain_rag.testing import CountingEmbeddings, InjectedFault, ScriptedChatModel
from langchain_rag.vectorstores import RAGVectorStore, WrapperVectorStore

FIELDS: list[AttributeInfo | dict[str, Any]] = [
    AttributeInfo(name="born", description="Year of birth", type="integer"),
    {"name": "country", "description": "Country of birth", "type": "string"},
]
LIVES = [
    Document("Euler", metadata={"born": 1707, "country": "CH"}),
    Document("Gauss", metadata={"born": 1777, "country": "DE"}),
    Document("Noether", metadata={"born": 1882, "country": "DE"}),
    Document("Hypatia", metadata={"country": "EG"}),
]


def scripted(query="", filter_text="NO_FILTER", **more):
    answer = f"```json\n{json.dumps({'query': query, 'filter': filter_text, **more})}\n```"
    return ScriptedChatModel(answer=lambda _prompt: answer)


@pytest.fixture(params=["memory", "chroma"])
def wrapped(request):
    if request.param == "memory":
        yield InMemoryVectorStore(CountingEmbeddings())
        return
    import chromadb
    from chromadb.config import Settings
    from langchain_chroma import Chroma

    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    store = Chroma(uuid.uuid4().hex, CountingEmbeddings(), client=client)
    yield store
    store.delete_collection()


@pytest.fixture(params=["plain", "rag"])
def store(request, wrapped):
    store = wrapped
    if request.param == "rag":
        store, _ = RAGVectorStore.from_vs_in_memory(
            WrapperVectorStore(wrapped), source_id_key=None
        )
    store.add_documents(LIVES, ids=[str(uuid.UUID(int=number)) for number in range(4)])
    return store


def names(documents):
    return sorted(document.page_content for document in documents)


@pytest.mark.parametrize(
    ("filter_text", "expected"),
    [
        ('and(gt("born", 1750), eq("country", "DE"))', ["Gauss", "Noether"]),
        ('not(gte("born", 1750))', ["Euler"]),
        ('ne("country", "DE")', ["Euler", "Hypatia"]),
        ("NO_FILTER", ["Euler", "Gauss", "Hypatia", "Noether"]),
    ],
)
async def test_it_filters(driver, store, filter_text, expected):
    llm = scripted("lives", filter_text)
    retriever = SelfQueryRetriever.from_llm(llm, store, "Lives", FIELDS)
    assert type(retriever) is SelfQueryRetriever
    assert names(await driver(retriever, "invoke", "who?")) == expected
    assert "born" in llm.prompts[0]


async def test_langchains_own_with_our_translator(driver, store):
    translator = getattr(store, "structured_query_translator", lambda: translator_for(store))
    retriever = LangChainsSelfQueryRetriever.from_llm(
        scripted("lives", 'lt("born", 1750)'),
        store,
        "Lives",
        FIELDS,
        structured_query_translator=translator(),
    )
    assert names(await driver(retriever, "invoke", "who?")) == ["Euler"]


# It imports half of langchain-community, which warns of itself.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_langchains_own_look_up_fails():
    # If this fails, LangChain has mended it, and our class may be able to go.
    with pytest.raises(ImportError):
        LangChainsSelfQueryRetriever.from_llm(
            scripted(), InMemoryVectorStore(CountingEmbeddings()), "Lives", FIELDS
        )


async def test_arguments_are_passed_on(driver, store):
    chain_kwargs: dict[str, Any] = {}
    retriever = SelfQueryRetriever.from_llm(
        scripted("nothing", 'eq("country", "DE")', limit=1),
        store,
        "Lives",
        FIELDS,
        chain_kwargs=chain_kwargs,
        enable_limit=True,
        use_original_query=True,
        search_kwargs={"k": 3},
    )
    assert names(await driver(retriever, "invoke", "Noether")) == ["Noether"]
    assert chain_kwargs == {}
    assert retriever.search_kwargs == {"k": 3}


async def test_the_constructor_looks_up_too(driver, store):
    query = StructuredQuery("q", None)
    fields: dict[str, Any] = {
        "query_constructor": RunnableLambda(lambda _: query),
        "vectorstore": store,
        "search_kwargs": {"k": 2},
    }
    retriever = SelfQueryRetriever(**fields)
    assert len(await driver(retriever, "invoke", "who?")) == 2
    given = InMemoryTranslator()
    retriever = SelfQueryRetriever(**fields, structured_query_translator=given)
    assert retriever.structured_query_translator is given
    assert "structured_query_translator" not in fields


def test_a_missing_store_is_pydantics_to_report():
    with pytest.raises(ValueError, match="vectorstore"):
        SelfQueryRetriever.model_validate({"query_constructor": None})


class Unknown(WrapperVectorStore):
    @property
    def vectorstore(self):
        return None


def test_a_store_without_translator():
    store = Unknown(InMemoryVectorStore(CountingEmbeddings()))
    with pytest.raises(NoTranslatorError, match=r"Unknown.*structured_query_translator="):
        SelfQueryRetriever.from_llm(scripted(), store, "Lives", FIELDS)
    retriever = SelfQueryRetriever.from_llm(
        scripted(), store, "Lives", FIELDS, structured_query_translator=InMemoryTranslator()
    )
    assert retriever.invoke("who?") == []


def test_names_of_the_package():
    assert set(retrievers.__all__) <= set(dir(retrievers))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        retrievers.Nothing  # noqa: B018


class Broken(InMemoryVectorStore):
    """Its server is gone."""

    def similarity_search(self, query, k=4, **kwargs):
        raise ConnectionError("connection lost")

    async def asimilarity_search(self, query, k=4, **kwargs):
        return self.similarity_search(query, k)


class Seen(BaseCallbackHandler):
    """What the callbacks of a run are told."""

    def __init__(self):
        self.events = []

    def on_retriever_start(self, serialized, query, **kwargs):
        self.events.append(("asked", query))

    def on_retriever_end(self, documents, **kwargs):
        self.events.append(("found", names(documents)))

    def on_retriever_error(self, error, **kwargs):
        self.events.append(("failed", type(error).__name__))

    def on_chat_model_start(self, *args, **kwargs):
        self.events.append(("model",))


def failing():
    return ScriptedChatModel(answer=lambda _: "", fail_when=lambda _: True)


# What goes wrong, and what the log says of it.
WRONG = {
    "no JSON": (lambda: ScriptedChatModel(answer=lambda _: "I do not know"), "I do not know"),
    "no filter": (lambda: scripted("lives", "born before 1750"), "born before 1750"),
    "other attribute": (lambda: scripted("lives", 'eq("colour", "red")'), "colour"),
    "other comparator": (lambda: scripted("lives", 'near("country", "DE")'), "near"),
    "cannot be translated": (lambda: scripted("lives", 'eq("born", ["DE"])'), "born"),
    "model": (failing, "InjectedFault"),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_plain_search_answers_where_there_is_no_filter(driver, chroma, caplog, wrong):
    make, says = WRONG[wrong]
    store, _ = RAGVectorStore.from_vs_in_memory(chroma, source_id_key=None)
    store.add_documents(LIVES)
    expected = store.similarity_search("Gauss and Euler", k=2)
    assert names(expected) == ["Euler", "Gauss"]
    fields: dict[str, Any] = {"search_kwargs": {"k": 2}}
    seen = Seen()
    retriever = SelfQueryRetriever.from_llm(make(), store, "Lives", FIELDS, **fields)
    found = await driver(retriever, "invoke", "Gauss and Euler", {"callbacks": [seen]})
    assert found == expected
    assert seen.events == [
        ("asked", "Gauss and Euler"),
        ("model",),
        ("found", ["Euler", "Gauss"]),
    ]
    (record,) = [r for r in caplog.records if r.name == "langchain_rag.retrievers.self_query"]
    assert record.levelname == "WARNING"
    assert "'Gauss and Euler'" in record.message
    assert says in record.message

    strict = SelfQueryRetriever.from_llm(
        make(), store, "Lives", FIELDS, fallback=False, **fields
    )
    error = {"model": InjectedFault, "cannot be translated": ConfigurationError}.get(
        wrong, OutputParserException
    )
    seen = Seen()
    with pytest.raises(error, match=None if error is InjectedFault else says):
        await driver(strict, "invoke", "Gauss and Euler", {"callbacks": [seen]})
    assert seen.events[-1] == ("failed", error.__name__)


async def test_a_date_that_chroma_cannot_order(driver, chroma, caplog):
    store, _ = RAGVectorStore.from_vs_in_memory(chroma, source_id_key=None)
    store.add_documents(LIVES)
    retriever = SelfQueryRetriever.from_llm(
        scripted("lives", 'gt("born", "2024-01-31")'), store, "Lives", FIELDS
    )
    assert len(await driver(retriever, "invoke", "who?")) == 4
    assert "dates='timestamp'" in caplog.text


@pytest.mark.parametrize("answer", [scripted("lives", 'eq("born", 1)'), failing()])
async def test_a_store_that_fails_is_no_matter_of_the_filter(driver, embeddings, answer):
    retriever = SelfQueryRetriever.from_llm(answer, Broken(embeddings), "Lives", FIELDS)
    with pytest.raises(ConnectionError, match="connection lost"):
        await driver(retriever, "invoke", "who?")


def german(document):
    return document.metadata.get("country") == "DE"


@pytest.mark.parametrize("ours", [True, False])
async def test_a_given_filter_is_never_lost(driver, memory, caplog, ours):
    memory.add_documents(LIVES)
    translator: Any = InMemoryTranslator()
    if not ours:
        inner = translator

        class Foreign(Visitor):
            def visit_operation(self, operation):
                return inner.visit_operation(operation)

            def visit_comparison(self, comparison):
                return inner.visit_comparison(comparison)

            def visit_structured_query(self, structured_query):
                return inner.visit_structured_query(structured_query)

        translator = Foreign()
    retriever = SelfQueryRetriever.from_llm(
        scripted("lives", 'lt("born", 1800)'),
        memory,
        "Lives",
        FIELDS,
        structured_query_translator=translator,
        search_kwargs={"filter": german},
    )
    found = names(await driver(retriever, "invoke", "who?"))
    assert found == (["Gauss"] if ours else ["Gauss", "Noether"])
    assert ("cannot join" in caplog.text) is not ours
    nothing = SelfQueryRetriever.from_llm(
        failing(), memory, "Lives", FIELDS, search_kwargs={"filter": german}
    )
    assert names(await driver(nothing, "invoke", "who?")) == ["Gauss", "Noether"]


@pytest.mark.parametrize(("limit", "expected"), [(2, 2), (0, 3), (-1, 3), (None, 3)])
async def test_limits(driver, store, limit, expected):
    more = {} if limit is None else {"limit": limit}
    retriever = SelfQueryRetriever.from_llm(
        scripted("lives", **more),
        store,
        "Lives",
        FIELDS,
        enable_limit=True,
        search_kwargs={"k": 3},
    )
    assert len(await driver(retriever, "invoke", "who?")) == expected
    # What a call says beats the fields.
    if limit is None:
        assert len(await driver(retriever, "invoke", "who?", k=1)) == 1


async def test_it_tells_what_the_model_made(driver, store, caplog):
    caplog.set_level("INFO")
    retriever = SelfQueryRetriever.from_llm(
        scripted("lives", 'eq("born", 1707)'), store, "Lives", FIELDS, verbose=True
    )
    assert names(await driver(retriever, "invoke", "who?")) == ["Euler"]
    assert "1707" in caplog.text


async def test_other_types_of_search(driver, store):
    retriever = SelfQueryRetriever.from_llm(
        scripted("lives", 'eq("country", "DE")'),
        store,
        "Lives",
        FIELDS,
        search_type="mmr",
        search_kwargs={"k": 3, "lambda_mult": 0.3},
    )
    assert names(await driver(retriever, "invoke", "who?")) == ["Gauss", "Noether"]
