"""LangChain's own suites for stores, on SQLite and on PostgreSQL."""

import pytest
from langchain_core.documents import Document
from langchain_tests.integration_tests.base_store import (
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
)

from langchain_rag.storage import SQLDocStore
from tests.unit.storage.kinds import POSTGRES, SQLITE


class Sync(BaseStoreSyncTests[Document]):
    kind_name: str

    @pytest.fixture
    def kind(self):
        return {**SQLITE, **POSTGRES}[self.kind_name]

    @pytest.fixture
    def three_values(self):
        return (
            Document("one", id="1", metadata={"n": 1}),
            Document("two", metadata={"nested": {"list": [1, 2.5, None, True, "x"]}}),
            Document("", id="3"),
        )

    @pytest.fixture
    def kv_store(self, engine):
        return SQLDocStore(engine)


class Async(BaseStoreAsyncTests[Document]):
    kind_name: str
    kind = Sync.kind
    three_values = Sync.three_values

    @pytest.fixture
    async def kv_store(self, engine):
        return SQLDocStore(engine)


class TestSyncOnSQLite(Sync):
    kind_name = "sync-file"


@pytest.mark.full
class TestExecutorOnSQLite(Async):
    kind_name = "executor-file"


class TestAsyncOnSQLite(Async):
    kind_name = "async-file"


@pytest.mark.full
@pytest.mark.integration
class TestSyncOnPostgreSQL(Sync):
    kind_name = "sync-postgres"


@pytest.mark.full
@pytest.mark.integration
class TestExecutorOnPostgreSQL(Async):
    kind_name = "executor-postgres"


@pytest.mark.full
@pytest.mark.integration
class TestAsyncOnPostgreSQL(Async):
    kind_name = "async-postgres"


@pytest.mark.full
@pytest.mark.integration
class TestAsyncpg(Async):
    kind_name = "asyncpg"
