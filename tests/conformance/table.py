"""What each vector store does when it is wrapped, as the table of `docs/stores.md`.

uv run python -m tests.conformance.table            # prints it
uv run python -m tests.conformance.table --write    # puts it into the page
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_rag.testing.conformance import report_on
from tests import postgres
from tests.conformance.stores import STORES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_rag.testing import StoreReport

PAGE = Path(__file__).parents[2] / "docs/stores.md"
BEGIN = "<!-- stores: made by `python -m tests.conformance.table --write` -->"
END = "<!-- end of stores -->"

COLUMNS = {
    "filter": "filter",
    "delete": "delete",
    "relevance": "relevance",
    "mmr": "MMR",
    "by_vector": "by vector",
    "get_by_ids": "rows by id",
    "lists": "lists rows",
    "replaces": "replaces rows",
    "embeds_once": "embeds a query once",
}


def row(report: StoreReport) -> str:
    """Return a store's line of the table."""
    cells = ["yes" if getattr(report, name) else "no" for name in COLUMNS]
    cells.append("no" if report.refused else report.asynchronous)
    return f"| {' | '.join([report.name, *cells])} |"


def table(reports: Iterable[StoreReport]) -> str:
    """Return the whole table."""
    head = ["", *COLUMNS.values(), "async"]
    lines = [f"| {' | '.join(head)} |".replace("|  |", "| |"), f"|{' --- |' * len(head)}"]
    return "\n".join([*lines, *(row(report) for report in reports)])


def in_docs() -> str:
    """Return the table that the page has."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def probed() -> list[StoreReport]:
    """Try every store."""
    reports: list[StoreReport] = []
    with tempfile.TemporaryDirectory() as folder, postgres.server() as server:
        postgres.execute(server.url(), "CREATE EXTENSION IF NOT EXISTS vector")
        for kind in STORES:
            store = kind()
            store.folder = Path(folder)
            store.url = postgres.text_of(server.url())
            reports.append(asyncio.run(report_on(store, kind.title)))
    return reports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into docs/stores.md")
    options = parser.parse_args()
    made = table(probed())
    print(made)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
