"""Each kind of damage: it is found, and nothing else; it is repaired."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_rag.audit import FindingKind
from langchain_rag.testing import contents
from tests.unit.audit.conftest import PAGES, Lab, stored

Damage = tuple[Callable[[Lab], Any], set[FindingKind], int]


async def test_it_is_found_and_repaired(lab: Lab, damage: Damage) -> None:
    make, kinds, again = damage
    await make(lab)
    # It is found, and nothing else.
    before = contents(lab.rag)
    found = await lab.verify()
    assert set(found.counts) == kinds
    assert not found.ok
    assert len(set(found.findings)) == len(found.findings)
    assert contents(lab.rag) == before
    # It is repaired.
    lab.world.embeddings.reset()
    report = await lab.repair(unknown_rows=True)
    assert set(report.counts) >= kinds
    assert report.ok
    assert report.llm_calls == 0
    assert len(lab.world.embeddings.documents) == report.rows_written
    lab.settled()
    # Repairing again changes nothing.
    lab.world.plan.forget()
    second = await lab.repair(unknown_rows=True)
    assert (second.repaired, second.left) == ((), ())
    assert lab.world.plan.calls == []
    after = await lab.verify()
    assert after.findings == ()
    # The next run imports what lost its text, and nothing else; then all is as it was.
    result = await lab.index(PAGES)
    assert result["num_added"] + result["num_updated"] == again
    lab.settled()
    assert (await lab.verify()).ok
    fresh = Lab(lab.driver)
    await fresh.index(PAGES)
    assert stored(lab.rag) == stored(fresh.rag)
