"""Growing trees of summaries, level by level, those of all documents side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import run_in_executor

from langchain_rag._flow import Flow, call
from langchain_rag.document_transformers._portions import length_of, portions_of
from langchain_rag.document_transformers._summaries import Job
from langchain_rag.document_transformers.overseeing import overseer_of
from langchain_rag.errors import TransformerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import RunnableConfig

    from langchain_rag.document_transformers._clustering import Clustering
    from langchain_rag.document_transformers._summaries import Summaries
    from langchain_rag.document_transformers._trees import Tree

__all__ = ["Climbing"]

_GUESSED = 5
"""Members of a cluster that a dry run reckons with, since it may not embed."""


class Climbing:
    """Puts levels of summaries on trees.

    Args:
        summaries: Makes summaries, and says what fits into one prompt.
        embeddings: For clustering.
        clustering: The same.
        max_levels: How high a tree may grow.
        enough: A level of so many chunks gets none above it.
    """

    def __init__(
        self,
        summaries: Summaries,
        embeddings: Embeddings,
        clustering: Clustering,
        *,
        max_levels: int,
        enough: int,
    ) -> None:
        self._summaries = summaries
        self._embeddings = embeddings
        self._clustering = clustering
        self._max_levels = max_levels
        self._enough = enough

    def climb(self, trees: Sequence[Tree], config: RunnableConfig | None) -> Flow[None]:
        """Grow trees to their tops.

        Args:
            trees: The trees. One that fails, and whose failure is noted, stays as it is.
            config: The caller's config.

        Raises:
            TransformerError: Something failed.
        """
        growing = list(trees)
        vectors: dict[str, list[float]] = {}
        for level in range(1, self._max_levels + 1):
            growing = [tree for tree in growing if len(tree.texts) > self._enough]
            if not growing:
                return
            clusters = yield from self._clusters(growing, vectors, config)
            growing = [tree for tree in growing if not tree.failed]
            growing = yield from self._grow(level, growing, clusters, config)

    def _grow(
        self,
        level: int,
        trees: Sequence[Tree],
        clusters: dict[int, list[list[int]]],
        config: RunnableConfig | None,
    ) -> Flow[list[Tree]]:
        jobs: list[Job] = []
        for tree in trees:
            texts = tree.texts
            jobs += [
                Job(tree.document, [texts[position] for position in cluster])
                for cluster in clusters[id(tree)]
                if self._needs_summary(cluster, texts)
            ]
        made = iter((yield from self._summaries.made(jobs, config)))
        grown: list[Tree] = []
        for tree in trees:
            texts = tree.texts
            parts = clusters[id(tree)]
            asked = [self._needs_summary(cluster, texts) for cluster in parts]
            found = [next(made) if is_asked else None for is_asked in asked]
            if any(
                is_asked and one is None for is_asked, one in zip(asked, found, strict=True)
            ):
                tree.failed = True
            elif any(asked):
                tree.grow(level, parts, found)
                grown.append(tree)
        return grown

    def _needs_summary(self, cluster: Sequence[int], texts: Sequence[str]) -> bool:
        """Say whether a cluster is more than one text that goes on as it is."""
        return len(cluster) > 1 or not self._fits(cluster, texts)

    def _fits(self, cluster: Sequence[int], texts: Sequence[str]) -> bool:
        length = length_of([texts[position] for position in cluster], self._summaries.length)
        return length <= self._summaries.max_length

    def _clusters(
        self,
        trees: Sequence[Tree],
        vectors: dict[str, list[float]],
        config: RunnableConfig | None,
    ) -> Flow[dict[int, list[list[int]]]]:
        """Return for each tree, by its `id()`, clusters of what is highest in it."""
        if overseer_of(config).dry_run:
            return {id(tree): self._guessed(tree.texts) for tree in trees}
        yield from self._embed_all(trees, vectors, config)
        known = [tree for tree in trees if not tree.failed]
        compute = partial(self._computed, known, vectors)
        acompute = partial(run_in_executor, None, compute)
        return (yield from call(compute, acompute))

    def _guessed(self, texts: Sequence[str]) -> list[list[int]]:
        rows = range(0, len(texts), _GUESSED)
        clusters = [list(range(n, min(n + _GUESSED, len(texts)))) for n in rows]
        return [part for one in clusters for part in self._in_portions(one, texts)]

    def _computed(
        self, trees: Sequence[Tree], vectors: dict[str, list[float]]
    ) -> dict[int, list[list[int]]]:
        return {id(tree): self._fitting(tree.texts, vectors) for tree in trees}

    def _fitting(
        self, texts: Sequence[str], vectors: dict[str, list[float]]
    ) -> list[list[int]]:
        """Return clusters that fit into a prompt, fewer than there are texts."""
        whole = list(range(len(texts)))
        found = self._narrowed(whole, texts, vectors)
        # One of several texts stands for nothing alone, where it is in another cluster too.
        shared = {position for part in found if len(part) > 1 for position in part}
        parts = {tuple(part) for part in found if len(part) > 1 or part[0] not in shared}
        if len(parts) < len(texts):
            return [list(part) for part in sorted(parts)]
        return self._in_portions(whole, texts)

    def _narrowed(
        self, members: list[int], texts: Sequence[str], vectors: dict[str, list[float]]
    ) -> list[list[int]]:
        """Cluster, and cluster again what is too long for a prompt."""
        found: list[list[int]] = []
        for part in self._clustering.clusters([vectors[texts[n]] for n in members]):
            cluster = [members[position] for position in part]
            if self._fits(cluster, texts) or len(cluster) == 1:
                found.append(cluster)
            elif len(cluster) < len(members):
                found += self._narrowed(cluster, texts, vectors)
            else:
                found += self._in_portions(cluster, texts)
        return found

    def _in_portions(self, members: Sequence[int], texts: Sequence[str]) -> list[list[int]]:
        bound, length = self._summaries.max_length, self._summaries.length
        portions = portions_of([texts[n] for n in members], bound, length)
        return [[members[position] for position in portion] for portion in portions]

    def _embed_all(
        self,
        trees: Sequence[Tree],
        vectors: dict[str, list[float]],
        config: RunnableConfig | None,
    ) -> Flow[None]:
        """Embed what is highest in all trees, by one call, each text once.

        Args:
            trees: The trees. One that fails alone is marked, if its failure may be noted.
            vectors: What is known by text; what is new is put in.
            config: The caller's config.
        """
        try:
            yield from self._embed(trees, vectors)
        except Exception as error:
            if not overseer_of(config).tolerant:
                raise _failed(error) from error
        else:
            return
        for tree in trees:
            # One of them may be to blame.
            try:
                yield from self._embed([tree], vectors)
            except Exception as error:
                failed = _failed(error)
                failed.__cause__ = error
                if not overseer_of(config).note(tree.document, failed):
                    raise failed from error
                tree.failed = True

    def _embed(self, trees: Sequence[Tree], vectors: dict[str, list[float]]) -> Flow[None]:
        texts = dict.fromkeys(text for tree in trees for text in tree.texts)
        new = [text for text in texts if text not in vectors]
        if not new:
            return
        embeddings = self._embeddings
        found: list[Any] = yield from call(
            embeddings.embed_documents, embeddings.aembed_documents, new
        )
        if len(found) != len(new):
            name = type(embeddings).__name__
            msg = f"{name} gave {len(found)} vectors for {len(new)} texts"
            raise ValueError(msg)
        vectors.update(zip(new, found, strict=True))


def _failed(error: Exception) -> TransformerError:
    return TransformerError(
        f"Chunks could not be embedded, to find out which belong together: {error!r}. See the"
        " cause, and repeat."
    )
