"""The ways to reach a database that every behaviour of the storage is tested with."""

import pytest

from langchain_rag.testing import DRIVERS

SYNC, ASYNC = DRIVERS

# "{}" becomes the test's folder; a driver of PostgreSQL gets an empty database.
SQLITE = {
    "sync-file": (SYNC, "sqlite:///{}/rag.db"),
    "sync-memory": (SYNC, "sqlite://"),
    "executor-file": (ASYNC, "sqlite:///{}/rag.db"),
    "executor-memory": (ASYNC, "sqlite://"),
    "async-file": (ASYNC, "sqlite+aiosqlite:///{}/rag.db"),
    "async-memory": (ASYNC, "sqlite+aiosqlite://"),
}
POSTGRES = {
    "sync-postgres": (SYNC, "postgresql+psycopg"),
    "executor-postgres": (ASYNC, "postgresql+psycopg"),
    "async-postgres": (ASYNC, "postgresql+psycopg_async"),
    "asyncpg": (ASYNC, "postgresql+asyncpg"),
}

EVERYDAY = ("sync-file", "async-file")

sqlite = [
    pytest.param(kind, id=name, marks=() if name in EVERYDAY else pytest.mark.full)
    for name, kind in SQLITE.items()
]
postgres = [
    pytest.param(kind, id=name, marks=(pytest.mark.integration, pytest.mark.full))
    for name, kind in POSTGRES.items()
]
KINDS = [*sqlite, *postgres]
LASTING = [kind for kind in KINDS if "memory" not in str(kind.id)]
on_sqlite = pytest.mark.parametrize("kind", sqlite, indirect=True)
on_postgres = pytest.mark.parametrize("kind", postgres, indirect=True)
# What no database decides: it is refused, or done, before one is asked.
in_both_drivers = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.id in EVERYDAY], indirect=True
)


def of(driver):
    """The kinds that a driver of ours serves."""
    names = {name for name, kind in {**SQLITE, **POSTGRES}.items() if kind[0] is driver}
    return [kind for kind in KINDS if kind.id in names]
