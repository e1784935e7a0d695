"""How reports print."""

from __future__ import annotations

import json
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from langchain_rag.audit import (
    Finding,
    FindingKind,
    RepairReport,
    StatsReport,
    VerifyReport,
)

EVIL = "<script>alert('x')</script>&\x1b[2J\n"


def verify_report(*findings: Finding, **options: Any) -> VerifyReport:
    given: dict[str, Any] = {
        "findings": findings,
        "documents": 1234,
        "rows": 5,
        "foreign_rows": 0,
        "busy": (),
        "unchecked": (),
        "seconds": 1.25,
    }
    return VerifyReport(**{**given, **options})


def many(number: int) -> list[Finding]:
    return [Finding(FindingKind.MISSING_ROW, f"doc{n}", f"row{n}") for n in range(number)]


def test_a_clean_one_is_a_line() -> None:
    assert str(verify_report()) == "clean: 1,234 documents and 5 rows in 1.2 s"
    assert str(verify_report(rows=None)) == "clean: 1,234 documents in 1.2 s"


@pytest.mark.parametrize(("number", "lines"), [(1, 1), (20, 20), (21, 20), (1500, 20)])
def test_a_table_has_twenty_rows(number: int, lines: int) -> None:
    report = verify_report(*many(number))
    text = str(report)
    assert text.startswith(f"missing row ({number:,}) found: ")
    assert text.count("\nmissing row  ") == lines
    more = number - lines
    assert text.endswith(f"and {more:,} more") is bool(more)
    assert report._repr_html_().count("<tr>") == lines + 1
    assert (f"and {more:,} more" in report._repr_html_()) is bool(more)


def test_every_finding_says_what_it_means_and_what_is_done() -> None:
    for kind in FindingKind:
        said = str(Finding(kind, "euclid", "key", "More."))
        assert kind.value in said
        assert "'euclid'" in said
        assert "repair()" in said
        assert said.endswith("More.")
        report = verify_report(Finding(kind, None, "key"))
        for text in (str(report), unescape(report._repr_html_())):
            assert f"{kind}: {kind.meaning} {kind.remedy}" in text


def test_everything_is_escaped() -> None:
    report = verify_report(
        Finding(FindingKind.ORPHAN_ROW, EVIL, EVIL, EVIL), unchecked=(EVIL,), busy=(EVIL,)
    )
    html = report._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in str(report.table and report.table.text())
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert set(tags) <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td"}


CONTROLS = "\x1b]0;x\x07 \x9b2J \u202e\u2066 \u2028 \n \r \ud800"


def test_nothing_moves_a_cursor_or_turns_a_line() -> None:
    """Whatever ids, keys, details and notes say, each is on its line, and all of it is seen."""
    finding = Finding(FindingKind.ORPHAN_ROW, CONTROLS, CONTROLS, CONTROLS)
    report = verify_report(finding, unchecked=(CONTROLS,))
    assert str(finding).isprintable()
    assert "\\x1b]0;x\\x07" in str(finding)
    for text in (str(report), *report.lines):
        assert text.replace("\n", "").isprintable()
    assert len(report.lines) == 3
    assert report._repr_html_().isprintable()
    assert report.json().isascii()
    assert report.findings[0].key == CONTROLS  # as it is, for a program


def test_documents_are_listed_once() -> None:
    findings = [*many(2), *many(1), Finding(FindingKind.ORPHAN_VARIATIONS, None, "k")]
    report = verify_report(*findings)
    assert report.document_ids == ["doc0", "doc1"]
    assert report.counts == {
        FindingKind.MISSING_ROW: 3,
        FindingKind.ORPHAN_VARIATIONS: 1,
    }


def test_a_repair() -> None:
    report = RepairReport(
        repaired=tuple(many(2)),
        left=(Finding(FindingKind.FOREIGN_FINGERPRINT, "a", "a"),),
        reimport=("b",),
        rows_written=2,
        rows_deleted=0,
        busy=(),
        unchecked=(),
        seconds=0.5,
    )
    assert not report.ok
    assert report.counts == {FindingKind.MISSING_ROW: 2}
    lines = str(report).splitlines()
    assert lines[0] == (
        "missing row (2) repaired, 1 left: 2 rows embedded and written, 0 deleted, "
        "0 LLM calls in 0.5 s"
    )
    assert lines[1] == "Import again, since something was lost, or failed: 'b'."
    assert json.loads(report.json())["reimport"] == ["b"]


def test_stats() -> None:
    report = StatsReport(
        documents=1000,
        sources=2,
        chunks=3,
        variations={"<i>": 4, "copy": 5},
        current=1,
        foreign=2,
        unknown=3,
        doubtful=4,
        unfinished=5,
        unreadable=6,
        characters=7,
        rows=None,
        foreign_rows=8,
        seconds=0.1,
    )
    assert report.summary == "1,000 documents of 2 sources, 3 chunks, 9 variations"
    assert "cannot be listed" in str(report)
    assert "variations: copy" in str(report)
    assert "<i>" not in report._repr_html_()
    assert report.ok
    said = json.loads(report.json())
    assert said["variations"] == {"<i>": 4, "copy": 5}
