"""Engines of each kind, on a database of the test's own."""

import pytest
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from langchain_rag.storage import create_engine
from tests.unit.storage.kinds import KINDS


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


@pytest.fixture(params=KINDS)
def kind(request):
    """A driver of ours, and a way to reach a database; all of them, or a test's choice."""
    return request.param


@pytest.fixture
def driver(kind):
    """Sync calls, or async ones on a sync or an async engine."""
    return kind[0]


@pytest.fixture
def db_url(request, kind, tmp_path):
    if kind[1].startswith("sqlite"):
        return make_url(kind[1].format(tmp_path))
    return make_url(request.getfixturevalue("postgres_database")).set(drivername=kind[1])


@pytest.fixture
def engine(make_engine, db_url):
    return make_engine(db_url)
