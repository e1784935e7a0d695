"""What need not outlive the machine's power does not wait for the disk; all else does."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from langchain_rag.storage._database import Database
from langchain_rag.storage._migrations import DOCSTORE
from langchain_rag.testing import Driver
from tests.unit.storage.kinds import on_postgres


def synchronous(connection: Any) -> object:
    if connection.dialect.name == "postgresql":
        return connection.scalar(text("SHOW synchronous_commit"))
    return connection.scalar(text("PRAGMA synchronous"))


def fails(connection: Any) -> None:
    raise ZeroDivisionError(synchronous(connection))


async def test_only_for_its_own_transactions(engine: Any, driver: Driver, db_url: Any) -> None:
    waits = Database(engine, DOCSTORE, "Test")
    hurries = waits.without_waiting()
    usual = await driver(waits, "run", synchronous, write=True)
    in_memory = db_url.database in (None, "", ":memory:")
    expected = usual if in_memory else {"sqlite": 1, "postgresql": "off"}[engine.dialect.name]
    for _ in range(2):
        assert await driver(hurries, "run", synchronous, write=True) == expected
        assert await driver(waits, "run", synchronous, write=True) == usual
        # Reading never waits for the disk.
        assert await driver(hurries, "run", synchronous) == usual
    with pytest.raises(ZeroDivisionError):
        await driver(hurries, "run", fails, write=True)
    assert await driver(waits, "run", synchronous, write=True) == usual
    assert usual in {2, "on"}


@on_postgres
async def test_a_claim_waits_for_no_disk(engine: Any, driver: Driver) -> None:
    database = Database(engine, DOCSTORE, "Test", durable=False)
    assert await driver(database, "run", synchronous, write=True) == "off"
