"""What the command line says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure.

    Attributes:
        data: Folder with real text.
        turns: How often each side is measured.
        documents: How many; 0 for each benchmark's own number.
        stores: Vector stores, where a benchmark has several.
        embeddings: Models, where a benchmark's figures depend on them.
        cache: Folder where vectors are kept between runs.
    """

    data: str
    turns: int
    documents: int
    stores: tuple[str, ...]
    embeddings: tuple[str, ...]
    cache: str
