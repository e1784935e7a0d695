"""Our self-query retriever, and LangChain's with our translator."""

import json
import uuid
from typing import Any

import pytest
from langchain_classic.chains.query_constructor.schema import AttributeInfo
from langchain_classic.retrievers.self_query.base import (
    SelfQueryRetriever as LangChainsSelfQueryRetriever,
)
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.structured_query import StructuredQuery
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag import retrievers
from langchain_rag.errors import NoTranslatorError
from langchain_rag.retrievers import SelfQueryRetriever
from langchain_rag.structured_query import InMemoryTranslator, translator_for
from langchain_rag.testing import CountingEmbeddings, ScriptedChatModel
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
