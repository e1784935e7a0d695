"""The part of the conformance suite that adds, changes and deletes."""

# ruff: noqa: S101 - these are tests

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from langchain_rag.storage import InMemoryRecordManager
from langchain_rag.testing._over_store import OverStore, over_store
from langchain_rag.testing.fakes import ScriptedTransformer

if TYPE_CHECKING:
    from langchain_rag.testing.bench import Bench

__all__ = ["ConformingWrites"]

_MANY = 6_000


class ConformingWrites(OverStore):
    """Adds, changes, deletes."""

    @over_store
    async def test_add_change_delete_and_add_again(self, bench: Bench) -> None:
        """A document is found as it is now, and not as it was."""
        cats = Document("cats purr\ncats sleep", metadata={"page": 1, "by": "Ada"})
        dogs = Document("dogs bark", metadata={"page": 2})
        assert await bench.do("add_documents", [cats, dogs], ids=["c", "d"]) == ["c", "d"]
        assert sorted(await bench.found("cats dogs", k=9)) == [
            "cats purr",
            "cats sleep",
            "dogs bark",
        ]
        chunk = (await bench.do("similarity_search", "gamma cats purr", k=1))[0]
        assert (chunk.page_content, chunk.metadata) == ("cats purr", {"page": 1, "by": "Ada"})

        changed = Document("cats purr\ncats climb", metadata={"page": 1, "by": "Ada"})
        await bench.do("add_documents", [changed], ids=["c"])
        assert sorted(await bench.found("cats dogs", k=9)) == [
            "cats climb",
            "cats purr",
            "dogs bark",
        ]
        await bench.do("delete", ["c"])
        assert await bench.found("cats dogs", k=9) == ["dogs bark"]
        await bench.do("add_documents", [cats], ids=["c"])
        assert sorted(await bench.found("cats", k=2)) == ["cats purr", "cats sleep"]
        await bench.do("delete", ["c", "d"])
        assert await bench.found("cats dogs", k=9) == []

    @over_store
    async def test_an_empty_store(self, bench: Bench) -> None:
        """Nothing is found, and nothing is there to delete."""
        assert await bench.found("cats") == []
        assert await bench.do("similarity_search_with_score", "cats", k=2) == []
        assert await bench.do("max_marginal_relevance_search", "cats", k=2) == []
        assert await bench.do("delete", ["gone"]) is True
        assert await bench.do("add_documents", []) == []

    @over_store
    async def test_deleting_what_is_not_there(self, bench: Bench) -> None:
        """It is no error, whether some of the ids are there or none."""
        await bench.do("add_documents", [Document("cats")], ids=["c"])
        assert await bench.do("delete", ["gone", "lost"]) is True
        assert await bench.do("delete", ["gone", "c"]) is True
        assert await bench.do("delete", ["c"]) is True
        assert await bench.found("cats") == []

    @over_store
    async def test_other_metadata_only(self, bench: Bench) -> None:
        """Rows are rewritten in place: metadata is replaced, not merged."""
        for metadata in (
            {"page": 1, "by": "Ada"},
            {"page": 2, "by": "Ada"},
            {"page": 2},
            {},
            {"page": 3, "by": "Bob", "new": True},
        ):
            await bench.do("add_documents", [Document("cats", metadata=metadata)], ids=["c"])
            chunk = (await bench.do("similarity_search", "cats", k=1))[0]
            assert chunk.metadata == metadata
            assert await bench.problems() == []
            for _, row in await bench.rows() or []:
                known = {key: row[key] for key in row if key in ("page", "by", "new")}
                assert known.items() <= metadata.items()

    @over_store
    async def test_metadata_of_many_kinds(self, bench: Bench) -> None:
        """Documents need not have the same keys, nor values of the same types."""
        metadatas = [
            {"a": 1, "b": "text", "c": 1.5, "d": True, "e": ["list"], "f": {"deep": None}},
            {"b": 2},
            {"a": "text", "g": -3, "with space": "x", "ключ": "значение"},
            {},
        ]
        pages = [
            Document(f"page {n}", metadata=metadata) for n, metadata in enumerate(metadatas)
        ]
        ids = [str(n) for n in range(len(pages))]
        await bench.do("add_documents", pages, ids=ids)
        chunks = await bench.do("get_by_ids", ids)
        assert {chunk.page_content: chunk.metadata for chunk in chunks} == {
            page.page_content: page.metadata for page in pages
        }
        assert sorted(await bench.found("page", k=9)) == [page.page_content for page in pages]

    @over_store
    async def test_the_same_rows_again(self, bench: Bench) -> None:
        """They take the place of those before, under the same ids."""
        pages = [Document(f"page {n}") for n in range(5)]
        ids = [str(n) for n in range(5)]
        await bench.do("add_documents", pages, ids=ids)
        before = bench.expected()
        await bench.do("add_documents", pages, ids=ids, force=True)
        assert bench.expected() == before
        assert {str(uuid.UUID(id_)) for id_ in before} == before
        assert len(await bench.found("page", k=9)) == 5

    @over_store
    async def test_many_rows_in_one_call(self, bench: Bench) -> None:
        """More than some stores take in one call, or some databases in one statement."""

        def vary(text: str) -> list[str]:
            return [f"{text} {n}" for n in range(_MANY // 2)]

        bench.rag = bench.start(chunk_transformer=ScriptedTransformer(vary))
        pages = [Document("cats"), Document("dogs")]
        await bench.do("add_documents", pages, ids=["c", "d"])
        assert len(bench.expected()) == _MANY
        assert await bench.problems() == []
        # To find both, a search has to look at half of them, and at the others.
        assert await bench.found("cats", k=2) == ["cats", "dogs"]
        # What went in with one call goes out with one.
        await bench.do("delete", ["c", "d"])
        assert bench.expected() == set()

    @over_store
    async def test_langchain_s_index(self, bench: Bench) -> None:
        """`index()` names documents by a hash of 64 digits; rows still have ids of ours."""
        bench.rag = bench.start(source_id_key="source")
        records = InMemoryRecordManager(str(uuid.uuid4()))
        pages = [
            Document(f"page {n} of {source}", metadata={"source": source})
            for source in ("one", "two")
            for n in range(3)
        ]

        async def index(pages: list[Document]) -> tuple[int, ...]:
            counts = await bench.driver.index(
                pages, cleanup="scoped_full", **bench.rag.index_kwargs(records)
            )
            assert await bench.problems() == []
            return counts["num_added"], counts["num_skipped"], counts["num_deleted"]

        assert await index(pages) == (6, 0, 0)
        assert await index(pages) == (0, 6, 0)
        pages[0] = Document("page 0, changed", metadata={"source": "one"})
        assert await index(pages) == (1, 5, 1)
        assert await index(pages[:2]) == (0, 2, 1)
        assert sorted(await bench.found("page", k=9)) == [
            "page 0 of two",
            "page 0, changed",
            "page 1 of one",
            "page 1 of two",
            "page 2 of two",
        ]
