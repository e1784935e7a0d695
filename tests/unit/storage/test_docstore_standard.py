"""LangChain's own suites for stores."""

import pytest
from langchain_core.documents import Document
from langchain_tests.integration_tests.base_store import (
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
)

from langchain_rag.storage import SQLDocStore


class Values:
    @pytest.fixture
    def three_values(self):
        return (
            Document("one", id="1", metadata={"n": 1}),
            Document("two", metadata={"nested": {"list": [1, 2.5, None, True, "x"]}}),
            Document("", id="3"),
        )


class TestSync(Values, BaseStoreSyncTests[Document]):
    @pytest.fixture
    def kv_store(self, make_engine, tmp_path):
        return SQLDocStore(make_engine(f"sqlite:///{tmp_path}/rag.db"))


class TestExecutor(Values, BaseStoreAsyncTests[Document]):
    @pytest.fixture
    async def kv_store(self, make_engine, tmp_path):
        return SQLDocStore(make_engine(f"sqlite:///{tmp_path}/rag.db"))


class TestAsync(Values, BaseStoreAsyncTests[Document]):
    @pytest.fixture
    async def kv_store(self, make_engine, tmp_path):
        return SQLDocStore(make_engine(f"sqlite+aiosqlite:///{tmp_path}/rag.db"))
