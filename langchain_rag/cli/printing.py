"""Printing reports, also where nobody can read them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_rag.audit.reports import Report

__all__ = ["printed", "shown"]


def printed(text: str) -> bool:
    """Print to standard output, and say whether that went well.

    A pipe that was closed or a disk that is full says nothing of the store, so it is no error;
    whatever is printed after it goes nowhere.

    Args:
        text: Whole lines, without the last line break.

    Returns:
        Whether it could be written.
    """
    encoding = _encoding()
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            # Who closes a pipe knows it; who fills a disk may not.
            print(f"langchain-rag: the report was not written: {error}", file=sys.stderr)
        _mute()
        return False
    return True


def shown(report: Report) -> str:
    """Return a report as text, coloured where standard output is a terminal.

    Args:
        report: What to show.

    Returns:
        Lines, without the last line break.
    """
    try:
        from rich import box  # noqa: PLC0415 - an extra
        from rich.console import Console  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
    except ModuleNotFoundError:
        return str(report)
    real = Console()
    # Not on standard output: rich ends the process where it cannot print.
    made = _Made()
    made.encoding = _encoding()
    console = Console(file=made, width=real.width, force_terminal=real.is_terminal)
    for line in report.lines:
        console.print(line, markup=False, highlight=False)
    table = report.table
    if table is not None:
        grid = Table(*table.header, box=box.SIMPLE)
        for row in table.rows:
            grid.add_row(*(_text(cell) for cell in row))
        console.print(grid)
        if table.more:
            console.print(table.more, markup=False, highlight=False)
    return made.getvalue().rstrip("\n")


class _Made(io.StringIO):
    """Text for standard output, of the characters that it knows."""

    encoding = "utf-8"


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _text(cell: str) -> Any:
    from rich.text import Text  # noqa: PLC0415 - an extra

    return Text(cell)


def _mute() -> None:
    """Keep the interpreter from failing over what is in the buffer when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
