"""What `rag.index()` returns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_rag.lifecycle.index_report import IndexFailure, IndexReport

IDS = st.lists(st.text(max_size=3), max_size=5)


@given(IDS, IDS, IDS, IDS, st.integers(0, 5))
def test_numbers_are_those_of_the_lists(
    added: list[str], updated: list[str], unchanged: list[str], deleted: list[str], twice: int
) -> None:
    report = IndexReport(added, updated, unchanged, deleted, duplicates=twice)
    assert report.as_dict() == {
        "num_added": len(added),
        "num_updated": len(updated),
        "num_skipped": len(unchanged) + twice,
        "num_deleted": len(deleted),
    }
    assert (report.num_added, report.num_updated) == (len(added), len(updated))
    assert report.ok
    assert report.num_failed == 0
    assert len(str(report).splitlines()) == 2


def failure(
    id_: str | None = "a", chunk: str | None = None, reason: str = "why"
) -> IndexFailure:
    return IndexFailure(id_, "s", chunk, reason)


@pytest.mark.parametrize(
    ("failed", "number"),
    [
        ([], 0),
        ([failure("a")], 1),
        ([failure("a", "1"), failure("a", "2"), failure("a")], 1),
        ([failure("a"), failure("b")], 2),
        ([failure(None), failure(None)], 2),
        ([failure(None), failure("a"), failure("a", "1"), failure(None)], 3),
        ([failure(""), failure(None)], 2),
    ],
)
def test_documents_that_failed_count_once(failed: list[IndexFailure], number: int) -> None:
    report = IndexReport(failed=failed)
    assert report.num_failed == number
    assert report.ok is (number == 0)


def test_two_reports_share_nothing() -> None:
    one, two = IndexReport(), IndexReport()
    one.added.append("a")
    one.seconds["total"] = 1.0
    assert (two.added, two.seconds) == ([], {})


def test_nothing_to_do() -> None:
    assert str(IndexReport()).splitlines() == [
        "nothing to do",
        (
            "0 LLM calls, 0 answers from the cache, 0 texts embedded, "
            "0 vectors from the cache, 0 rows written"
        ),
    ]


def test_everything_at_once() -> None:
    report = IndexReport(
        added=["a"] * 1234,
        updated=["u"] * 2,
        unchanged=["n"] * 3,
        deleted=["d"],
        failed=[failure(), failure("b", "key-1"), failure(None, reason="no source")],
        duplicates=1,
        llm_calls=2345,
        input_tokens=10_000,
        output_tokens=500,
        cache_hits=7,
        embeddings=8,
        rows_written=9,
        seconds={"total": 61.25},
        cleanup_left_out="1 documents failed.",
    )
    assert str(report).splitlines() == [
        "1,234 added, 2 updated, 4 unchanged, 1 deleted, 3 failed in 61.2 s",
        (
            "2,345 LLM calls, 10,000 tokens in, 500 out, 7 answers from the cache, "
            "8 texts embedded, 0 vectors from the cache, 9 rows written"
        ),
        "Nothing was cleaned up: 1 documents failed.",
        "failed: a of s: why",
        "failed: b of s, chunk key-1 (by its plain text): why",
        "failed: a document of s: no source",
    ]
    assert not report.ok


def test_a_dry_run_says_so() -> None:
    report = IndexReport(added=["a"], llm_calls=1, input_tokens=1200, dry_run=True)
    first, second = str(report).splitlines()
    assert first == "dry run, nothing was done: 1 added"
    assert second.startswith("1 LLM calls, about 1,200 tokens in, ")


def test_many_failures_are_cut_short() -> None:
    report = IndexReport(failed=[failure(str(n)) for n in range(25)])
    lines = str(report).splitlines()
    assert lines[2] == "failed: 0 of s: why"
    assert lines[-2:] == ["failed: 9 of s: why", "... and 15 more failures, in `failed`"]
    assert len(lines) == 2 + 10 + 1


def test_a_clean_up_that_was_left_out_is_not_ok() -> None:
    assert not IndexReport(cleanup_left_out="because").ok
