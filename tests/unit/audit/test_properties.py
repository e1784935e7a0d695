"""Any damage is found, any repair leaves nothing, by an audit of its own."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_rag._reserved import CHUNK, DOCUMENT
from langchain_rag.errors import CorruptStoreError
from langchain_rag.testing import DRIVERS, Driver, InjectedCrash, audit
from tests.unit.audit.conftest import PAGES, Lab, page, stored

HARMS = ("lose", "garble", "swap", "lose row", "misname row", "copy row", "forget", "crash")


async def harm(lab: Lab, what: str, choice: random.Random) -> None:
    docs, rows = lab.world.docs.store, lab.world.rows.store
    key, other = (choice.choice(sorted(docs) or [""]) for _ in range(2))
    row = choice.choice(sorted(rows) or [""])
    if what == "lose":
        docs.pop(key, None)
    elif what == "garble" and key:
        docs[key] = choice.choice([Document(""), Document("x", metadata={"format": 1}), 3])
    elif what == "swap" and key and key.split("/")[0] == other.split("/")[0]:
        docs[key] = docs[other]
    elif what == "lose row":
        rows.pop(row, None)
    elif what == "misname row" and row:
        metadata = {**rows[row]["metadata"], choice.choice([CHUNK, DOCUMENT]): "somebody"}
        rows[row] = {**rows[row], "metadata": metadata}
    elif what == "copy row" and row:
        rows["copy"] = {**rows[row], "id": "copy"}
    elif what == "forget":
        records: Any = lab.world.record_manager.records
        records.pop(choice.choice(sorted(records) or [""]), None)
    elif what == "crash":
        lab.world.plan.arm(choice.randint(1, 6), choice.choice(["before", "inside", "after"]))
        lab.world.plan._faults[-1].flavour = InjectedCrash
        with suppress(InjectedCrash, CorruptStoreError):
            await lab.index([page("b", 3)])
        lab.start()


@given(
    driver=st.sampled_from(DRIVERS),
    harms=st.lists(st.sampled_from(HARMS), min_size=1, max_size=4),
    seed=st.integers(0, 2**16),
)
def test_any_damage(driver: Driver, harms: list[str], seed: int) -> None:
    async def body() -> None:
        lab = Lab(driver)
        await lab.index(PAGES)
        choice = random.Random(seed)
        for what in harms:
            await harm(lab, what, choice)
        report = await lab.verify()
        try:
            sound = audit(lab.rag) == []
        except CorruptStoreError:
            sound = False
        # The audit knows no record manager, and reads no record of variations.
        assert sound or not report.ok
        repaired = await lab.repair(unknown_rows=True)
        assert repaired.ok
        assert audit(lab.rag) == []
        assert (await lab.verify()).findings == ()
        lab.world.plan.forget()
        assert (await lab.repair(unknown_rows=True)).repaired == ()
        assert lab.world.plan.calls == []
        await lab.index(PAGES, cleanup="full")
        assert audit(lab.rag) == []
        fresh = Lab(driver)
        await fresh.index(PAGES)
        found, expected = stored(lab.rag), stored(fresh.rag)
        assert found.rows == expected.rows
        different = {
            key
            for key in found.records.keys() | expected.records.keys()
            if found.records.get(key) != expected.records.get(key)
        }
        assert different == set()

    asyncio.run(body())
