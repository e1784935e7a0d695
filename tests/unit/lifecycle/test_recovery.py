"""What is swept, when, and what is said. The plans of faults are in tests/crash."""

from __future__ import annotations

import logging

import pytest
from langchain_core.documents import Document

from langchain_rag.testing import (
    Driver,
    InjectedCrash,
    InjectedFault,
    World,
    audit,
    contents,
    reachable,
)

DOCS = [Document("one"), Document("two")]
IDS = ["a", "b"]


async def crash(driver: Driver, world: World, call: int) -> None:
    rag = world.start(source_id_key=None)
    world.plan.arm(call, "after", InjectedCrash)
    with pytest.raises(InjectedCrash):
        await driver(rag, "add_documents", DOCS, ids=IDS)


async def test_a_new_process_sweeps_once(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    await crash(driver, world, 3)
    rag = world.start(source_id_key=None)
    world.plan.forget()
    with caplog.at_level(logging.WARNING):
        await driver(rag, "add_texts", ["three"], ids=["c"])
    assert [record.args for record in caplog.records] == [("a",), ("b",)]
    assert {row[0] for row in reachable(rag)} == {"c"}
    assert audit(rag) == []
    swept = len(world.plan.calls)
    world.plan.forget()
    caplog.clear()
    await driver(rag, "add_texts", ["four"], ids=["d"])
    assert len(world.plan.calls) < swept
    assert caplog.records == []


async def test_a_read_sweeps_nothing(driver: Driver) -> None:
    world = World()
    await crash(driver, world, 3)
    rag = world.start(source_id_key=None)
    world.plan.forget()
    await driver(rag, "similarity_search", "one")
    await driver(rag, "get_by_ids", IDS)
    assert world.plan.calls == []


async def test_a_failure_is_taken_back_at_once(driver: Driver) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    for call in (1, 2, 3):
        world.plan.arm(call, "inside")
        with pytest.raises(InjectedFault) as caught:
            await driver(rag, "add_documents", DOCS, ids=IDS)
        assert contents(rag) == ({}, {})
        (note,) = caught.value.__notes__
        assert note.startswith("While writing the documents 'a', 'b'. What was stored")


async def test_a_commit_that_was_half_written_stands_by_document(driver: Driver) -> None:
    """Either document is whole: the one whose manifest was written, in its new version."""
    world = World()
    rag = world.start(source_id_key=None)
    world.plan.arm(4, "inside")
    with pytest.raises(InjectedFault):
        await driver(rag, "add_documents", DOCS, ids=IDS)
    assert audit(rag) == []
    assert {row[0] for row in reachable(rag)} == {"a"}


async def test_when_taking_back_fails_too_the_first_error_says_so(driver: Driver) -> None:
    world = World()
    rag = world.start(source_id_key=None)
    await driver(rag, "delete", ["nothing"])
    world.plan.arm(3, "after")
    world.plan.arm(1, "before")
    with pytest.raises(InjectedFault, match="call 3") as caught:
        await driver(rag, "add_documents", DOCS, ids=IDS)
    _, note = caught.value.__notes__
    assert "InjectedFault" in note
    assert "next add or delete" in note
    assert audit(rag, settled=False) == []
    await driver(rag, "delete", ["nothing"])
    assert contents(rag) == ({}, {})


async def test_a_sweep_that_fails_is_tried_again(driver: Driver) -> None:
    world = World()
    await crash(driver, world, 3)
    rag = world.start(source_id_key=None)
    world.plan.arm(1, "before")
    with pytest.raises(InjectedFault):
        await driver(rag, "delete", ["nothing"])
    await driver(rag, "delete", ["nothing"])
    assert contents(rag) == ({}, {})


async def test_an_intent_of_another_instance_is_swept_when_its_document_is_written(
    driver: Driver,
) -> None:
    """The instance has swept before; another one crashed since."""
    world = World()
    rag = world.start(source_id_key=None)
    await driver(rag, "delete", ["nothing"])
    await crash(driver, world, 3)
    world.plan.restart()
    await driver(rag, "add_documents", [Document("new")], ids=["a"])
    assert {row[:2] for row in reachable(rag)} >= {("a", "new")}
    await driver(rag, "delete", ["nothing"])
    assert {row[:2] for row in reachable(rag)} == {("a", "new")}
    assert audit(rag) == []


async def test_other_namespaces_are_left_alone(driver: Driver) -> None:
    world = World()
    await crash(driver, world, 3)
    before = len(world.docs.store)
    other = world.start(source_id_key=None, namespace="other")
    await driver(other, "add_documents", DOCS, ids=IDS)
    await driver(other, "delete")
    assert len(world.docs.store) == before
    rag = world.start(source_id_key=None)
    await driver(rag, "delete")
    assert contents(rag) == ({}, {})
