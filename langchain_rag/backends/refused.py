"""Stores of which it is known that they cannot hold variations."""

from __future__ import annotations

from langchain_rag.backends.backend import Backend
from langchain_rag.errors import IdsIgnoredError


def sqlite_vec(_store: object, name: str) -> Backend:
    """Langchain-community's SQLiteVec numbers its rows itself, and has no delete."""

    def refusal() -> IdsIgnoredError:
        message = (
            "SQLiteVec numbers its rows itself, whatever ids it is given, and cannot delete, "
            "so what it holds could never be changed. Wrap another store. Nothing was written."
        )
        return IdsIgnoredError(message)

    return Backend(name, refusal=refusal)
