"""A repair while others write: it leaves them alone, says so, and does the rest."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_rag._flow import Flow, arun, call, run
from langchain_rag.audit import FindingKind, RepairReport
from langchain_rag.testing import contents
from tests.unit.audit.conftest import (
    Lab,
    corrupt,
    lose,
    missing_row,
    orphan_variations,
    page,
    tracked_not_stored,
    transformers,
)


async def repaired_while(lab: Lab, claimed: dict[str, str]) -> RepairReport:
    """Repair while another call has claimed some documents, and has written nothing yet."""
    from langchain_rag.lifecycle import claims

    reports: list[RepairReport] = []

    def body(_: Any) -> Flow[None]:
        reports.append((yield from call(lab.rag.repair, lab.rag.arepair)))

    flow = claims.holding(lab.rag.docstore, claimed, body)
    if lab.driver.name == "sync":
        run(flow)
    else:
        await arun(flow)
    return reports[0]


def claim_on(lab: Lab, letter: str) -> dict[str, str]:
    return {lab.place("manifest", letter): lab.manifest(letter).document_id}


async def test_the_other_documents_of_the_batch_are_repaired(lab: Lab) -> None:
    lab.world.rows.delete([lab.row("a"), lab.row("b"), lab.row("c")])
    report = await repaired_while(lab, claim_on(lab, "b"))
    assert not report.ok
    assert report.busy == (lab.manifest("b").document_id,)
    assert {f.document_id for f in report.left} <= set(report.busy)
    assert len(report.repaired) == 2
    assert (await lab.verify()).counts == {FindingKind.MISSING_ROW: 1}
    assert "were being written" in str(report)
    assert (await lab.repair()).ok
    lab.settled()


@pytest.mark.parametrize("what", ["manifest", "intent"])
async def test_a_record_that_cannot_be_read(lab: Lab, what: str) -> None:
    claim = claim_on(lab, "b")
    await corrupt(what)(lab)
    before = contents(lab.rag)
    report = await repaired_while(lab, claim)
    assert not report.ok
    assert contents(lab.rag) == before
    assert (await lab.repair()).ok
    lab.settled()


async def test_orphans_and_records_of_index(lab: Lab) -> None:
    claim = claim_on(lab, "b")
    await lose("manifest")(lab)
    await tracked_not_stored(lab)
    report = await repaired_while(lab, claim)
    assert set(report.counts) == {FindingKind.TRACKED_NOT_STORED}  # the other document's
    assert report.busy == tuple(claim.values())
    assert (await lab.repair()).ok
    lab.settled()


async def test_what_has_no_owner_is_claimed_by_its_key(lab: Lab) -> None:
    await orphan_variations(lab)
    (finding,) = (await lab.verify()).findings
    report = await repaired_while(lab, {finding.key: finding.key})
    assert not report.ok
    assert (await lab.verify()).findings == (finding,)
    assert (await lab.repair()).ok


async def test_what_was_mended_meanwhile_is_left_as_it_is(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the claim, other calls repaired, changed and deleted."""
    from langchain_rag.audit import repair
    from langchain_rag.audit.verify import verify

    await missing_row(lab)
    await corrupt("variations")(lab)
    del lab.world.docs.store[lab.place("manifest", "c")]
    await tracked_not_stored(lab)
    looks: list[Any] = []

    def late(parts: Any) -> Flow[Any]:
        report = yield from verify(parts)
        looks.append(report)
        if len(looks) > 1:
            return report
        pages = [page("c"), page("b", 3), Document("x", metadata={"source": "x"})]
        options = {"record_manager": lab.world.record_manager, **transformers()}
        other = lab.world.start(**options)
        yield from call(other.repair, other.arepair)
        ids = [lab.manifest("a").document_id, "b", "0" * 64]
        yield from call(other.add_documents, other.aadd_documents, pages, ids=ids)
        return report

    monkeypatch.setattr(repair, "verify", late)
    await lab.repair()
    assert looks[0].findings
    monkeypatch.undo()
    # What the others imported in between was touched by nobody.
    counts = (await lab.verify()).counts
    assert set(counts) <= {FindingKind.STORED_NOT_TRACKED}
    lab.settled()
