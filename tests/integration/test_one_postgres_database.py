"""One PostgreSQL database holds it all: chunks, manifests, records and vectors."""

import pytest
from langchain_core.documents import Document
from langchain_postgres import PGEngine, PGVectorStore
from langchain_text_splitters import CharacterTextSplitter
from sqlalchemy import create_engine, inspect, make_url, text

from langchain_rag import CopyDocumentTransformer, RAGVectorStore
from langchain_rag.storage import SQLDocStore
from langchain_rag.storage import create_engine as create_rag_engine
from tests.unit.storage.kinds import postgres

pytestmark = [pytest.mark.integration, pytest.mark.full]


@pytest.fixture
def vectors(postgres_database, embeddings):
    engine = PGEngine.from_connection_string(postgres_database)
    engine.init_vectorstore_table(
        "vectors", vector_size=embeddings.size, overwrite_existing=True
    )
    yield PGVectorStore.create_sync(engine, embeddings, "vectors")
    engine._run_as_sync(engine.close())


@pytest.fixture(params=postgres)
def kind(request):
    return request.param


@pytest.fixture
def driver(kind):
    return kind[0]


@pytest.fixture
async def engine(kind, postgres_database):
    engine = create_rag_engine(make_url(postgres_database).set(drivername=kind[1]))
    yield engine
    closed = engine.dispose()
    if closed is not None:
        await closed


def rows(postgres_database):
    """Texts in the vector store, and how many rows the other tables have."""
    engine = create_engine(postgres_database)
    with engine.connect() as connection:
        found = {
            name: connection.scalar(text(f"SELECT count(*) FROM {name}"))
            for name in inspect(connection).get_table_names()
        }
        texts = sorted(connection.scalars(text("SELECT content FROM vectors")))
    engine.dispose()
    return texts, found


def document(source, *paragraphs):
    return Document(
        "\n\n".join(paragraphs), metadata={"source": source, "tags": ["a", {"deep": None}]}
    )


async def test_index_adds_changes_and_deletes(
    driver, engine, vectors, embeddings, postgres_database
):
    rag, kwargs = RAGVectorStore.from_vs_in_sql(
        vectors,
        engine=engine,
        parent_transformer=CharacterTextSplitter(chunk_size=8, chunk_overlap=0),
        chunk_transformer=CopyDocumentTransformer(),
    )

    async def index(*documents):
        embeddings.reset()
        result = await driver.index(list(documents), cleanup="scoped_full", **kwargs)
        return tuple(result[f"num_{what}"] for what in ("added", "skipped", "deleted"))

    euler, gauss = document("euler", "euler 1", "euler 2"), document("gauss", "gauss 1")
    assert await index(euler, gauss) == (2, 0, 0)
    assert await index(euler, gauss) == (0, 2, 0)
    assert embeddings.documents == []
    assert rows(postgres_database)[0] == ["euler 1", "euler 2", "gauss 1"]

    changed = document("euler", "euler 1", "euler 3")
    assert await index(changed, gauss) == (1, 1, 1)
    texts, tables = rows(postgres_database)
    assert texts == ["euler 1", "euler 3", "gauss 1"]
    assert tables["upsertion_record"] == 2
    assert tables["langchain_rag_schema"] == 1

    found = await driver(rag, "similarity_search", "euler 3", k=3)
    assert found[0].page_content == "euler 3"
    assert found[0].metadata == changed.metadata
    assert {chunk.page_content for chunk in found} == set(texts)

    # Of the sources that a scoped run sees, what is gone is deleted; the others stay.
    assert await index(document("euler", "euler 4")) == (1, 0, 1)
    assert rows(postgres_database)[0] == ["euler 4", "gauss 1"]
    assert await driver.index([], cleanup="full", **kwargs)
    texts, tables = rows(postgres_database)
    assert texts == []
    # What the full-text index was made with stays, and its count of no chunks.
    assert {name: count for name, count in tables.items() if count} == {
        "langchain_rag_schema": 1,
        "langchain_rag_full_text_settings": 1,
        "langchain_rag_full_text_spaces": 1,
    }


async def test_both_halves_see_the_same(postgres_database, vectors):
    """A sync engine serves sync and async calls; the URL alone is enough."""
    rag, _ = RAGVectorStore.from_vs_in_sql(vectors, db_url=postgres_database)
    assert isinstance(rag.docstore, SQLDocStore)
    rag.add_documents([document("euler", "euler")], ids=["e"])
    await rag.aadd_documents([document("gauss", "gauss")], ids=["g"])
    assert [d.page_content for d in await rag.aget_by_ids(["e", "g"])] == ["euler", "gauss"]
    assert [d.page_content for d in rag.similarity_search("gauss", k=1)] == ["gauss"]
    rag.delete(["e"])
    assert await rag.aget_by_ids(["e", "g"]) == rag.get_by_ids(["g"])
    rag.docstore.engine.dispose()
