"""`langchain-rag verify`, `repair` and `stats`."""

from __future__ import annotations

import asyncio
import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from langchain_rag._flow import Flow, arun, call
from langchain_rag._flow import run as run_flow
from langchain_rag.cli import targets
from langchain_rag.cli.printing import printed, shown

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from langchain_core.indexing import RecordManager

    from langchain_rag import RAGVectorStore
    from langchain_rag.audit.reports import Report

__all__ = ["run"]

LEFT: Final = 2
"""Exit code where something is left to do."""


def run(
    command: str,
    *,
    target: str | None,
    path: Path | None,
    json: bool = False,
    yes: bool = False,
    unknown_rows: bool = False,
) -> int:
    """Look at a store, and print what is found.

    Args:
        command: `"verify"`, `"repair"` or `"stats"`.
        target: Where the store is, as MODULE:NAME.
        path: Or a folder of the demo.
        json: Whether to print JSON.
        yes: Whether to repair without asking.
        unknown_rows: Whether to delete rows of documents of which the docstore knows nothing.

    Returns:
        0; 2 where something is left to do.

    Raises:
        ConfigurationError: There is no store there.
    """
    audit = _Audit(command, json=json, yes=yes, unknown_rows=unknown_rows)
    if path is not None:
        with targets.in_demo_folder(path) as rag:
            return run_flow(audit.of(rag, None))
    name = str(target)
    with targets.quiet():
        found = targets.load(name)
    if inspect.isawaitable(found):
        return asyncio.run(_awaited(found, name, audit))
    return run_flow(audit.of(*targets.store_of(found, name)))


async def _awaited(found: Awaitable[Any], name: str, audit: _Audit) -> int:
    with targets.quiet():
        store = targets.store_of(await found, name)
    return await arun(audit.of(*store))


class _Audit:
    """One command, by synchronous or asynchronous methods of the store."""

    def __init__(self, command: str, *, json: bool, yes: bool, unknown_rows: bool) -> None:
        self._command = command
        self._json = json
        self._yes = yes
        self._unknown_rows = unknown_rows

    def of(self, rag: RAGVectorStore, record_manager: RecordManager | None) -> Flow[int]:
        """Do it, print it, and return the exit code."""
        if self._command == "stats":
            return self._tell((yield from call(rag.stats, rag.astats)))
        options = {"record_manager": record_manager}
        if self._command == "verify" or not self._yes:
            report = yield from call(rag.verify, rag.averify, **options)
            if self._command == "verify" or report.ok:
                return self._tell(report)
            if not self._agreed(report):
                return LEFT
        repair: dict[str, Any] = {**options, "unknown_rows": self._unknown_rows}
        return self._tell((yield from call(rag.repair, rag.arepair, **repair)))

    def _tell(self, report: Report) -> int:
        printed(report.json() if self._json else shown(report))
        return 0 if report.ok else LEFT

    def _agreed(self, report: Report) -> bool:
        """Say what will be done, and ask."""
        if self._json:
            # What is printed is read by a program, which cannot answer.
            self._tell(report)
            print("langchain-rag: nothing was repaired; give --yes.", file=sys.stderr)
            return False
        if not printed(shown(report)):
            return False  # nobody has read what would be done
        try:
            answer = input("Repair this? [y/N] ")
        except EOFError:
            printed("\nNothing was repaired; give --yes where nobody can answer.")
            return False
        return answer.strip().lower() in {"y", "yes"}
