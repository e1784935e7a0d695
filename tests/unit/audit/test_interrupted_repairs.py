"""A repair that dies at any of its writes, and the one after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langchain_rag.audit import FindingKind
from langchain_rag.errors import CorruptStoreError
from langchain_rag.testing import (
    MOMENTS,
    InjectedCrash,
    InjectedFault,
    Moment,
    audit,
    reachable,
)
from tests.unit.audit.conftest import PAGES, Lab, stored

Damage = tuple[Callable[[Lab], Any], set[FindingKind], int]


def broken(lab: Lab) -> set[str] | None:
    """What of I1 and I3 does not hold; None where the reference cannot read the stores."""
    try:
        return set(audit(lab.rag, settled=False))
    except CorruptStoreError:
        return None


@pytest.mark.parametrize(
    ("flavour", "moments"),
    [
        pytest.param(InjectedCrash, MOMENTS, marks=pytest.mark.full),
        (InjectedFault, ("inside",)),
    ],
)
async def test_nothing_is_made_worse_and_the_next_repair_finishes(
    lab: Lab, damage: Damage, flavour: type[BaseException], moments: tuple[Moment, ...]
) -> None:
    await damage[0](lab)
    damaged, wrong, found = lab.world.save(), broken(lab), reachable(lab.rag)
    lab.world.plan.forget()
    await lab.repair(unknown_rows=True)
    calls, kept = len(lab.world.plan.calls), found & reachable(lab.rag)
    fresh = Lab(lab.driver)
    await fresh.index(PAGES)
    for call in range(1, calls + 1):
        for moment in moments:
            lab.world.load(damaged)
            lab.start()
            lab.world.plan.arm(call, moment, flavour)
            with pytest.raises(flavour):
                await lab.repair(unknown_rows=True)
            lab.start()
            now = broken(lab)
            if wrong is not None and now is not None:
                assert now <= wrong
            assert kept <= reachable(lab.rag)
            report = await lab.repair(unknown_rows=True)
            assert report.ok
            lab.settled()
            assert (await lab.verify()).ok
            await lab.index(PAGES)
            lab.settled()
            assert stored(lab.rag) == stored(fresh.rag)
