"""How the demo looks: headings, a bar, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from langchain_rag.cli.store import Match, Stored

__all__ = ["Report"]

KINDS: Final = {"RecursiveCharacterTextSplitter": "smaller pieces"}
EXCERPT: Final = 200


class Report:
    """Writes to a console.

    Args:
        console: The console.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def heading(self, text: str) -> None:
        """Write the heading of a step."""
        self._console.print(f"\n[bold cyan]{escape(text)}[/]")

    def say(self, text: str) -> None:
        """Write a line of text."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=False)

    def bar(self, unit: str) -> Progress:
        """Return a progress bar, to be entered.

        Args:
            unit: What it counts.

        Returns:
            The bar, without a task.
        """
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeElapsedColumn(),
            console=self._console,
        )

    def stored(self, stored: Stored) -> None:
        """Write what is stored."""
        table = Table(box=box.SIMPLE)
        table.add_column("what")
        table.add_column("where")
        table.add_column("number", justify="right")
        table.add_row("documents", "SQLite", str(stored.documents))
        table.add_row("chunks", "SQLite", str(stored.chunks))
        for kind, number in sorted(stored.kinds.items()):
            table.add_row(f"variations: {_kind(kind)}", "Chroma", str(number))
        table.add_row("variations in all", "Chroma", str(stored.kinds.total()))
        self._console.print(table)

    def matches(self, matches: Sequence[Match]) -> None:
        """Write what was found."""
        table = Table(box=box.ROUNDED, show_lines=True)
        table.add_column("#", justify="right")
        table.add_column("chunk, under its article", ratio=3)
        table.add_column("variation that matched", ratio=2)
        table.add_column("distance", justify="right", no_wrap=True)
        for number, match in enumerate(matches, 1):
            title, source = match.chunk.metadata["title"], match.chunk.metadata["source"]
            table.add_row(
                str(number),
                f"[bold]{escape(title)}[/] ({escape(source)})\n"
                f"{escape(_excerpt(match.chunk.page_content))}",
                f"[bold]{escape(_kind(match.kind))}[/]\n{escape(_excerpt(match.variation))}",
                f"{match.distance:.3f}",
            )
        self._console.print(table)


def _kind(kind: str) -> str:
    return KINDS.get(kind, kind)


def _excerpt(text: str) -> str:
    lines = text.split("\n")
    # The article's title stands above it.
    line = " ".join(" ".join(lines[lines[0].startswith("# ") :]).split())
    return line if len(line) <= EXCERPT else line[:EXCERPT].rsplit(" ", 1)[0] + " …"
