"""A wrapped store that fails once, at any of its writes, in the middle of a call."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.testing import (
    MOMENTS,
    CountingEmbeddings,
    FaultPlan,
    FaultyVectorStore,
    InjectedFault,
    audit,
    contents,
)
from langchain_rag.vectorstores import RAGVectorStore
from tests.crash.killing import calls, corpus
from tests.crash.killing.points import Points
from tests.crash.killing.sites import Place, Site

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

    from langchain_rag.testing import Driver

pytestmark = pytest.mark.full


class Shop:
    """A store in memory that fails as planned, beside SQLite."""

    def __init__(self, folder: Path, vectors: VectorStore | None = None) -> None:
        folder.mkdir(exist_ok=True)
        place = Place("memory", str(folder))
        self.plan = FaultPlan()
        embeddings = CountingEmbeddings()
        rag, index_kwargs = RAGVectorStore.from_vs_in_sql(
            FaultyVectorStore(vectors or InMemoryVectorStore(embeddings), self.plan),
            db_url="sqlite://",
            **corpus.transformers(place.log, Points()),
        )
        self.site = Site(rag, index_kwargs, embeddings, place)

    @property
    def paid(self) -> list[str]:
        return sorted(corpus.calls_in(self.site.place.log))

    def state(self) -> Any:
        return contents(self.site.rag)

    def close(self) -> None:
        engine: Any = self.site.rag.docstore.engine  # type: ignore[attr-defined]
        engine.dispose()


async def through(shop: Shop, driver: Driver, way: str, phase: str) -> None:
    """Make all calls up to a phase."""
    for one in calls.PHASES[: calls.PHASES.index(phase)]:
        await calls.make(shop.site, driver, way, one)
    shop.plan.forget()


@pytest.mark.parametrize("phase", calls.PHASES)
@pytest.mark.parametrize("way", calls.WAYS)
async def test_the_same_call_again_leaves_no_trace(
    driver: Driver, tmp_path: Path, way: str, phase: str
) -> None:
    ideal = Shop(tmp_path / "ideal")
    await through(ideal, driver, way, phase)
    await calls.make(ideal.site, driver, way, phase)
    writes = len(ideal.plan.calls)
    # Three batches to add, where there is one; what a change replaces goes in others.
    assert writes >= {"import": 3, "change": 4, "delete": 1}[phase]
    for write in count(1):
        shop = Shop(tmp_path / str(write))
        await through(shop, driver, way, phase)
        # `tests/crash/test_fault_plans.py` has all moments of each, on fewer documents.
        shop.plan.arm(write, MOMENTS[write % len(MOMENTS)])
        if write > writes:
            shop.close()
            break
        with pytest.raises(InjectedFault) as failed:
            await calls.make(shop.site, driver, way, phase)
        notes = "".join(failed.value.__notes__)
        assert "While writing the documents '" in notes
        assert audit(shop.site.rag) == [], f"after write {write}"
        await calls.make(shop.site, driver, way, phase)
        assert audit(shop.site.rag) == []
        assert shop.state() == ideal.state()
        assert (await driver(shop.site.rag, "verify")).ok
        shop.close()
    ideal.close()


async def test_nothing_is_paid_for_again_after_a_failed_write(
    driver: Driver, tmp_path: Path
) -> None:
    shop = Shop(tmp_path)
    shop.plan.arm(2, "inside")
    with pytest.raises(InjectedFault):
        await calls.make(shop.site, driver, "ids", "import")
    stored = {corpus.number_in(chunk) for chunk in texts_in(shop)}
    assert stored == set(range(corpus.BATCH_SIZE))
    first = shop.paid
    await calls.make(shop.site, driver, "ids", "import")
    again = shop.paid
    for one in first:
        again.remove(one)
    # The answers of the batch that failed were kept, though nothing of it was stored; of the
    # third, those that had been asked for meanwhile.
    assert {corpus.number_in(one) for one in again} <= set(range(2 * corpus.BATCH_SIZE, 30))
    assert {corpus.number_in(one) for one in shop.paid} == set(range(30))
    shop.close()


def texts_in(shop: Shop) -> list[str]:
    return [one.page_content for one in shop.state().room("chunks").values()]
