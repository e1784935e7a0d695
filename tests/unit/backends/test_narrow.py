"""`Backend.narrow` over every store that has it, searched for real."""

import copy
import uuid
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_rag._reserved import DOCUMENT, KIND
from langchain_rag.backends import backend_of
from langchain_rag.testing import CountingEmbeddings
from langchain_rag.testing._over_store import opened
from tests.conformance import stores

# Ids of documents are the user's: any text.
IDS = ["d", "it's", 'say "a"', "a\\b", "100%", "d'] or true or ['", "é\n"]
ROWS = [
    {"n": n, "of": str(n), "also": "a", KIND: kind, DOCUMENT: id_}
    for n in (1, 2)
    for kind in ("summary", "questions", "copy")
    for id_ in IDS
]


def passing(allowed, n=None):
    return sorted(
        (row["n"], row[KIND], row[DOCUMENT])
        for row in ROWS
        if all(row[key] in values for key, values in allowed.items())
        and (n is None or row["n"] == n)
    )


ALLOWED: list[dict[str, list[str]]] = [
    {KIND: ["summary"]},
    {KIND: ["summary", "copy"]},
    {DOCUMENT: IDS[1:4]},
    {DOCUMENT: IDS[5:]},
    {KIND: ["questions", "copy"], DOCUMENT: ["d", "100%", "nothing"]},
    {KIND: ["nothing"]},
    {DOCUMENT: [*(f"other {number}" for number in range(300)), "d"]},
]

# Other forms of the filter "n is 1", and of none, that a store takes.
FORMS: dict[type[stores.Store], list[tuple[Any, int | None]]] = {
    stores.Faiss: [({"filter": lambda metadata: metadata["n"] == 1}, 1)],
    stores.Postgres: [
        ({"filter": {"n": 1, KIND: {"$exists": True}}}, 1),
        ({"filter": {}}, None),
        ({"filter": {"$or": [{"n": {"$lt": 1}}, {"n": {"$eq": 1}}]}}, 1),
    ],
    stores.Lance: [
        ({"filter": "metadata.n = 7 OR metadata.n = 1"}, 1),
        ({"filter": {"metadata.of": "1", "metadata.also": "a"}}, 1),
    ],
    stores.MilvusLite: [({"expr": "n == 7 or n == 1"}, 1), ({"expr": ""}, None)],
}


@pytest.mark.parametrize(
    "kind",
    [
        stores.InMemory,
        stores.ChromaInMemory,
        stores.Qdrant,
        stores.Faiss,
        pytest.param(
            stores.Lance,
            marks=[
                pytest.mark.full,
                pytest.mark.filterwarnings("ignore:No results found for the query"),
            ],
        ),
        pytest.param(stores.MilvusLite, marks=[pytest.mark.integration, pytest.mark.full]),
        pytest.param(stores.Postgres, marks=[pytest.mark.integration, pytest.mark.full]),
    ],
    ids=lambda kind: kind.__name__,
)
async def test_it_narrows(driver, kind, tmp_path, request):
    world = kind()
    world.folder = tmp_path
    if kind is stores.Postgres:
        world.url = request.getfixturevalue("postgres_url")
    async with opened(world.make_store(CountingEmbeddings(8))) as store:
        documents = [Document("x", metadata=row) for row in ROWS]
        ids = [str(uuid.UUID(int=number)) for number in range(len(ROWS))]
        await driver(store, "add_documents", documents, ids=ids)
        backend = backend_of(store)
        assert backend.narrow is not None
        wide = {"fetch_k": len(ROWS)} if backend.filtered_from else {}
        forms = [({}, None), (world.filter_for(store, "n", 1), 1), *FORMS.get(kind, [])]
        for options, n in forms:
            for allowed in ALLOWED:
                before = dict(options), copy.deepcopy(allowed)
                narrowed = backend.narrow(options, allowed)
                assert (options, allowed) == before
                found = await driver(
                    store,
                    "similarity_search",
                    "x",
                    k=len(ROWS),
                    **{**wide, **backend.filtering, **narrowed},
                )
                got = sorted(
                    (d.metadata["n"], d.metadata[KIND], d.metadata[DOCUMENT]) for d in found
                )
                assert got == passing(allowed, n), (options, allowed)
