"""Points before and after everything that the stores of a process are asked to do.

The stores stay what they are, and only their methods are replaced: what looks at their class
(locks, limits of backends) sees no difference.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.killing.points import Points

DOCSTORE = {"mget": "docstore.read"}
CLAIM = {
    "mset": "docstore.write",
    "mdelete": "docstore.delete",
    "acquire": "claim",
    "confirm": "claim",
    "release": "claim",
}
VECTORS = {"add_documents": "vectors.add", "delete": "vectors.delete"}
RECORDS = {
    "exists": "records.read",
    "list_keys": "records.read",
    "get_time": "records.read",
    "update": "records.write",
    "delete_keys": "records.write",
}


def count_methods(points: Points, target: Any, kinds: dict[str, str]) -> None:
    """Count the calls of methods and of their async twins.

    Args:
        points: Where.
        target: The object; its class is not touched.
        kinds: What to call each method.
    """
    for name, kind in kinds.items():
        for method in (name, f"a{name}"):
            setattr(target, method, _counted(points, getattr(target, method), kind))


def count_claims(points: Points, docstore: Any) -> None:
    """Count what is done through the claims of a docstore, which is all of its writes.

    Args:
        points: Where.
        docstore: A docstore with claims of its own.
    """
    original = docstore.claim

    def claim(documents: Any) -> Any:
        made = original(documents)
        count_methods(points, made, CLAIM)
        return made

    docstore.claim = claim


def count_statements(points: Points, engine: Any, room: str) -> None:
    """Count an engine's statements and commits.

    Args:
        points: Where.
        engine: A sync or an async engine.
        room: What to call it.
    """
    sync: Any = engine.sync_engine if isinstance(engine, AsyncEngine) else engine

    def before(*_: Any) -> None:
        points.reach(f"{room}.statement before")

    def after(*_: Any) -> None:
        points.reach(f"{room}.statement after")

    event.listen(sync, "before_cursor_execute", before)
    event.listen(sync, "after_cursor_execute", after)
    sync.dialect.do_commit = _counted(points, sync.dialect.do_commit, f"{room}.commit")


def count_rows(points: Points, collection: Any) -> None:
    """Count what a Chroma collection is given, and stop in the middle of it where told to.

    Args:
        points: Where.
        collection: The collection.
    """
    for name in ("upsert", "delete"):
        original = getattr(collection, name)
        setattr(collection, name, _in_parts(points, original, f"rows.{name}"))


def tell_after(target: Any, name: str, tell: Callable[[], None]) -> None:
    """Tell of each call of a method, and of its async twin, that has succeeded.

    Args:
        target: The object; its class is not touched.
        name: Of the method.
        tell: Is called.
    """
    method, amethod = getattr(target, name), getattr(target, f"a{name}")

    @wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        tell()
        return result

    @wraps(amethod)
    async def awrapper(*args: Any, **kwargs: Any) -> Any:
        result = await amethod(*args, **kwargs)
        tell()
        return result

    setattr(target, name, wrapper)
    setattr(target, f"a{name}", awrapper)


def _counted(points: Points, method: Callable[..., Any], kind: str) -> Callable[..., Any]:
    @wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        points.reach(f"{kind} before")
        result = method(*args, **kwargs)
        points.reach(f"{kind} after")
        return result

    @wraps(method)
    async def awrapper(*args: Any, **kwargs: Any) -> Any:
        points.reach(f"{kind} before")
        result = await method(*args, **kwargs)
        points.reach(f"{kind} after")
        return result

    return awrapper if inspect.iscoroutinefunction(method) else wrapper


def _in_parts(points: Points, method: Callable[..., Any], kind: str) -> Callable[..., Any]:
    def wrapper(**columns: Any) -> Any:
        points.reach(f"{kind} before")
        if points.is_next():
            half = len(columns["ids"]) // 2
            lists = {key: value[:half] for key, value in columns.items() if value is not None}
            if half:
                method(**lists)
        points.reach(f"{kind} inside")
        result = method(**columns)
        points.reach(f"{kind} after")
        return result

    return wrapper
