"""Our record managers under `index()`: what LangChain's own lose, and time."""

import asyncio
import time

import pytest
from langchain_classic.indexes import SQLRecordManager as LangChainsSQLRecordManager
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager as LangChainsInMemoryRecordManager
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_rag.errors import ConfigurationError, InvalidDocumentError
from langchain_rag.storage import (
    InMemoryRecordManager,
    SQLDocStore,
    SQLRecordManager,
    _record_manager_statements,
    memory_record_manager,
)
from langchain_rag.testing import DRIVERS, CountingEmbeddings
from tests.unit.storage.kinds import EVERYDAY, KINDS, in_both_drivers

IN_MEMORY = [pytest.param((driver, ""), id=f"no-sql-{driver.name}") for driver in DRIVERS]
with_every_manager = pytest.mark.parametrize("kind", [*KINDS, *IN_MEMORY], indirect=True)
# In both drivers.
SOME = [*(kind for kind in KINDS if kind.id in EVERYDAY), *IN_MEMORY]


@pytest.fixture
def manager(request, kind):
    if kind[1]:
        return SQLRecordManager("docs", engine=request.getfixturevalue("engine"))
    return InMemoryRecordManager("docs")


class BreakableStore(InMemoryVectorStore):
    broken = False

    def add_documents(self, documents, ids=None, **kwargs):
        if self.broken:
            msg = "planned"
            raise ConnectionError(msg)
        return super().add_documents(documents, ids, **kwargs)

    async def aadd_documents(self, documents, ids=None, **kwargs):
        return self.add_documents(documents, ids, **kwargs)

    def texts(self):
        return sorted(row["text"] for row in self.store.values())


def docs(*texts):
    return [Document(text, metadata={"source": "s"}) for text in texts]


async def index(driver, manager, store, *texts, cleanup="scoped_full"):
    return await driver.index(
        docs(*texts),
        record_manager=manager,
        vector_store=store,
        cleanup=cleanup,
        source_id_key="source",
        key_encoder="sha256",
    )


async def fail_then_remove(driver, manager):
    """A run whose additions fail, and one whose source has lost an unchanged document."""
    store = BreakableStore(CountingEmbeddings())
    await index(driver, manager, store, "unchanged", "old")
    store.broken = True
    with pytest.raises(ConnectionError):
        await index(driver, manager, store, "unchanged", "new")
    store.broken = False
    await asyncio.sleep(0.005)  # LangChain's clock has milliseconds
    await index(driver, manager, store, "new")
    return store.texts()


@with_every_manager
async def test_a_failed_run_does_not_lose_sources(driver, manager):
    assert await fail_then_remove(driver, manager) == ["new"]


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
async def test_langchains_own_lose_them(driver, make_engine, tmp_path):
    # If this fails, LangChain has mended it, and ours may be able to go.
    scheme = "sqlite" if driver.name == "sync" else "sqlite+aiosqlite"
    engine = make_engine(f"{scheme}:///{tmp_path}/rag.db")
    own = LangChainsSQLRecordManager("docs", engine=engine)
    await driver(own, "create_schema")
    assert await fail_then_remove(driver, own) == ["new", "unchanged"]
    in_memory = LangChainsInMemoryRecordManager("docs")
    assert await fail_then_remove(driver, in_memory) == ["new", "unchanged"]


@pytest.fixture(params=[0.0, -3600.0], ids=["stopped", "set back"])
def clock(request, monkeypatch):
    """A clock that stands still, or goes back by an hour with each look."""
    now = [1.8e9]

    def tick(*_):
        now[0] += request.param
        return now[0]

    monkeypatch.setattr(_record_manager_statements, "_now", tick)
    monkeypatch.setattr(memory_record_manager, "_clock", tick)
    return tick


# The clock is ours, and the clean-ups are LangChain's; of a database only the order matters in
# which it gives out times, which one clean-up shows.
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("kind", "cleanup"),
    [
        *[
            pytest.param(*kind.values, cleanup, id=f"{kind.id}-{cleanup}")
            for kind in SOME
            for cleanup in ("scoped_full", "incremental", "full")
        ],
        *[
            pytest.param(*kind.values, "scoped_full", id=kind.id, marks=kind.marks)
            for kind in KINDS
            if kind.id not in EVERYDAY
        ],
    ],
    indirect=["kind"],
)
async def test_runs_within_one_tick_delete_what_they_should(driver, manager, cleanup):
    store = BreakableStore(CountingEmbeddings())
    for texts, added, skipped, deleted in [
        (("a", "b"), 2, 0, 0),
        (("a", "c"), 1, 1, 1),
        (("a", "c"), 0, 2, 0),
        (("d",), 1, 0, 2),
        (("a", "b"), 2, 0, 1),
    ]:
        result = await index(driver, manager, store, *texts, cleanup=cleanup)
        assert (result["num_added"], result["num_skipped"]) == (added, skipped)
        assert result["num_deleted"] == deleted
        assert store.texts() == sorted(texts)


async def test_langchains_own_leaves_what_it_should_delete(make_engine, monkeypatch):
    engine = make_engine("sqlite://")
    own = LangChainsSQLRecordManager("docs", engine=engine)
    own.create_schema()
    monkeypatch.setattr(own, "get_time", lambda: 1.8e9)
    store = BreakableStore(CountingEmbeddings())
    await index(DRIVERS[0], own, store, "a")
    await index(DRIVERS[0], own, store, "b")
    assert store.texts() == ["a", "b"]


@with_every_manager
async def test_runs_that_follow_at_once(driver, manager):
    store = BreakableStore(CountingEmbeddings())
    for number in range(10):
        await index(driver, manager, store, str(number))
        assert store.texts() == [str(number)]


