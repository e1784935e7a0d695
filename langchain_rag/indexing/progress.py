"""How far `rag.index()` is, as a bar or as events."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.index_report import IndexEvent, Listener


@contextmanager
def listening(progress: bool | Listener, total: int | None) -> Generator[Listener | None]:
    """Provide the listener that the caller asked for.

    Args:
        progress: True for a bar, False for nothing, or the caller's own listener.
        total: How many documents there are, None where nobody knows.

    Yields:
        The listener, None for nothing.

    Raises:
        ConfigurationError: It is none of these.
    """
    if not isinstance(progress, bool):
        given: object = progress
        if not callable(given) or iscoroutinefunction(given):
            message = f"progress is {progress!r}; give True, False or a plain function."
            raise ConfigurationError(message)
        yield progress
        return
    if not progress:
        yield None
        return
    # It has no types, and is seldom needed.
    make: Any = import_module("tqdm.auto").tqdm
    counts = {"failed": 0, "deleted": 0}
    with make(total=total, unit="doc") as bar:

        def show(event: IndexEvent) -> None:
            if event.outcome in counts:
                counts[event.outcome] += 1
                seen = {name: count for name, count in counts.items() if count}
                bar.set_postfix(seen, refresh=False)
            if event.outcome != "deleted":
                bar.update()

        yield show
