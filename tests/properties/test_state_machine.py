"""Any sequence of imports, changes, deletions, searches and crashes agrees with a dict.

The model maps a document id to the versions that may be stored under it. It is one version,
except after an interruption: then it is the old one or the new one until a later call tells,
and until a call that changes something succeeds, the other may not be gone yet.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter
from typing_extensions import override

from langchain_rag._reserved import CHUNK, DOCUMENT
from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.document_transformers.nodes import Node, marked
from langchain_rag.errors import TransformerError
from langchain_rag.lifecycle.identity import positional_id
from langchain_rag.testing import (
    DRIVERS,
    MOMENTS,
    Driver,
    InjectedCrash,
    InjectedFault,
    Moment,
    ScriptedTransformer,
    World,
    audit,
    contents,
)


class Version(NamedTuple):
    """What a user imports."""

    text: str
    source: str
    rev: int

    def document(self, id_: str | None = None) -> Document:
        return Document(self.text, metadata={"source": self.source, "rev": self.rev}, id=id_)


class Row(NamedTuple):
    """A row of the vector store, and what it says of its chunk."""

    chunk: str
    variation: str
    revs: tuple[int, int] | None


Shape: TypeAlias = Literal["plain", "cut", "tree"]
Rows: TypeAlias = Counter[Row]
Candidates: TypeAlias = list[Version | None]

LINES = ["alpha beta", "gamma", "alpha delta", "beta alpha gamma", " "]
SEARCHES = [
    "similarity_search",
    "similarity_search_with_score",
    "max_marginal_relevance_search",
]

texts = st.lists(st.sampled_from(LINES), max_size=4).map("\n".join)
versions = st.builds(Version, texts, st.sampled_from("st"), st.integers(1, 2))
ids = st.sampled_from(["one", "two", "three"])
# Few, so that a page goes, and comes back as it was.
pages_of_index = st.builds(
    Version,
    st.sampled_from(["", "alpha beta", "alpha beta\ngamma\nalpha beta", "alpha delta"]),
    st.sampled_from("st"),
    st.just(1),
)

splitter = RecursiveCharacterTextSplitter(
    separators=["\n"], chunk_size=11, chunk_overlap=0, keep_separator=False
)
words = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)


class Words(ScriptedTransformer):
    """Cuts into words, and fails for chunks that it was told to fail for."""

    fingerprint = "words"

    def __init__(self) -> None:
        super().__init__(words.split_text)


def tree_of(text: str) -> list[tuple[str, Node]]:
    """The first line, as a summary, above the whole text, and that above the lines.

    So the same texts stand now here and now there, and change their places with others.
    """
    lines = [line for line in splitter.split_text(text) if line.strip()]
    if not lines:
        return []
    return [
        (lines[0], Node("top", level=2, kind="summary")),
        (text, Node("middle", ("top",), level=1, searched=False)),
        *((line, Node(str(n), ("middle",))) for n, line in enumerate(lines)),
    ]


class Trees(BaseDocumentTransformer):
    """Makes the trees."""

    fingerprint = "trees"

    @override
    def transform_documents(self, documents: Any, **kwargs: Any) -> list[Document]:
        return [
            marked(Document(text, metadata=dict(document.metadata)), node)
            for document in documents
            for text, node in tree_of(document.page_content)
        ]


def leaves_of(version: Version | None, shape: Shape) -> set[tuple[str, int]]:
    """What the chunk transformer is given: texts, and how many equal ones stand before."""
    if version is None:
        return set()
    chunks = [(one, Node("")) for one in splitter.split_text(version.text) if one.strip()]
    before: Counter[str] = Counter()
    found: set[tuple[str, int]] = set()
    for text, node in tree_of(version.text) if shape == "tree" else chunks:
        if node.level == 0:
            found.add((text, before[text]))
        before[text] += 1
    return found


@cache
def rows_of(version: Version | None, shape: Shape) -> Rows:
    if version is None:
        return Counter()
    chunks = [version.text] if shape == "plain" else splitter.split_text(version.text)
    revs = (version.rev, version.rev)
    rows: Rows = Counter()
    if shape == "tree":
        summaries = [text for text, node in tree_of(version.text) if node.kind]
        rows.update(Row(text, text, revs) for text in summaries)
    for chunk in chunks:
        if not chunk.strip():
            continue
        pieces = [] if shape == "plain" else words.split_text(chunk)
        rows[Row(chunk, chunk, revs)] += 1
        rows.update(Row(chunk, piece, revs) for piece in dict.fromkeys(pieces))
    return rows


def named(pages: list[Version]) -> dict[str, Version]:
    """Pages by what `rag.index()` calls them: source and place in it, without repetitions."""
    places: Counter[str] = Counter()
    found: dict[str, Version] = {}
    for page in dict.fromkeys(pages):
        found[positional_id(page.source, places[page.source])] = page
        places[page.source] += 1
    return found


def without_revs(rows: Rows) -> Rows:
    bare: Rows = Counter()
    for row, number in rows.items():
        bare[row._replace(revs=None)] += number
    return bare


class Library(RuleBasedStateMachine):
    """Documents with ids of the user's own, of `index()` and of `rag.index()`."""

    driver: ClassVar[Driver]
    shape: ClassVar[Shape]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.world = World()
        self.plan = self.world.plan
        self.model: dict[str, Candidates] = {}
        # Metadata is written in place, so a chunk that an interrupted change would have
        # kept may have that change's already; until its document is imported again.
        self.mixed: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.settled = True
        self.start()

    def teardown(self) -> None:
        self.loop.close()

    def start(self) -> None:
        options: dict[str, Any] = {"record_manager": self.world.record_manager}
        self.words = Words()
        if self.shape != "plain":
            options["parent_transformer"] = Trees() if self.shape == "tree" else splitter
            options["chunk_transformer"] = CopyDocumentTransformer() + self.words
        self.rag = self.world.start(**options)

    # --- what the stores should hold, and what they hold

    def rows_of(self, version: Version | None) -> Rows:
        return rows_of(version, self.shape)

    def stored(self) -> dict[str, Rows]:
        found = contents(self.rag, copy=False)
        chunks = found.room("chunks")
        stored: dict[str, Rows] = defaultdict(Counter)
        for row in found.rows.values():
            chunk = chunks[row.metadata[CHUNK]]
            revs = (row.metadata["rev"], chunk.metadata["metadata"]["rev"])
            id_ = row.metadata[DOCUMENT]
            stored[id_][Row(chunk.page_content, row.page_content, revs)] += 1
        return stored

    # --- doing something, which may be interrupted

    def perform(
        self, call: Awaitable[Any], success: dict[str, Candidates], doubt: set[str]
    ) -> Any:
        """Run a call, and learn from how it ends.

        Args:
            call: What to await.
            success: What each document that it touches is afterwards.
            doubt: Documents that may be gone or as they were after an interruption only.
        """
        before = {id_: self.model.get(id_, [None]) for id_ in {*success, *doubt}}
        try:
            result = self.loop.run_until_complete(call)
        except (InjectedFault, InjectedCrash) as error:
            for id_ in before:
                self.doubt(id_, [*success.get(id_, []), *([None] if id_ in doubt else [])])
            if isinstance(error, InjectedCrash):
                self.start()
            return None
        except TransformerError:
            # Nothing was interrupted: each document is what it was, or what it was to be.
            for id_, old in before.items():
                self.model[id_] = list(dict.fromkeys([*old, *success.get(id_, [])]))
            return None
        self.model.update(success)
        for id_ in success:
            self.mixed.pop(id_, None)
        return result

    def doubt(self, id_: str, new: Candidates) -> None:
        """A change of a document was interrupted."""
        self.settled = False
        self.model[id_] = list(dict.fromkeys([*self.model.get(id_, [None]), *new]))
        self.mixed[id_] |= {
            (row.chunk, version.rev)
            for version in self.model[id_]
            if version is not None
            for row in self.rows_of(version)
        }

    @rule(
        documents=st.dictionaries(ids, versions, min_size=1),
        batch_size=st.sampled_from([None, 1]),
    )
    def add(self, documents: dict[str, Version], batch_size: int | None) -> None:
        docs = [version.document() for version in documents.values()]
        result = self.perform(
            self.driver(
                self.rag, "add_documents", docs, ids=list(documents), batch_size=batch_size
            ),
            {id_: [version] for id_, version in documents.items()},
            set(),
        )
        if result is not None:
            assert result == list(documents)
            self.settled = True

    @rule(gone=st.lists(ids, min_size=1, unique=True))
    def delete(self, gone: list[str]) -> None:
        call = self.driver(self.rag, "delete", gone)
        if self.perform(call, {id_: [None] for id_ in gone}, set()) is not None:
            self.settled = True

    @rule(
        pages=st.lists(pages_of_index, max_size=4),
        cleanup=st.sampled_from(["scoped_full", "incremental", "full", None]),
        batch_size=st.sampled_from([1, 2, 10]),
    )
    def index(self, pages: list[Version], cleanup: str | None, batch_size: int) -> None:
        kwargs = self.world.index_kwargs(self.rag)
        encode = kwargs["key_encoder"]
        wanted = {encode(page.document()): page for page in pages}
        records = dict(self.world.record_manager.records)
        sources = {page.source for page in pages}
        gone = {
            key
            for key, record in records.items()
            if key not in wanted
            and (cleanup == "full" or (cleanup is not None and record["group_id"] in sources))
        }
        # LangChain's "incremental" deletes what comes again in a later batch.
        doubt = gone | (wanted.keys() if cleanup == "incremental" else set[str]())
        result = self.perform(
            self.driver.index(
                [page.document() for page in pages],
                cleanup=cleanup,
                batch_size=batch_size,
                **kwargs,
            ),
            {
                **{key: [page] for key, page in wanted.items()},
                **{key: [None] for key in gone},
            },
            doubt,
        )
        if result is not None and (result["num_added"] or result["num_deleted"]):
            self.settled = True

    @rule(
        own=st.dictionaries(st.sampled_from(["one", "four", "five"]), pages_of_index),
        nameless=st.lists(pages_of_index, max_size=4),
        cleanup=st.sampled_from(["scoped_full", "full", None]),
        on_error=st.sampled_from(["raise", "skip"]),
        unlucky=st.sets(st.sampled_from(["alpha beta", "gamma", "alpha delta"]), max_size=2),
        batch_size=st.sampled_from([1, 2, 10]),
    )
    def rag_index(
        self,
        own: dict[str, Version],
        nameless: list[Version],
        cleanup: str | None,
        on_error: str,
        unlucky: set[str],
        batch_size: int,
    ) -> None:
        wanted = own | named(nameless)
        sources = {page.source for page in wanted.values()}
        there = self.sources_stored()
        noted: dict[str, str | None] = {
            key: there.get(key, record["group_id"])
            for key, record in self.world.record_manager.records.items()
            if record["group_id"] in sources or cleanup == "full"
        }
        known = {**there, **noted} if cleanup == "full" else noted
        gone = {
            key
            for key, source in known.items()
            if key not in wanted
            and (cleanup == "full" or (cleanup is not None and source in sources))
        }
        was_settled = self.settled
        before = {id_: self.model.get(id_, [None]) for id_ in wanted}
        left = len(self.plan._faults)
        self.words.fail_when = unlucky.__contains__
        report = self.perform(
            self.driver(
                self.rag,
                "index",
                [
                    *(page.document(id_) for id_, page in own.items()),
                    *(page.document() for page in nameless),
                ],
                cleanup=cleanup,
                on_error=on_error,
                batch_size=batch_size,
                allow_empty=True,
            ),
            {
                **{key: [page] for key, page in wanted.items()},
                **{key: [None] for key in gone},
            },
            gone,
        )
        self.words.fail_when = None
        if report is None:
            return
        self.settled = True
        failed = {failure.document_id for failure in report.failed}
        for id_ in failed:
            self.model[id_] = before[id_]
            if len(self.plan._faults) < left:  # which was taken back, unless that failed too
                self.doubt(id_, [wanted[id_]])
        if len(self.plan._faults) == left:
            for id_, page in wanted.items():
                self.check_outcome(id_, before[id_], page, unlucky, id_ in failed)
        stored = [*report.added, *report.updated, *report.unchanged]
        assert sorted([*stored, *failed]) == sorted(wanted)
        if was_settled:
            assert set(report.deleted) == gone & there.keys()
        assert report.duplicates == len(own) + len(nameless) - len(wanted)

    def sources_stored(self) -> dict[str, str]:
        """The source of each document that has a manifest."""
        manifests = contents(self.rag, copy=False).room("manifests").values()
        return {one.metadata["document_id"]: one.metadata["source_id"] for one in manifests}

    def check_outcome(
        self, id_: str, before: Candidates, page: Version, unlucky: set[str], failed: bool
    ) -> None:
        """A document fails where the model is asked about a chunk that it fails for."""
        new = leaves_of(page, self.shape)
        if self.shape == "plain" or not unlucky.intersection(text for text, _ in new):
            assert not failed, f"{id_} failed without a reason"
        elif len(before) == 1 and id_ not in self.mixed:
            old = before[0]
            # What may read metadata is asked again when they change.
            same = old is not None and (old.source, old.rev) == (page.source, page.rev)
            made = new - leaves_of(old if same else None, self.shape)
            unmade = unlucky.intersection(text for text, _ in made)
            assert failed == bool(unmade), f"{id_}: {failed}"

    @rule(
        call=st.integers(1, 9),
        moment=st.sampled_from(MOMENTS),
        flavour=st.sampled_from([InjectedFault, InjectedCrash]),
    )
    def arm(self, call: int, moment: Moment, flavour: type[BaseException]) -> None:
        self.plan.arm(call, moment, flavour)

    @precondition(lambda self: self.plan.armed)
    @rule()
    def disarm(self) -> None:
        self.plan.disarm()

    @rule()
    def restart(self) -> None:
        self.start()

    @rule(
        method=st.sampled_from(SEARCHES),
        query=st.sampled_from(["alpha", "gamma beta", "nothing of the kind"]),
        k=st.integers(0, 12),
    )
    def search(self, method: str, query: str, k: int) -> None:
        found = contents(self.rag, copy=False)
        chunks = found.room("chunks")
        keys = {row.metadata[CHUNK] for row in found.rows.values()}
        there = Counter(chunks[key].page_content for key in keys)
        results = self.loop.run_until_complete(self.driver(self.rag, method, query, k=k))
        if method == "similarity_search_with_score":
            scores = [score for _, score in results]
            assert scores == sorted(scores, reverse=True)
            results = [document for document, _ in results]
        got = Counter(document.page_content for document in results)
        assert len(results) == min(k, len(keys))
        assert got <= there
        for document in results:
            assert document.metadata.keys() == {"source", "rev"}

    # --- what always holds

    @invariant()
    def stores_are_consistent(self) -> None:
        assert audit(self.rag, settled=self.settled) == []

    @invariant()
    def stores_agree_with_the_model(self) -> None:
        stored = self.stored()
        assert stored.keys() <= self.model.keys()
        for id_, candidates in list(self.model.items()):
            rows = stored.get(id_, Counter())
            if len(candidates) == 1 and id_ not in self.mixed:
                assert rows == self.rows_of(candidates[0])
            elif not self.settled:
                bare = without_revs(rows)
                assert any(bare >= without_revs(self.rows_of(v)) for v in candidates)
            else:
                self.model[id_] = self.narrowed(id_, rows)

    def narrowed(self, id_: str, rows: Rows) -> Candidates:
        """Which of the candidates it is."""
        candidates = self.model[id_]
        exact = [version for version in candidates if self.rows_of(version) == rows]
        if exact:
            self.mixed.pop(id_, None)
            return exact[:1]
        mixed = self.mixed.get(id_, set())
        assert all((row.chunk, rev) in mixed for row in rows for rev in row.revs or ())
        bare = without_revs(rows)
        same = [v for v in candidates if without_revs(self.rows_of(v)) == bare]
        assert same
        return same


def machine(driver: Driver, shape: Shape) -> type[Any]:
    name = f"{driver.name}{shape.capitalize()}"
    made: Any = type(name, (Library,), {"driver": driver, "shape": shape})
    case: type[Any] = made.TestCase
    return case


# As many as the time allows: a tree is cut as well, and has the most that can go wrong.
TestSyncPlain = machine(DRIVERS[0], "plain")
TestAsyncCut = machine(DRIVERS[1], "cut")
TestSyncTree = machine(DRIVERS[0], "tree")
TestAsyncTree = machine(DRIVERS[1], "tree")
