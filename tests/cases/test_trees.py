"""A tree of chunks is imported, changed, searched, checked and deleted as one thing."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document

from langchain_rag._reserved import CHUNK, KIND, RESERVED, TRANSFORMER
from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.document_transformers.nodes import Node
from langchain_rag.errors import TransformerError
from langchain_rag.lifecycle.records import read_manifest
from langchain_rag.testing import (
    MOMENTS,
    Driver,
    InjectedCrash,
    InjectedFault,
    Moment,
    ScriptedTransformer,
    World,
    audit,
    contents,
    reachable,
)
from langchain_rag.vectorstores import RAGVectorStore
from tests.cases.trees import Grow, ScriptedTree, three_levels

TEXT = "alpha one\nbeta two\n\ngamma three"
ROWS = {
    ("about alpha beta gamma", "about alpha beta gamma"),
    ("alpha one", "alpha one"),
    ("alpha one", "alpha"),
    ("alpha one", "one"),
    ("beta two", "beta two"),
    ("beta two", "beta"),
    ("beta two", "two"),
    ("gamma three", "gamma three"),
    ("gamma three", "gamma"),
    ("gamma three", "three"),
}


class Words(ScriptedTransformer):
    """One variation of each word."""

    fingerprint = "words"
    reads_metadata = False

    def __init__(self) -> None:
        super().__init__(str.split)


class Forest:
    """A world whose documents are trees.

    Attributes:
        tree: Makes them.
        words: Makes variations of what is searched.
    """

    def __init__(self, grow: Grow = three_levels) -> None:
        self.world = World()
        self.tree = ScriptedTree(grow)
        self.words = Words()
        self.rag = self.start()

    def start(self) -> RAGVectorStore:
        self.rag = self.world.start(
            source_id_key="source",
            record_manager=self.world.record_manager,
            parent_transformer=self.tree,
            chunk_transformer=CopyDocumentTransformer() + self.words,
        )
        return self.rag

    def forget(self) -> None:
        """Count anew."""
        self.tree.seen.clear()
        self.words.seen.clear()
        self.world.embeddings.reset()

    def check(self) -> None:
        assert audit(self.rag) == []
        report = self.rag.verify(record_manager=self.world.record_manager)
        assert report.ok, str(report)


class Level(NamedTuple):
    """A chunk as the manifest has it."""

    text: str
    level: int
    parents: tuple[str, ...]
    kinds: dict[str, int]


def tree_of(rag: RAGVectorStore, id_: str) -> list[Level]:
    """What the manifest of a document says, with texts in place of keys."""
    found = contents(rag)
    texts = {key: value.page_content for key, value in found.room("chunks").items()}
    for key, value in found.room("manifests").items():
        manifest = read_manifest(key, value)
        if manifest.document_id == id_:
            return [
                Level(
                    texts[entry.key],
                    entry.level,
                    tuple(texts[parent] for parent in entry.parents),
                    dict(entry.kinds),
                )
                for entry in manifest.chunks
            ]
    return []


def rows_of(rag: RAGVectorStore) -> set[tuple[str, str]]:
    return {(chunk, variation) for _, chunk, variation in reachable(rag)}


def doc(text: str, id_: str = "d", **metadata: Any) -> Document:
    return Document(text, metadata={"source": "s", **metadata}, id=id_)


async def add(driver: Driver, rag: RAGVectorStore, *documents: Document, **kw: Any) -> None:
    await driver(rag, "add_documents", list(documents), ids=[d.id for d in documents], **kw)


async def test_all_levels_are_kept_and_only_searched_ones_are_found(driver: Driver) -> None:
    forest = Forest()
    await add(driver, forest.rag, doc(TEXT))
    copied = "CopyDocumentTransformer"
    leaf = {copied: 1, "Words": 2}
    assert [level._replace(kinds={}) for level in tree_of(forest.rag, "d")] == [
        Level("about alpha beta gamma", 2, (), {}),
        Level("alpha one\nbeta two", 1, ("about alpha beta gamma",), {}),
        Level("alpha one", 0, ("alpha one\nbeta two",), {}),
        Level("beta two", 0, ("alpha one\nbeta two",), {}),
        Level("gamma three", 1, ("about alpha beta gamma",), {}),
        Level("gamma three", 0, ("gamma three",), {}),
    ]
    kinds = [level.kinds for level in tree_of(forest.rag, "d")]
    assert [sum(kind.values()) for kind in kinds] == [1, 0, 3, 3, 0, 3]
    assert kinds[0] == {"summary": 1}
    assert kinds[2].keys() >= leaf.keys() - {copied}
    assert rows_of(forest.rag) == ROWS
    forest.check()
    found = await driver(forest.rag, "similarity_search", "alpha beta two", k=20)
    assert sorted(d.page_content for d in found) == sorted(
        ["about alpha beta gamma", "alpha one", "beta two", "gamma three"]
    )
    # What the transformer says of itself is seen, what it says to us is not.
    assert {d.page_content: d.metadata["level"] for d in found}["alpha one"] == 0
    assert not any(RESERVED & d.metadata.keys() for d in found)
    ids = {d.page_content: d.id for d in found}
    keys = {
        value.page_content: key
        for key, value in contents(forest.rag).room("chunks").items()
        if value.metadata["fan_out"]
    }
    assert ids == keys
    # Those that are not searched can still be had.
    inner = next(
        key
        for key, value in contents(forest.rag).room("chunks").items()
        if value.page_content == "alpha one\nbeta two"
    )
    (paragraph,) = await driver(forest.rag, "get_by_ids", [inner])
    assert (paragraph.page_content, paragraph.metadata) == (
        "alpha one\nbeta two",
        {"source": "s", "level": 1},
    )


async def test_given_kinds_do_not_go_through_the_chunk_transformer(driver: Driver) -> None:
    forest = Forest()
    await add(driver, forest.rag, doc(TEXT))
    assert sorted(forest.words.seen) == ["alpha one", "beta two", "gamma three"]
    (row,) = [
        row
        for row in contents(forest.rag).rows.values()
        if row.page_content == "about alpha beta gamma"
    ]
    assert row.metadata[KIND] == "summary"
    assert TRANSFORMER not in row.metadata  # the scripted one does not say who it is
    assert row.metadata["level"] == 2


async def test_without_a_chunk_transformer(driver: Driver) -> None:
    forest = Forest()
    rag = forest.world.start(source_id_key=None, parent_transformer=forest.tree)
    await add(driver, rag, doc(TEXT))
    assert rows_of(rag) == {pair for pair in ROWS if pair[0] == pair[1]}
    assert audit(rag) == []


async def test_an_unchanged_tree_costs_nothing(driver: Driver) -> None:
    forest = Forest()
    await add(driver, forest.rag, doc(TEXT))
    before = forest.world.save()
    forest.forget()
    await add(driver, forest.rag, doc(TEXT))
    assert (forest.words.seen, forest.world.embeddings.documents) == ([], [])
    assert forest.world.save() == before
    # Also where it is cut again.
    forest.tree.fingerprint = None  # type: ignore[assignment]
    rag = forest.start()
    await add(driver, rag, doc(TEXT))
    assert (forest.words.seen, forest.world.embeddings.documents) == ([], [])
    rows, docs, _ = before
    assert contents(rag).rows.keys() == rows.keys()
    changed = {k for k, v in forest.world.docs.store.items() if docs.get(k) != v}
    # Only that nobody knows any longer what cut it.
    assert {key.partition("/")[0] for key in changed} <= {"manifests"}


async def test_only_what_changed_is_made_again(driver: Driver) -> None:
    forest = Forest()
    await add(driver, forest.rag, doc(TEXT))
    docs = dict(forest.world.docs.store)
    rows = {id_: dict(row) for id_, row in forest.world.rows.store.items()}
    forest.forget()
    await add(driver, forest.rag, doc("alpha one\nbeta six\n\ngamma three"))
    assert forest.words.seen == ["beta six"]
    assert sorted(forest.world.embeddings.documents) == ["beta", "beta six", "six"]
    texts = [level.text for level in tree_of(forest.rag, "d")]
    assert "alpha one\nbeta six" in texts
    assert "alpha one\nbeta two" not in texts
    forest.check()
    # Nothing else was written.
    changed = {k for k, v in forest.world.docs.store.items() if docs.get(k) is not v}
    assert Counter(key.partition("/")[0] for key in changed) == {
        "chunks": 2,  # the line and its paragraph
        "variations": 2,
        "manifests": 1,
    }
    same = {k for k, row in forest.world.rows.store.items() if rows.get(k) == row}
    assert len(same) == len(ROWS) - 3


async def test_metadata_alone_is_no_matter_of_embedding(driver: Driver) -> None:
    forest = Forest()
    # Not through what makes it fail, which hides that rows can be relabelled.
    forest.rag = RAGVectorStore(
        vectorstore=forest.world.rows,
        docstore=forest.world.docs,
        parent_transformer=forest.tree,
        chunk_transformer=CopyDocumentTransformer() + forest.words,
    )
    await add(driver, forest.rag, doc(TEXT, page=1))
    forest.forget()
    await add(driver, forest.rag, doc(TEXT, page=2))
    assert forest.words.seen == []
    assert forest.world.embeddings.documents == []
    pages = {row.metadata["page"] for row in contents(forest.rag).rows.values()}
    assert pages == {2}
    found = await driver(forest.rag, "similarity_search", "alpha", k=9)
    assert {d.metadata["page"] for d in found} == {2}
    assert rows_of(forest.rag) == ROWS
    forest.check()


async def test_another_parent_costs_nothing(driver: Driver) -> None:
    """A chunk that moves to another parent of the same tree is as it was."""

    def grow(text: str) -> list[tuple[str, Node | None]]:
        # The parent's name and the lines under it.
        made: list[tuple[str, Node | None]] = [
            ("north", Node("n", level=1, searched=False)),
            ("south", Node("s", level=1, kind="summary")),
        ]
        for line in text.split("\n"):
            parents, _, rest = line.partition(" ")
            made.append((rest, Node(rest, tuple(parents.strip("-")))))
        return made

    forest = Forest(grow)
    await add(driver, forest.rag, doc("n one\ns two\n- three"))
    before = forest.world.save()
    forest.forget()
    await add(driver, forest.rag, doc("s one\nns two\nn three"))
    assert {level.text: level.parents for level in tree_of(forest.rag, "d")} == {
        "north": (),
        "south": (),
        "one": ("south",),
        "two": ("north", "south"),
        "three": ("north",),
    }
    assert (forest.words.seen, forest.world.embeddings.documents) == ([], [])
    rows, docs, _ = before
    assert forest.world.rows.store == rows
    changed = {k for k, v in forest.world.docs.store.items() if docs.get(k) is not v}
    assert {key.partition("/")[0] for key in changed} == {"manifests"}
    forest.check()


async def test_deletion_takes_every_level(driver: Driver) -> None:
    forest = Forest()
    await add(driver, forest.rag, doc(TEXT), doc("delta four", "other"))
    await driver(forest.rag, "delete", ["d"])
    assert rows_of(forest.rag) == {
        ("about delta", "about delta"),
        ("delta four", "delta four"),
        ("delta four", "delta"),
        ("delta four", "four"),
    }
    assert {c.page_content for c in contents(forest.rag).room("chunks").values()} == {
        "about delta",
        "delta four",
    }
    forest.check()
    await driver(forest.rag, "delete", ["other"])
    assert contents(forest.rag).rows == {}
    assert contents(forest.rag).records == {}


# --- a chunk that comes to stand elsewhere

PLACES: dict[str, dict[str, Any]] = {
    "leaf": {},
    "high leaf": {"level": 2},
    "inner": {"level": 1, "searched": False},
    "high inner": {"level": 2, "searched": False},
    "low inner": {"searched": False},
    "summary": {"level": 1, "kind": "summary"},
    "high summary": {"level": 2, "kind": "summary"},
    "low summary": {"kind": "summary"},
    # The name of what the chunk_transformer makes, for what it does not make.
    "copy": {"level": 2, "kind": "CopyDocumentTransformer"},
    "low words": {"kind": "Words"},
}


def moving(text: str) -> list[tuple[str, Node | None]]:
    """The text says what place the chunk `some words` has; another one never moves."""
    return [
        ("stays here", Node("other", level=3)),
        ("some words", Node("one", ("other",), **PLACES[text.split("|", maxsplit=1)[0]])),
    ]


def state(rag: RAGVectorStore) -> tuple[Any, ...]:
    rows = {
        (row.metadata[CHUNK], row.metadata[KIND], row.page_content)
        for row in contents(rag).rows.values()
    }
    variations = {
        key: value.metadata["variations"]
        for key, value in contents(rag).room("variations").items()
    }
    return tree_of(rag, "d"), rows, variations


@pytest.fixture(scope="module")
def fresh() -> dict[str, tuple[Any, ...]]:
    """What is there of each place if nothing was there before."""
    states: dict[str, tuple[Any, ...]] = {}
    for place in PLACES:
        forest = Forest(moving)
        forest.rag.add_documents([doc(place)], ids=["d"])
        states[place] = state(forest.rag)
    return states


def test_the_places_differ(fresh: dict[str, tuple[Any, ...]]) -> None:
    rows = {place: len(found[1]) - 3 for place, found in fresh.items()}
    assert rows == {
        "leaf": 3,
        "high leaf": 3,
        "inner": 0,
        "high inner": 0,
        "low inner": 0,
        "summary": 1,
        "high summary": 1,
        "low summary": 1,
        "copy": 1,
        "low words": 1,
    }


@pytest.mark.parametrize("before", PLACES)
async def test_a_place_that_changes_leaves_nothing_stale(
    driver: Driver, fresh: dict[str, tuple[Any, ...]], before: str
) -> None:
    for after in PLACES:
        forest = Forest(moving)
        await add(driver, forest.rag, doc(before))
        await add(driver, forest.rag, doc(after))
        assert state(forest.rag) == fresh[after], after
        forest.check()
        await add(driver, forest.rag, doc(before, page=1))
        assert [level.kinds for level in state(forest.rag)[0]] == [
            level.kinds for level in fresh[before][0]
        ], after
        forest.check()


ROLES = ["leaf", "low inner", "high summary", "low words"]


@pytest.mark.parametrize("before", ROLES)
@pytest.mark.parametrize("flavour", [InjectedFault, InjectedCrash])
async def test_a_place_whose_change_was_interrupted(
    driver: Driver,
    fresh: dict[str, tuple[Any, ...]],
    before: str,
    flavour: type[BaseException],
) -> None:
    """Whichever version is imported next, it is as if nothing had happened."""
    forest = Forest(moving)
    await add(driver, forest.rag, doc(before))
    saved = forest.world.save()
    moments: list[Moment] = list(MOMENTS)
    for after in ROLES:
        if after == before:
            continue
        for moment in moments:
            for call in range(1, 40):
                forest.world.load(saved)
                rag = forest.start()
                forest.world.plan.arm(call, moment, flavour)
                try:
                    await add(driver, rag, doc(after))
                except (InjectedFault, InjectedCrash):
                    pass
                else:
                    forest.world.plan.disarm()
                    break
                interrupted = forest.world.save()
                for last in (before, after):
                    forest.world.load(interrupted)
                    rag = forest.start()
                    # Cut anew: what was committed may be either.
                    await add(driver, rag, doc(f"{last}|again"))
                    where = f"to {after}, {moment} call {call}, then {last}"
                    assert state(rag) == fresh[last], where
                    assert audit(rag) == [], where


# --- what is no tree

WRONG: dict[str, list[tuple[str, Any]]] = {
    "two of a name": [("one", Node("a")), ("two", Node("a"))],
    "a parent that is not there": [("one", Node("a", ("b",)))],
    "a parent that is blank": [("one", Node("a", ("b",))), (" ", Node("b", level=1))],
    "a parent on the same level": [("one", Node("a", ("b",))), ("two", Node("b"))],
    "a circle": [
        ("one", Node("a", ("b",), level=1)),
        ("two", Node("b", ("a",), level=2)),
    ],
    "its own parent": [("one", Node("a", ("a",)))],
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_tree_is_refused_before_anything_is_touched(
    driver: Driver, name: str
) -> None:
    def grow(text: str) -> list[tuple[str, Node | None]]:
        return WRONG[name] if text == "wrong" else three_levels(text)

    forest = Forest(grow)
    await add(driver, forest.rag, doc(TEXT), doc("as it was", "e"))
    before = forest.world.save()
    with pytest.raises(TransformerError, match="no tree of document 'd'"):
        await add(driver, forest.rag, doc("is new", "e"), doc("wrong"))
    assert forest.world.save() == before
    forest.check()


async def test_a_mark_that_is_none_is_refused(driver: Driver) -> None:
    forest = Forest()
    outputs = [Document("one", metadata={"langchain_rag_node": {"name": "a"}})]
    forest.tree.transform_documents = lambda _documents, **_: outputs  # type: ignore[method-assign]
    with pytest.raises(TransformerError, match="mark it with"):
        await add(driver, forest.rag, doc(TEXT))
    assert contents(forest.rag).records == {}


async def test_marked_and_unmarked_chunks_together(driver: Driver) -> None:
    forest = Forest(
        lambda text: [(text, None), ("over it", Node("top", level=1, searched=False))]
    )
    await add(driver, forest.rag, doc("alpha one"))
    levels = [(one.text, one.level, one.parents) for one in tree_of(forest.rag, "d")]
    assert levels == [("alpha one", 0, ()), ("over it", 1, ())]
    assert rows_of(forest.rag) == {pair for pair in ROWS if pair[0] == "alpha one"}


async def test_levels_of_one_text(driver: Driver) -> None:
    """A document of one line is its own paragraph; then it grows, and shrinks again."""
    forest = Forest()
    short, longer = "alpha one", "alpha one\nalpha one"
    for text in (short, longer, short):
        await add(driver, forest.rag, doc(text))
        leaves = text.split("\n")
        assert [(one.text, one.level) for one in tree_of(forest.rag, "d")] == [
            ("about " + " ".join(["alpha"] * len(leaves)), 2),
            (text, 1),
            *((line, 0) for line in leaves),
        ]
        assert Counter(
            row.page_content for row in contents(forest.rag).rows.values()
        ) == Counter(
            {
                "about " + " ".join(["alpha"] * len(leaves)): 1,
                "alpha one": len(leaves),
                "alpha": len(leaves),
                "one": len(leaves),
            }
        )
        forest.check()


# --- what was damaged


def place_of(world: World, room: str, key: str) -> str:
    """The key of a record in the docstore."""
    return next(k for k in world.docs.store if k.startswith(f"{room}/") and k.endswith(key))


def key_of(rag: RAGVectorStore, text: str, *, level: int) -> str:
    entries = contents(rag).room("chunks").items()
    return next(
        key
        for key, value in entries
        if value.page_content == text and value.metadata["metadata"]["level"] == level
    )


DAMAGES = {
    "inner chunk": ("chunks", "alpha one\nbeta two", 1),
    "inner variations": ("variations", "alpha one\nbeta two", 1),
    "top chunk": ("chunks", "about alpha beta gamma", 2),
    "top variations": ("variations", "about alpha beta gamma", 2),
    "leaf chunk": ("chunks", "beta two", 0),
    "leaf variations": ("variations", "beta two", 0),
    "top rows": ("rows", "about alpha beta gamma", 2),
    "leaf rows": ("rows", "beta two", 0),
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("lost", [True, False], ids=["lost", "damaged"])
async def test_repair_of_a_tree(driver: Driver, name: str, lost: bool) -> None:
    forest = Forest()
    await add(driver, forest.rag, doc(TEXT), doc("delta four", "other"))
    whole = contents(forest.rag)
    room, text, level = DAMAGES[name]
    key = key_of(forest.rag, text, level=level)
    if room == "rows":
        if not lost:
            pytest.skip("a row of another text is no damage that can be seen")
        rows = forest.world.rows.store
        for id_ in [i for i, row in rows.items() if row["metadata"][CHUNK] == key]:
            del rows[id_]
    elif lost:
        del forest.world.docs.store[place_of(forest.world, room, key)]
    else:
        forest.world.docs.store[place_of(forest.world, room, key)] = Document("nonsense")
    rag = forest.start()
    report = await driver(rag, "verify", record_manager=forest.world.record_manager)
    assert not report.ok
    await driver(rag, "repair", record_manager=forest.world.record_manager)
    forest.check()
    if room == "rows":
        assert contents(rag).rows == whole.rows
    # Whatever could not be put back comes back with the document.
    await add(driver, rag, doc(TEXT))
    assert rows_of(rag) >= ROWS
    assert contents(rag).rows == whole.rows
    assert {one.text: one.parents for one in tree_of(rag, "d")} == {
        "about alpha beta gamma": (),
        "alpha one\nbeta two": ("about alpha beta gamma",),
        "alpha one": ("alpha one\nbeta two",),
        "beta two": ("alpha one\nbeta two",),
        # both the paragraph and its line, of which the line comes last
        "gamma three": ("gamma three",),
    }
    forest.check()


async def test_repair_leaves_no_parent_that_is_not_there(driver: Driver) -> None:
    forest = Forest()
    await add(driver, forest.rag, doc(TEXT))
    key = key_of(forest.rag, "alpha one\nbeta two", level=1)
    del forest.world.docs.store[place_of(forest.world, "chunks", key)]
    rag = forest.start()
    await driver(rag, "repair")
    texts = {one.text for one in tree_of(rag, "d")}  # which looks up every parent
    assert texts == {"about alpha beta gamma", "alpha one", "beta two", "gamma three"}
    found = await driver(rag, "similarity_search", "beta two", k=1)
    assert [d.page_content for d in found] == ["beta two"]


# --- through the two ways of indexing


async def test_rag_index(driver: Driver) -> None:
    forest = Forest()
    first = await driver(forest.rag, "index", [doc(TEXT), doc("delta four", "other")])
    assert sorted(first.added) == ["d", "other"]
    assert first.rows_written == len(ROWS) + 4
    forest.check()
    forest.forget()
    again = await driver(forest.rag, "index", [doc(TEXT), doc("delta four", "other")])
    assert sorted(again.unchanged) == ["d", "other"]
    assert forest.world.embeddings.documents == []
    third = await driver(forest.rag, "index", [doc("alpha one\n\ngamma three")])
    assert (third.updated, third.deleted) == (["d"], ["other"])
    assert rows_of(forest.rag) == {
        ("about alpha gamma", "about alpha gamma"),
        *(pair for pair in ROWS if pair[0] in {"alpha one", "gamma three"}),
    }
    forest.check()


async def test_langchain_s_index(driver: Driver) -> None:
    forest = Forest()
    kwargs = {**forest.world.index_kwargs(forest.rag), "cleanup": "full"}
    counts = await driver.index([doc(TEXT), doc("delta four")], **kwargs)
    assert (counts["num_added"], counts["num_deleted"]) == (2, 0)
    counts = await driver.index([doc(TEXT), doc("delta four")], **kwargs)
    assert (counts["num_added"], counts["num_skipped"]) == (0, 2)
    counts = await driver.index([doc(TEXT)], **kwargs)
    assert (counts["num_skipped"], counts["num_deleted"]) == (1, 1)
    assert rows_of(forest.rag) == ROWS
    forest.check()


@pytest.mark.parametrize("on_error", ["raise", "skip", "copy"])
async def test_a_chunk_transformer_that_fails(driver: Driver, on_error: str) -> None:
    forest = Forest()
    await driver(forest.rag, "index", [doc(TEXT)])
    before = contents(forest.rag)
    forest.words.fail_when = lambda text: "six" in text
    new = doc("alpha one\nbeta six\n\ngamma three")
    call = driver(forest.rag, "index", [new, doc("delta four", "other")], on_error=on_error)
    if on_error == "raise":
        with pytest.raises(TransformerError, match="told to fail"):
            await call
        assert rows_of(forest.rag) == ROWS
    else:
        report = await call
        assert {failure.document_id for failure in report.failed} == {"d"}
        assert report.added == ["other"]
        texts = {one.text for one in tree_of(forest.rag, "d")}
        if on_error == "skip":
            assert contents(forest.rag).rows.items() >= before.rows.items()
            assert "beta six" not in texts
        else:
            assert ("beta six", "beta six") in rows_of(forest.rag)
            assert "alpha one\nbeta six" in texts
        assert audit(forest.rag) == []
    forest.words.fail_when = None
    forest.forget()
    report = await driver(forest.rag, "index", [new, doc("delta four", "other")])
    assert report.failed == []
    assert forest.words.seen.count("beta six") == 1
    assert ("beta six", "six") in rows_of(forest.rag)
    assert "alpha one" not in forest.words.seen
    forest.check()


@pytest.mark.parametrize("on_error", ["raise", "skip", "copy"])
@pytest.mark.parametrize("how", ["fails", "no tree"])
async def test_a_tree_that_cannot_be_made(driver: Driver, on_error: str, how: str) -> None:
    def grow(text: str) -> list[tuple[str, Node | None]]:
        return WRONG["a circle"] if text == "wrong" else three_levels(text)

    forest = Forest(grow)
    await driver(forest.rag, "index", [doc(TEXT)])
    if how == "fails":
        forest.tree.fail_when = "wrong".__eq__
    before = dict(contents(forest.rag).rows)
    call = driver(
        forest.rag, "index", [doc("wrong"), doc("delta four", "other")], on_error=on_error
    )
    if on_error == "raise":
        with pytest.raises(TransformerError, match=r"told to fail|no tree"):
            await call
        assert contents(forest.rag).rows == before
        return
    report = await call
    assert [failure.document_id for failure in report.failed] == ["d"]
    assert report.added == ["other"]
    assert contents(forest.rag).rows.items() >= before.items()
    forest.check()