@with_every_manager
async def test_time_is_the_clocks(driver, manager):
    before = time.time()
    now = await driver(manager, "get_time")
    assert before - 0.1 <= now <= time.time() + 0.1


@with_every_manager
async def test_records(driver, manager):
    await driver(manager, "create_schema")
    assert await driver(manager, "list_keys") == []
    start = await driver(manager, "get_time")
    await driver(manager, "update", ["a", "b"], group_ids=["g", None], time_at_least=start)
    middle = await driver(manager, "get_time")
    await driver(manager, "update", ["c", "a"], group_ids=["h", None], time_at_least=middle)
    assert await driver(manager, "exists", ["c", "x", "a"]) == [True, False, True]
    assert await driver(manager, "list_keys", before=middle) == ["b"]
    assert sorted(await driver(manager, "list_keys", after=middle)) == ["a", "c"]
    assert await driver(manager, "list_keys", group_ids=["g"]) == ["a"]
    assert sorted(await driver(manager, "list_keys", group_ids=["g", "h"])) == ["a", "c"]
    assert len(await driver(manager, "list_keys", limit=2)) == 2
    await driver(manager, "update", ["a"], group_ids=["h"])
    assert await driver(manager, "list_keys", group_ids=["g"]) == []
    await driver(manager, "delete_keys", ["a", "x"])
    assert sorted(await driver(manager, "list_keys")) == ["b", "c"]


@in_both_drivers
@pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
async def test_names_that_not_every_database_takes_are_refused(driver, engine, bad):
    manager = SQLRecordManager("docs", engine=engine)
    for keys, groups in [(["good", bad], None), (["good", "k"], [None, bad])]:
        with pytest.raises(InvalidDocumentError) as caught:
            await driver(manager, "update", keys, group_ids=groups)
        assert repr(bad) in str(caught.value)
    with pytest.raises(InvalidDocumentError, match="namespace"):
        SQLRecordManager(bad, engine=engine)
    assert await driver(manager, "list_keys") == []


async def test_the_last_of_equal_keys_stays(driver, engine):
    manager = SQLRecordManager("docs", engine=engine)
    await driver(manager, "update", ["k", "k"], group_ids=["g", "h"])
    assert await driver(manager, "list_keys", group_ids=["g", "h"]) == ["k"]
    assert await driver(manager, "list_keys", group_ids=["g"]) == []


@with_every_manager
async def test_empty_calls(driver, manager):
    assert await driver(manager, "exists", []) == []
    await driver(manager, "update", [])
    await driver(manager, "delete_keys", [])


@pytest.mark.parametrize("kind", SOME, indirect=True)
@pytest.mark.parametrize("groups", [[], ["g", "h"]])
async def test_as_many_group_ids_as_keys(driver, manager, groups):
    with pytest.raises(ValueError, match="1 keys have"):
        await driver(manager, "update", ["a"], group_ids=groups)


def test_more_keys_and_groups_than_sqlite_has_variables(make_engine):
    manager = SQLRecordManager("docs", engine=make_engine("sqlite://"))
    keys = [f"k{i:05}" for i in range(33_000)]
    manager.update(keys, group_ids=keys)
    assert manager.exists([*keys, "x"]) == [True] * 33_000 + [False]
    assert manager.list_keys(group_ids=keys) == keys
    assert manager.list_keys(group_ids=keys, limit=1200) == keys[:1200]
    manager.delete_keys(keys)
    assert manager.list_keys() == []


async def test_namespaces_share_nothing(driver, engine):
    one, two = (SQLRecordManager(name, engine=engine) for name in ("one", "two"))
    await driver(one, "update", ["k"], group_ids=["g"])
    await driver(two, "update", ["k"])
    await driver(two, "delete_keys", ["k"])
    assert await driver(one, "list_keys", group_ids=["g"]) == ["k"]
    assert await driver(two, "exists", ["k"]) == [False]


async def test_it_shares_an_engine_with_the_docstore(driver, engine):
    manager, store = SQLRecordManager("docs", engine=engine), SQLDocStore(engine)
    await driver(store, "mset", [("k", Document("x"))])
    await driver(manager, "update", ["k"])
    assert await driver(store, "mget", ["k"]) == [Document("x")]


def test_it_reads_what_langchains_own_wrote(make_engine):
    engine = make_engine("sqlite://")
    own = LangChainsSQLRecordManager("docs", engine=engine)
    own.create_schema()
    own.update(["k"], group_ids=["g"])
    ours = SQLRecordManager("docs", engine=engine)
    assert ours.list_keys(group_ids=["g"]) == ["k"]
    ours.update(["k"])
    assert own.list_keys(group_ids=["g"]) == ["k"]


def test_sync_methods_on_an_async_engine_say_what_to_use(make_engine):
    manager = SQLRecordManager("docs", engine=make_engine("sqlite+aiosqlite://"))
    for call in (
        manager.create_schema,
        manager.get_time,
        manager.list_keys,
        lambda: manager.update(["a"]),
        lambda: manager.exists(["a"]),
        lambda: manager.delete_keys(["a"]),
    ):
        with pytest.raises(ConfigurationError, match=r"aindex\(\) rather than index\(\)"):
            call()


def test_an_engine_or_a_url():
    manager = SQLRecordManager("docs", db_url="sqlite://")
    manager.update(["a"])
    assert manager.list_keys() == ["a"]
    manager.engine.dispose()
    with pytest.raises(ConfigurationError, match="one of the two"):
        SQLRecordManager("docs")
    with pytest.raises(ConfigurationError, match="one of the two"):
        SQLRecordManager("docs", engine=manager.engine, db_url="sqlite://")
