"""Embeddings by which no two texts are equally near, so that a ranking can be compared."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from typing_extensions import override

from langchain_rag.testing import CountingEmbeddings


class Scattered(CountingEmbeddings):
    """A vector of each text that has nothing to do with what it says, and counts."""

    @override
    def vector(self, text: str) -> list[float]:
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        vector = np.random.default_rng(int.from_bytes(digest, "big")).random(self.size)
        return [float(one) for one in vector / np.linalg.norm(vector)]

    def similarity(self, a: str, b: str) -> float:
        """The cosine of two texts; not counted."""
        return float(np.dot(self.vector(a), self.vector(b)))

    def ranked(self, query: str, texts: list[str]) -> list[int]:
        """The places of texts, nearest first, found by going through all of them."""
        return sorted(range(len(texts)), key=lambda n: -self.similarity(query, texts[n]))
