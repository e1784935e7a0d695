"""What a search can be told beyond what the wrapped store knows, against brute force."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from typing_extensions import override

from langchain_rag._reserved import CHUNK, DOCUMENT, KIND, RESERVED, TRANSFORMER
from langchain_rag.document_transformers import DocumentTransformers
from langchain_rag.errors import ConfigurationError
from langchain_rag.testing import (
    DRIVERS,
    MOMENTS,
    CountingEmbeddings,
    Driver,
    InjectedCrash,
    ScriptedTransformer,
    SyncOnlyVectorStore,
    World,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore

MATCH = "langchain_rag_match"
STORES = ["memory", "chroma", "unknown"]
# Both drivers in memory; what a store lacks or does in its own way, a driver does not change.
WAYS = [
    pytest.param("memory", DRIVERS[0], id="memory-sync"),
    pytest.param("memory", DRIVERS[1], id="memory-async"),
    pytest.param("chroma", DRIVERS[0], id="chroma-sync", marks=pytest.mark.full),
    pytest.param("unknown", DRIVERS[1], id="unknown-async"),
]
in_every_way = pytest.mark.parametrize(
    ("library", "driver"), WAYS, indirect=True, scope="module"
)


class Spread(CountingEmbeddings):
    """A vector of its own for each text, so that no two are equally near to a query.

    None is negative, since not every store can make a relevance of a negative cosine.
    """

    @override
    def vector(self, text: str) -> list[float]:
        return list(spread(text))


@cache
def spread(text: str) -> tuple[float, ...]:
    seeded = random.Random(text)
    parts = [abs(seeded.gauss(0, 1)) for _ in range(8)]
    length = math.hypot(*parts)
    return tuple(float(np.float32(part / length)) for part in parts)


@cache
def nearness(one: str, other: str) -> float:
    return float(sum(map(mul, spread(one), spread(other))))


class Unknown(SyncOnlyVectorStore):
    """In no table of ours; its scores are cosines."""

    @override
    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: cosine


class Questions(ScriptedTransformer):
    """Three to a chunk."""

    def __init__(self) -> None:
        super().__init__(lambda text: [f"{text} question {n}" for n in range(3)])


class Summary(ScriptedTransformer):
    """One to a chunk whose text ends with a number that 5 divides."""

    def __init__(self) -> None:
        super().__init__(lambda text: [f"{text} summary"] if text[-1] in "05" else [])


class Plain(ScriptedTransformer):
    """The chunk itself."""

    def __init__(self) -> None:
        super().__init__(lambda text: [text])


ALL = {"Questions", "Summary", "Plain"}


class Hit(NamedTuple):
    """A row as the reference sees it."""

    row_id: str
    chunk: str
    document: str
    kind: str
    text: str
    page: int
    nearness: float


class Library:
    """Documents of many chunks, and what a search of them must give.

    Attributes:
        rag: The store.
        rows: Every variation there is.
    """

    def __init__(self, wrapped: VectorStore) -> None:
        self.wrapped = wrapped
        self.embeddings = Spread()
        self.docs = InMemoryStore()
        RAGVectorStore(
            vectorstore=wrapped,
            docstore=self.docs,
            source_id_key=None,
            parent_transformer=ScriptedTransformer(str.splitlines),
            chunk_transformer=DocumentTransformers(
                transformers=[Questions(), Summary(), Plain()]
            ),
        ).add_documents(
            [
                Document(
                    "\n".join(f"d{d} line {n}" for n in range(2 + 3 * (d % 3))),
                    metadata={"page": d, "tags": ["a", {"b": d}]},
                )
                for d in range(9)
            ],
            ids=[f"d{d}" for d in range(9)],
        )
        self.rag = self.start()
        found = contents(self.rag)
        texts = {k: v.page_content for k, v in found.room("chunks").items()}
        self.rows = [
            Hit(
                id_,
                texts[row.metadata[CHUNK]],
                row.metadata[DOCUMENT],
                row.metadata[KIND],
                row.page_content,
                row.metadata["page"],
                0.0,
            )
            for id_, row in found.rows.items()
        ]

    def start(self, **options: Any) -> RAGVectorStore:
        """A process that has not searched yet."""
        return RAGVectorStore(
            vectorstore=self.wrapped, docstore=self.docs, source_id_key=None, **options
        )

    def ranked(
        self,
        query: str,
        allowed: Callable[[Hit], bool] = lambda _: True,
    ) -> list[Hit]:
        """All variations that count, nearest first."""
        hits = [
            hit._replace(nearness=nearness(query, hit.text))
            for hit in self.rows
            if allowed(hit)
        ]
        return sorted(hits, key=lambda hit: -hit.nearness)

    def best(
        self,
        query: str,
        allowed: Callable[[Hit], bool] = lambda _: True,
        *,
        by: str = "chunk",
    ) -> list[tuple[Hit, int]]:
        """The nearest variation of each chunk, or document, with its rank."""
        found: dict[str, tuple[Hit, int]] = {}
        for rank, hit in enumerate(self.ranked(query, allowed), start=1):
            found.setdefault(getattr(hit, by), (hit, rank))
        return list(found.values())

    def filter(self, pages: set[int]) -> Any:
        """The user's own filter, in the store's language."""
        if isinstance(self.wrapped, Chroma):
            return {"page": {"$in": sorted(pages)}}
        return lambda document: document.metadata["page"] in pages


@pytest.fixture(scope="module", params=STORES)
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Library]:
    embeddings = Spread()
    if request.param == "memory":
        yield Library(InMemoryVectorStore(embeddings))
    elif request.param == "unknown":
        yield Library(Unknown(embeddings))
    else:
        path: Path = tmp_path_factory.mktemp("chroma")
        store = Chroma(
            collection_name=f"details-{uuid.uuid4()}",
            embedding_function=embeddings,
            client=chromadb.PersistentClient(str(path), Settings(anonymized_telemetry=False)),
            # So many that the approximate index is exact.
            collection_metadata={"hnsw:space": "cosine", "hnsw:search_ef": 1000},
        )
        yield Library(store)
        store.delete_collection()


async def texts(
    driver: Driver, library: Library, method: str, query: str = "line", **options: Any
) -> list[str]:
    """Search in one of the ways; the texts that were found."""
    found = await search(driver, library.rag, method, query, **options)
    return [document.page_content for document in found]


async def search(
    driver: Driver, rag: RAGVectorStore, method: str, query: str = "line", **options: Any
) -> list[Document]:
    if method == "retriever":
        retriever = rag.as_retriever(search_kwargs=options)
        return await driver(retriever, "invoke", query)  # type: ignore[no-any-return]
    if method == "threshold":
        retriever = rag.as_retriever(
            search_type="similarity_score_threshold",
            search_kwargs={"score_threshold": 0.0, **options},
        )
        return await driver(retriever, "invoke", query)  # type: ignore[no-any-return]
    if method == "search":
        return await driver(rag, method, query, "similarity", **options)  # type: ignore[no-any-return]
    asked: Any = Spread().vector(query) if "vector" in method else query
    found = await driver(rag, method, asked, **options)
    return [item[0] if isinstance(item, tuple) else item for item in found]


SEARCHES = [
    "similarity_search",
    "similarity_search_with_score",
    "similarity_search_with_relevance_scores",
    "similarity_search_by_vector",
    "search",
    "retriever",
]
MMR = ["max_marginal_relevance_search", "max_marginal_relevance_search_by_vector"]

OPTIONS: dict[str, tuple[dict[str, Any], Callable[[Hit], bool]]] = {
    "one kind": ({"kinds": {"Questions"}}, lambda hit: hit.kind == "Questions"),
    "a text": ({"kinds": "Plain"}, lambda hit: hit.kind == "Plain"),
    "a rare kind": ({"kinds": ["Summary"]}, lambda hit: hit.kind == "Summary"),
    "two kinds": ({"kinds": ("Summary", "Plain")}, lambda hit: hit.kind != "Questions"),
    "a kind that is not there": (
        {"kinds": {"Summary", "other"}},
        lambda hit: hit.kind == "Summary",
    ),
    "all kinds": ({"kinds": None}, lambda _: True),
    "all but one": ({"except_kinds": {"Questions"}}, lambda hit: hit.kind != "Questions"),
    "all but many": (
        {"except_kinds": ["Questions", "Plain", "other"]},
        lambda hit: hit.kind == "Summary",
    ),
    "some but": (
        {"kinds": ALL - {"Plain"}, "except_kinds": "Questions"},
        lambda hit: hit.kind == "Summary",
    ),
    "within one": ({"within": "d4"}, lambda hit: hit.document == "d4"),
    "within some": (
        {"within": {"d4", "d0", "not there"}},
        lambda hit: hit.document in {"d4", "d0"},
    ),
    "both": (
        {"kinds": {"Plain"}, "within": ["d1", "d2"]},
        lambda hit: hit.kind == "Plain" and hit.document in {"d1", "d2"},
    ),
    "all three": (
        {"kinds": {"Plain", "Questions"}, "within": ["d5", "d2"], "except_kinds": {"Plain"}},
        lambda hit: hit.kind == "Questions" and hit.document in {"d5", "d2"},
    ),
}


def test_the_library_is_what_the_tests_need(library: Library) -> None:
    counts = {kind: sum(hit.kind == kind for hit in library.rows) for kind in ALL}
    chunks = {hit.chunk for hit in library.rows}
    assert len(chunks) == 3 * (2 + 5 + 8)
    assert counts["Plain"] == len(chunks)
    assert counts["Questions"] == 3 * len(chunks)
    assert 5 < counts["Summary"] < 16


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, "threshold"])
async def test_only_what_is_wanted_is_searched(
    driver: Driver, library: Library, method: str
) -> None:
    for name, (options, allowed) in OPTIONS.items():
        wanted = [hit.chunk for hit, _ in library.best("line", allowed)]
        for k in (1, 4, 60):
            found = await texts(driver, library, method, k=k, **options)
            assert found == wanted[:k], name


@in_every_way
async def test_kinds_that_only_far_rows_have(driver: Driver, library: Library) -> None:
    """However far down a store that cannot be told has to look."""
    allowed = OPTIONS["a rare kind"][1]
    everything = library.ranked("line 5 question 1")
    rare = [n for n, hit in enumerate(everything) if allowed(hit)]
    wanted = [hit.chunk for hit, _ in library.best("line 5 question 1", allowed)]
    for k in (1, len(wanted), len(wanted) + 1):
        rag = library.start()  # which has not learnt how many variations a chunk has
        found = await search(
            driver, rag, "similarity_search", "line 5 question 1", k=k, kinds={"Summary"}
        )
        assert [d.page_content for d in found] == wanted[:k]
    assert rare[-1] > 100


@in_every_way
@pytest.mark.parametrize("method", SEARCHES)
async def test_together_with_the_user_s_filter(
    driver: Driver, library: Library, method: str
) -> None:
    pages = {1, 2, 4, 8}
    mine = library.filter(pages)
    before = deepcopy(mine)
    for name, (options, allowed) in OPTIONS.items():
        ranked = library.best("line", lambda hit: hit.page in pages and allowed(hit))  # noqa: B023
        found = await texts(driver, library, method, k=6, filter=mine, **options)
        assert found == [hit.chunk for hit, _ in ranked][:6], name
    if isinstance(library.wrapped, Chroma):
        assert mine == before


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, *MMR])
async def test_the_empty_set_finds_nothing(
    driver: Driver, library: Library, method: str
) -> None:
    empties: list[dict[str, Any]] = [
        {"kinds": set()},
        {"within": []},
        {"kinds": {"Plain"}, "within": ()},
    ]
    for empty in empties:
        assert await texts(driver, library, method, **empty) == []
    assert await texts(driver, library, method, except_kinds=ALL) == []
    assert await texts(driver, library, method, except_kinds=[], k=2) != []


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, *MMR])
async def test_the_constructor_s_options(driver: Driver, library: Library, method: str) -> None:
    rag = library.start(search_kwargs={"kinds": {"Summary"}, "k": 3, "match_details": True})
    found = await search(driver, rag, method)
    assert [d.metadata[MATCH]["kind"] for d in found] == ["Summary"] * 3
    found = await search(driver, rag, method, kinds=None, within="d7", match_details=False)
    assert [d.metadata for d in found] == [{"page": 7, "tags": ["a", {"b": 7}]}] * 3


# --- details


@in_every_way
@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("name", ["all kinds", "a rare kind", "all but one"])
async def test_match_details(driver: Driver, library: Library, method: str, name: str) -> None:
    options, allowed = OPTIONS[name]
    found = await search(driver, library.rag, method, k=7, match_details=True, **options)
    best = library.best("line", allowed)[:7]
    assert [d.page_content for d in found] == [hit.chunk for hit, _ in best]
    for document, (hit, rank) in zip(found, best, strict=True):
        details = document.metadata[MATCH]
        assert details.keys() == {"kind", "transformer", "text", "score", "rank"}
        assert details["kind"] == details["transformer"] == hit.kind
        assert (details["text"], details["rank"]) == (hit.text, rank)
        assert RESERVED & document.metadata.keys() == {MATCH}
        no_score = method == "similarity_search_by_vector" and isinstance(
            library.wrapped, SyncOnlyVectorStore
        )
        if method == "similarity_search_with_relevance_scores" or no_score:
            continue
        near = 1 - hit.nearness if isinstance(library.wrapped, Chroma) else hit.nearness
        assert details["score"] == pytest.approx(near, abs=1e-5)


@in_every_way
async def test_scores_in_details_are_those_beside_the_results(
    driver: Driver, library: Library
) -> None:
    found = await driver(
        library.rag, "similarity_search_with_score", "line", k=5, match_details=True
    )
    assert [d.metadata[MATCH]["score"] for d, _ in found] == [score for _, score in found]


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, *MMR])
async def test_nothing_of_ours_is_in_the_results(
    driver: Driver, library: Library, method: str
) -> None:
    for options in ({}, {"return_documents": True}, {"aggregation": "rank_sum"}):
        found = await search(driver, library.rag, method, k=50, **options)
        assert found
        for document in found:
            assert document.metadata.keys() == {"page", "tags"}
    for whole in (False, True):
        told: dict[str, Any] = {"match_details": True, "return_documents": whole}
        found = await search(driver, library.rag, method, k=50, **told)
        for document in found:
            assert document.metadata.keys() == {"page", "tags", MATCH}


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, *MMR])
@pytest.mark.parametrize("whole", [False, True])
async def test_results_share_nothing_with_the_store(
    driver: Driver, library: Library, method: str, whole: bool
) -> None:
    options: dict[str, Any] = {"k": 9, "match_details": True, "return_documents": whole}
    before = contents(library.rag)
    first = await search(driver, library.rag, method, **options)
    expected = deepcopy(first)
    for document in first:
        document.metadata["tags"][1]["b"] = "mine"
        document.metadata["tags"].append("mine")
        document.metadata[MATCH].clear()
        document.metadata["page"] = -1
        document.page_content = "mine"
    assert contents(library.rag) == before
    assert await search(driver, library.rag, method, **options) == expected


@in_every_way
async def test_two_results_share_nothing(driver: Driver, library: Library) -> None:
    one, two = await search(driver, library.rag, "similarity_search", k=2, within="d7")
    assert one.metadata["tags"] is not two.metadata["tags"]


# --- whole documents


def whole(d: int) -> str:
    return "\n".join(f"d{d} line {n}" for n in range(2 + 3 * (d % 3)))


@in_every_way
@pytest.mark.parametrize("method", SEARCHES)
async def test_whole_documents(driver: Driver, library: Library, method: str) -> None:
    names = ["all kinds", "one kind", "a rare kind", "within some"]
    for k, name in [(k, name) for name in names for k in (1, 4, 20)]:
        options, allowed = OPTIONS[name]
        wanted = [hit.document for hit, _ in library.best("line", allowed, by="document")]
        found = await search(driver, library.rag, method, k=k, return_documents=True, **options)
        assert [document.id for document in found] == wanted[:k]
        for document in found:
            number = int(str(document.id)[1:])
            assert document.page_content == whole(number)
            assert document.metadata == {"page": number, "tags": ["a", {"b": number}]}


@in_every_way
async def test_whole_documents_say_what_found_them(driver: Driver, library: Library) -> None:
    found = await driver(
        library.rag,
        "similarity_search_with_score",
        "line",
        k=9,
        return_documents=True,
        match_details=True,
    )
    best = library.best("line", by="document")
    assert [(d.id, d.metadata[MATCH]["text"], d.metadata[MATCH]["rank"]) for d, _ in found] == [
        (hit.document, hit.text, rank) for hit, rank in best
    ]
    assert [d.metadata[MATCH]["score"] for d, _ in found] == [score for _, score in found]


class Shelf:
    """Few documents of many chunks in a world where things fail."""

    def __init__(self) -> None:
        self.world = World()
        self.rag = self.start()
        self.rag.add_documents(
            [self.document(n) for n in range(6)], ids=[f"d{n}" for n in range(6)]
        )

    def start(self) -> RAGVectorStore:
        return self.world.start(
            source_id_key=None, parent_transformer=ScriptedTransformer(str.splitlines)
        )

    @staticmethod
    def document(n: int, word: str = "prime") -> Document:
        # The nearer, the more chunks; all equally near.
        return Document("\n".join(f"{word} {'x ' * n}{i}" for i in range(12 - 2 * n)))


@pytest.mark.parametrize("work", ["delete", "update", "add"])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_k_documents_while_a_change_is_half_done(
    driver: Driver, work: str, moment: Any
) -> None:
    """Another process is in the middle of it, or was."""
    shelf = Shelf()
    saved = shelf.world.save()
    interrupted = 0
    for call in range(1, 30):
        shelf.world.load(saved)
        rag = shelf.start()
        shelf.world.plan.arm(call, moment, InjectedCrash)
        try:
            if work == "delete":
                await driver(rag, "delete", ["d0", "d1"])
            elif work == "update":
                docs = [shelf.document(0, "prime and"), shelf.document(1, "prime and")]
                await driver(rag, "add_documents", docs, ids=["d0", "d1"])
            else:
                docs = [shelf.document(0), shelf.document(1)]
                await driver(rag, "add_documents", docs, ids=["new", "newer"])
        except InjectedCrash:
            interrupted += 1
        else:
            shelf.world.plan.disarm()
            break
        rag = shelf.start()
        for method in ("similarity_search", "max_marginal_relevance_search"):
            found = await search(driver, rag, method, "prime", k=4, return_documents=True)
            ids = [document.id for document in found]
            assert len(set(ids)) == 4, (method, call, ids)
            for document in found:
                n = {"new": 0, "newer": 1}.get(str(document.id), int(str(document.id)[-1:], 36))
                versions = {
                    shelf.document(n, word).page_content
                    for word in (["prime", "prime and"] if n < 2 else ["prime"])
                }
                assert document.page_content in versions
    assert interrupted > 3


async def test_a_document_that_goes_during_the_search(driver: Driver) -> None:
    shelf = Shelf()
    docs = shelf.world.docs
    mget = docs.mget
    gone: list[str] = []

    def meanwhile(keys: Any) -> Any:
        if not gone:
            gone.append("d0")
            # The commit of its deletion comes between the rows and the manifests.
            for key in [k for k in docs.store if k.startswith("manifests/")]:
                if docs.store[key].metadata["document_id"] == "d0":
                    del docs.store[key]
        return mget(keys)

    docs.mget = meanwhile  # type: ignore[method-assign]
    rag = shelf.start()
    found = await search(driver, rag, "similarity_search", "prime", k=4, return_documents=True)
    assert gone
    assert len({document.id for document in found} - {"d0"}) == 4


# --- diversity


@in_every_way
@pytest.mark.parametrize("method", MMR)
@pytest.mark.parametrize("lambda_mult", [0.0, 0.3, 1.0])
async def test_mmr_is_among_chunks(
    driver: Driver, library: Library, method: str, lambda_mult: float
) -> None:
    names = ["all kinds", "a rare kind", "both"]
    sizes = [(3, 7), (4, 4), (5, 60), (5, 1)]
    for name, (k, fetch_k) in [(name, size) for name in names for size in sizes]:
        options, allowed = OPTIONS[name]
        best = library.best("line", allowed)[: max(k, fetch_k)]
        chosen = maximal_marginal_relevance(
            np.array(library.embeddings.vector("line")),
            [library.embeddings.vector(hit.text) for hit, _ in best],
            lambda_mult=lambda_mult,
            k=k,
        )
        found = await search(
            driver,
            library.rag,
            method,
            k=k,
            fetch_k=fetch_k,
            lambda_mult=lambda_mult,
            match_details=True,
            **options,
        )
        assert [d.page_content for d in found] == [best[n][0].chunk for n in chosen]
        assert [(d.metadata[MATCH]["text"], d.metadata[MATCH]["rank"]) for d in found] == [
            (best[n][0].text, best[n][1]) for n in chosen
        ]


@in_every_way
@pytest.mark.parametrize("method", MMR)
async def test_mmr_of_whole_documents(driver: Driver, library: Library, method: str) -> None:
    best = library.best("line", by="document")[:6]
    chosen = maximal_marginal_relevance(
        np.array(library.embeddings.vector("line")),
        [library.embeddings.vector(hit.text) for hit, _ in best],
        lambda_mult=0.2,
        k=4,
    )
    found = await search(
        driver,
        library.rag,
        method,
        k=4,
        fetch_k=6,
        lambda_mult=0.2,
        return_documents=True,
    )
    assert [d.id for d in found] == [best[n][0].document for n in chosen]


@in_every_way
async def test_a_retriever_s_mmr(driver: Driver, library: Library) -> None:
    kwargs = {"k": 3, "fetch_k": 9, "lambda_mult": 0.1, "kinds": {"Plain"}}
    retriever = library.rag.as_retriever(search_type="mmr", search_kwargs=kwargs)
    found = await driver(retriever, "invoke", "line")
    direct = await driver(library.rag, "max_marginal_relevance_search", "line", **kwargs)
    assert found == direct
    assert len(found) == 3


# --- sums of ranks


def by_sums(ranked: list[Hit], *, by: str = "chunk") -> list[str]:
    sums: dict[str, float] = {}
    for rank, hit in enumerate(ranked, start=1):
        sums[hit.chunk] = sums.get(hit.chunk, 0) + 1 / (60 + rank)
    chunks = sorted(sums, key=lambda chunk: -sums[chunk])
    documents = {hit.chunk: getattr(hit, by) for hit in ranked}
    return list(dict.fromkeys(documents[chunk] for chunk in chunks))


@in_every_way
@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("name", ["all kinds", "one kind", "a rare kind"])
async def test_rank_sums(driver: Driver, library: Library, method: str, name: str) -> None:
    """As many rows as are asked for are all that there are, so the reference is exact."""
    options, allowed = OPTIONS[name]
    # An unknown store is asked for a number of rows of any kind.
    if isinstance(library.wrapped, Unknown) and name != "all kinds":
        pytest.skip("the pool is another one")
    pool = library.ranked("line", allowed)[:200]
    for k in (1, 4):
        found = await texts(driver, library, method, k=k, aggregation="rank_sum", **options)
        assert found == by_sums(pool)[:k]


@in_every_way
async def test_rank_sums_differ_from_the_best(driver: Driver, library: Library) -> None:
    """Else the tests of them could not fail."""
    best = await texts(driver, library, "similarity_search", k=20)
    sums = await texts(driver, library, "similarity_search", k=20, aggregation="rank_sum")
    assert best != sums


@in_every_way
async def test_rank_sums_of_whole_documents(driver: Driver, library: Library) -> None:
    found = await search(
        driver,
        library.rag,
        "similarity_search",
        k=4,
        aggregation="rank_sum",
        return_documents=True,
    )
    expected = by_sums(library.ranked("line")[:200], by="document")
    assert [d.id for d in found] == expected[:4]


class Angles(CountingEmbeddings):
    """The cosine of a text with any query is the number that the text begins with."""

    @override
    def vector(self, text: str) -> list[float]:
        cosine = float(text.split(maxsplit=1)[0])
        return [cosine, (1 - cosine**2) ** 0.5]


@pytest.mark.parametrize("kind", [InMemoryVectorStore, SyncOnlyVectorStore])
async def test_rank_sums_do_not_depend_on_earlier_searches(
    driver: Driver, kind: Callable[..., VectorStore]
) -> None:
    wrapped = kind(Angles())
    # In the first forty, B's ranks sum up to more than A's; one further rank turns it.
    ranks = {"A": [1, 41], "B": [2, 40]}
    ranks |= {f"o{n}": [n, n + 1] for n in range(3, 39, 2)} | {"o39": [39]}
    ranks |= {"far": list(range(300, 310))}
    rag = RAGVectorStore(
        vectorstore=wrapped,
        docstore=InMemoryStore(),
        source_id_key=None,
        chunk_transformer=ScriptedTransformer(lambda text: text.split("; ")),
    )
    documents = [
        Document("; ".join(f"{1 - rank / 1000:.4f} rank {rank}" for rank in some))
        for some in ranks.values()
    ]
    await driver(rag, "add_documents", documents, ids=list(ranks))

    def start() -> RAGVectorStore:
        return RAGVectorStore(vectorstore=wrapped, docstore=rag.docstore, source_id_key=None)

    fresh, warm = start(), start()
    await driver(warm, "similarity_search", "0.69", k=len(ranks))
    for k in (1, 3, 10):
        first = await driver(fresh, "similarity_search", "1", k=k, aggregation="rank_sum")
        other = await driver(warm, "similarity_search", "1", k=k, aggregation="rank_sum")
        again = await driver(fresh, "similarity_search", "1", k=k, aggregation="rank_sum")
        writer = await driver(rag, "similarity_search", "1", k=k, aggregation="rank_sum")
        assert [d.id for d in first] == [d.id for d in again]
        assert [d.id for d in first] == [d.id for d in other]
        assert [d.id for d in first] == [d.id for d in writer]
        fresh = start()


# --- values

BAD: list[dict[str, Any]] = [
    {"kinds": 5},
    {"kinds": b"Plain"},
    {"kinds": {"Plain", 1}},
    {"kinds": [None]},
    {"kinds": [["Plain"]]},
    {"kinds": object()},
    {"except_kinds": 5},
    {"except_kinds": [None]},
    {"except_kinds": [{}]},
    {"within": 5},
    {"within": {1, 2}},
    {"within": [["d1"]]},
    {"aggregation": "sum"},
    {"aggregation": None},
    {"aggregation": ["best"]},
]


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, *MMR])
async def test_bad_values_are_refused(driver: Driver, library: Library, method: str) -> None:
    for options in BAD:
        (name,) = options
        with pytest.raises(ConfigurationError, match=f"^{name} is "):
            await search(driver, library.rag, method, **options)


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, *MMR])
async def test_numpy_s_numbers_and_texts(driver: Driver, library: Library, method: str) -> None:
    plain: dict[str, Any] = {"k": 3, "kinds": {"Plain"}, "within": {"d7", "d8"}}
    numpy_s: dict[str, Any] = {
        "k": np.int64(3),
        "kinds": np.array(["Plain"]),
        "within": list(np.array(["d7", "d8"])),
    }
    if method in MMR:
        plain |= {"fetch_k": 9, "lambda_mult": 0.5}
        numpy_s |= {"fetch_k": np.int32(9), "lambda_mult": np.float32(0.5)}
    expected = await search(driver, library.rag, method, **plain)
    assert len(expected) == 3
    assert await search(driver, library.rag, method, **numpy_s) == expected


@in_every_way
@pytest.mark.parametrize("method", [*SEARCHES, *MMR])
async def test_none_wanted(driver: Driver, library: Library, method: str) -> None:
    for options in (
        {},
        {"kinds": {"Plain"}},
        {"return_documents": True},
        {"aggregation": "rank_sum"},
    ):
        for k in (0, -1):
            assert await search(driver, library.rag, method, k=k, **options) == []


async def test_an_empty_store(driver: Driver) -> None:
    rag = RAGVectorStore(vectorstore=InMemoryVectorStore(Spread()), docstore=InMemoryStore())
    for options in ({"kinds": "a"}, {"return_documents": True}, {"match_details": True}):
        for method in [*SEARCHES, *MMR]:
            assert await search(driver, rag, method, **options) == []


async def test_a_store_without_scores_has_details_too(driver: Driver) -> None:
    """LangChain demands no more of a store than `similarity_search`."""

    class Bare(SyncOnlyVectorStore):
        similarity_search_with_score = VectorStore.similarity_search_with_score

    rag = RAGVectorStore(
        vectorstore=Bare(Spread()), docstore=InMemoryStore(), source_id_key=None
    )
    await driver(rag, "add_texts", ["one", "two"], ids=["1", "2"])
    found = await search(driver, rag, "similarity_search", "one", match_details=True)
    assert [d.id for d in found] == ["1", "2"]
    assert [d.metadata[MATCH] for d in found] == [
        {"kind": "chunk", "transformer": None, "text": text, "score": None, "rank": rank}
        for rank, text in enumerate(["one", "two"], start=1)
    ]


def test_the_reserved_word_is_the_one_that_users_read() -> None:
    assert MATCH in RESERVED
    assert TRANSFORMER in RESERVED
