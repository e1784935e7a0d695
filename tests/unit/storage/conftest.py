"""Engines of each kind, on a file of the test's own."""

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.storage import create_engine
from langchain_rag.testing import DRIVERS


@pytest.fixture
async def make_engine():
    """`create_engine`, with everything disposed of at the end."""
    engines = []

    def make(db_url, **kwargs):
        engines.append(create_engine(db_url, **kwargs))
        return engines[-1]

    yield make
    for engine in engines:
        if isinstance(engine, AsyncEngine):
            await engine.dispose()
        else:
            engine.dispose()


SYNC, ASYNC = DRIVERS
KINDS = {
    "sync-file": (SYNC, "sqlite:///{}/rag.db"),
    "sync-memory": (SYNC, "sqlite://"),
    "executor-file": (ASYNC, "sqlite:///{}/rag.db"),
    "executor-memory": (ASYNC, "sqlite://"),
    "async-file": (ASYNC, "sqlite+aiosqlite:///{}/rag.db"),
    "async-memory": (ASYNC, "sqlite+aiosqlite://"),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def driver(kind):
    """Sync calls, or async ones on a sync or an async engine."""
    return kind[0]


@pytest.fixture
def engine(kind, make_engine, tmp_path):
    return make_engine(kind[1].format(tmp_path))
