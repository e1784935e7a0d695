"""Which documents a clean-up may delete, with a record manager and without one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager as LangChainRecordManager

from langchain_rag._flow import Flow, arun, run
from langchain_rag.lifecycle.manifest import Manifest
from langchain_rag.lifecycle.sources import SourceDocument, check_document
from langchain_rag.lifecycle.tracking import TrackedByManifests, TrackedByRecords
from langchain_rag.storage import InMemoryRecordManager
from langchain_rag.testing import Driver, World


async def done(driver: Driver, flow: Flow[Any]) -> Any:
    return run(flow) if driver.name == "sync" else await arun(flow)


def source(id_: str, source_id: str | None) -> SourceDocument:
    document = Document(f"text {id_}", id=id_, metadata={"source": source_id})
    return check_document(document, None, 0, None if source_id is None else "source")


def manifest(id_: str, source_id: str | None) -> Manifest:
    return Manifest(id_, source_id, "content", "metadata", "p", "c", whole=True, chunks=())


class Counting(InMemoryRecordManager):
    """Counts what it is told and asked."""

    def __init__(self, namespace: str = "test") -> None:
        super().__init__(namespace)
        self.updates: list[list[str]] = []
        self.asked: list[int] = []

    def update(self, keys: Any, **kwargs: Any) -> None:
        self.updates.append(list(keys))
        super().update(keys, **kwargs)

    async def aupdate(self, keys: Any, **kwargs: Any) -> None:
        self.update(keys, **kwargs)

    def list_keys(self, *, group_ids: Any = None, **kwargs: Any) -> list[str]:
        self.asked.append(-1 if group_ids is None else len(group_ids))
        return super().list_keys(group_ids=group_ids, **kwargs)

    async def alist_keys(self, **kwargs: Any) -> list[str]:
        return self.list_keys(**kwargs)


def groups(records: LangChainRecordManager) -> dict[str, str | None]:
    return {key: record["group_id"] for key, record in records.records.items()}


async def test_documents_are_noted_with_their_sources(driver: Driver) -> None:
    records = Counting()
    tracking = TrackedByRecords(records)
    await done(driver, tracking.expect([source("1", "a"), source("2", "b")], {}))
    assert groups(records) == {"1": "a", "2": "b"}
    assert records.updates == [["1", "2"]]


async def test_what_is_known_is_not_written_again(driver: Driver) -> None:
    """Unchanged documents cost no write of the record manager."""
    records = Counting()
    tracking = TrackedByRecords(records)
    sources = [source("1", "a"), source("2", "b")]
    await done(driver, tracking.expect(sources, {}))
    stored = {"1": manifest("1", "a"), "2": manifest("2", "b")}
    await done(driver, tracking.expect(sources, stored))
    assert len(records.updates) == 1
    # Another source, or a record that was lost.
    stored["1"] = manifest("1", "before")
    del records.records["2"]
    await done(driver, tracking.expect([*sources, source("3", "c")], stored))
    assert records.updates[1:] == [["1", "2", "3"]]
    assert groups(records) == {"1": "a", "2": "b", "3": "c"}


async def test_documents_without_a_source(driver: Driver) -> None:
    records = Counting()
    tracking = TrackedByRecords(records)
    await done(driver, tracking.expect([source("1", None)], {}))
    await done(driver, tracking.expect([source("1", None)], {"1": manifest("1", None)}))
    assert groups(records) == {"1": None}
    assert len(records.updates) == 1
    assert await done(driver, tracking.all()) == ["1"]


async def test_documents_of_sources(driver: Driver) -> None:
    records = Counting()
    tracking = TrackedByRecords(records)
    documents = [source(f"{name}{n}", name) for name in "abc" for n in range(3)]
    await done(driver, tracking.expect(documents, {}))
    found = await done(driver, tracking.of_sources(["a", "c", "unknown"], {"a0", "c2"}))
    assert sorted(found) == ["a1", "a2", "c0", "c1"]
    assert await done(driver, tracking.of_sources([], set())) == []
    assert sorted(await done(driver, tracking.all())) == sorted(
        f"{name}{n}" for name in "abc" for n in range(3)
    )
    await done(driver, tracking.forget(["a0", "b1"]))
    assert len(await done(driver, tracking.all())) == 7


async def test_many_sources_are_asked_about_in_parts(driver: Driver) -> None:
    """A database takes only so many variables in one statement."""
    records = Counting()
    tracking = TrackedByRecords(records)
    names = [f"s{n}" for n in range(1234)]
    await done(driver, tracking.expect([source(name, name) for name in names], {}))
    found = await done(driver, tracking.of_sources(names, {"s7"}))
    assert sorted(found) == sorted(set(names) - {"s7"})
    assert sum(records.asked) == 1234
    assert max(records.asked) <= 500


async def test_langchains_own_record_manager_serves(driver: Driver) -> None:
    records = LangChainRecordManager("test")
    records.create_schema()
    tracking = TrackedByRecords(records)
    await done(driver, tracking.expect([source("1", "a"), source("2", "a")], {}))
    assert sorted(await done(driver, tracking.of_sources(["a"], set()))) == ["1", "2"]
    await done(driver, tracking.forget(["1"]))
    assert await done(driver, tracking.all()) == ["2"]


@pytest.mark.parametrize("namespace", ["", "one"])
async def test_without_a_record_manager_the_manifests_say_it(
    driver: Driver, namespace: str
) -> None:
    world = World()
    rag = world.start(namespace=namespace)
    other = world.start(namespace="other")
    documents = [
        Document(f"{name} {n}", id=f"{name}{n}", metadata={"source": name})
        for name in "ab"
        for n in range(2)
    ]
    for store in (rag, other):
        await driver(store, "add_documents", documents)
    await driver(other, "add_texts", ["x"], [{"source": "a"}], ids=["theirs"])
    tracking = TrackedByManifests(rag._lifecycle)
    assert sorted(await done(driver, tracking.all())) == ["a0", "a1", "b0", "b1"]
    assert sorted(await done(driver, tracking.of_sources(["a", "c"], set()))) == ["a0", "a1"]
    assert await done(driver, tracking.of_sources(["a"], {"a0", "b0"})) == ["a1"]
    saved = world.save()
    await done(driver, tracking.expect([source("new", "a")], {}))
    await done(driver, tracking.forget(["a0"]))
    assert world.save() == saved
