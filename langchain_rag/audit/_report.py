"""What all reports have in common: they print as lines and a table, also in a notebook."""

from __future__ import annotations

import json
from dataclasses import asdict
from html import escape
from typing import Any

from langchain_rag.audit._plain import plain
from langchain_rag.audit._tables import Table
from langchain_rag.audit.findings import FindingKind


class Report:
    """Something that prints as a line and a table, also in a notebook."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is left to do."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """Everything in a line."""
        raise NotImplementedError

    @property
    def counts(self) -> dict[FindingKind, int]:
        """How many findings there are of each kind; none where nothing is judged."""
        return {}

    @property
    def notes(self) -> list[str]:
        """What else one should know, a sentence each."""
        return []

    @property
    def table(self) -> Table | None:
        """The details, None where there are none."""
        raise NotImplementedError

    @property
    def explained(self) -> list[str]:
        """What the kinds of findings mean, a line each."""
        return []

    @property
    def lines(self) -> list[str]:
        """All that stands above the table, safe to print: summary, notes, what kinds mean."""
        return [plain(line) for line in (self.summary, *self.notes, *self.explained)]

    def __str__(self) -> str:
        table = self.table
        parts = [*self.lines, *([] if table is None else ["", table.text()])]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        table = self.table
        first, *rest = self.lines
        lines = [f"<p><b>{escape(first)}</b></p>", *(f"<p>{escape(line)}</p>" for line in rest)]
        return "".join([*lines, *([] if table is None else [table.html()])])

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, which JSON can say."""
        made: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        said = {"ok": self.ok, "summary": self.summary, "notes": self.notes}
        return {**said, "counts": self.counts, **made}

    def json(self) -> str:
        """Return all of it as JSON."""
        return json.dumps(self.as_dict(), indent=2)
