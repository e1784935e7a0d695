"""What of the metadata a row gets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from langchain_rag.lifecycle.projection import projection


def test_what_is_flat_stays() -> None:
    flat = {"text": "a", "whole": 1, "broken": 1.5, "truth": True, "blank": ""}
    assert projection(flat) == flat


def test_what_stores_refuse_stays_out() -> None:
    metadata: dict[str, Any] = {
        "": "x",
        "none": None,
        "list": [1],
        "dict": {},
        "nan": float("nan"),
        "big": 2**63,
    }
    assert projection(metadata) == {}


def test_dates_sort_as_texts() -> None:
    assert projection({"at": datetime(2026, 11, 30, 7, tzinfo=UTC)}) == {
        "at": "2026-11-30T07:00:00+00:00"
    }
