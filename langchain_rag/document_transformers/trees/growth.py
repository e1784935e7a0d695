"""Growing trees of summaries, level by level, those of all documents side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import run_in_executor

from langchain_rag._documents import copied, document_of
from langchain_rag._flow import Flow, call
from langchain_rag._reserved import NODE, without_reserved
from langchain_rag.document_transformers._documents import made_of, name_of
from langchain_rag.document_transformers.nodes import Node, marked
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.document_transformers.trees.summaries import Job, length_of, portions_of
from langchain_rag.errors import TransformerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import RunnableConfig

    from langchain_rag.document_transformers.trees.clustering import Clustering
    from langchain_rag.document_transformers.trees.summaries import Summaries


__all__ = ["Climbing", "Tree"]


class _Branch:
    """A chunk of the tree: a leaf, or a summary.

    Args:
        name: Names it in the tree.
        level: Its height.
        text: Its text.
        metadata: What all leaves below it have in common.
    """

    def __init__(self, name: str, level: int, text: str, metadata: dict[str, Any]) -> None:
        self.name = name
        self.level = level
        self.text = text
        self.metadata = metadata
        self.parents: list[str] = []


class Tree:
    """Chunks of one document, and summaries above them.

    Args:
        document: The document.
        leaves: Its chunks, in reading order; blank ones are left out.
        own: Metadata that each summary has, whatever its leaves say.
        level_key: Metadata key of the level.

    Attributes:
        document: The same.
        failed: Whether something failed that was noted; it does not grow any more then.

    Raises:
        TransformerError: The leaves are chunks of a tree already.
    """

    def __init__(
        self,
        document: Document,
        leaves: Sequence[Document],
        own: Mapping[str, Any] | None = None,
        *,
        level_key: str,
    ) -> None:
        self.document = document
        self.failed = False
        self._own = dict(own or {})
        self._level_key = level_key
        self._leaves = [leaf for leaf in leaves if leaf.page_content.strip()]
        if any(NODE in leaf.metadata for leaf in self._leaves):
            msg = (
                f"The chunks of document {name_of(document)} stand in a tree already, so that"
                " none can be built on them: give a splitter that makes one level of chunks."
            )
            raise TransformerError(msg)
        self._summaries: list[_Branch] = []
        self._bottom = [
            _Branch(f"0.{n}", 0, leaf.page_content, without_reserved(leaf.metadata))
            for n, leaf in enumerate(self._leaves)
        ]
        self._top = list(self._bottom)

    @property
    def texts(self) -> list[str]:
        """Texts of what is highest so far, in reading order."""
        return [branch.text for branch in self._top]

    def grow(
        self, level: int, clusters: Sequence[Sequence[int]], summaries: Sequence[str | None]
    ) -> None:
        """Put one more level on top.

        Args:
            level: Its height.
            clusters: Positions in `texts`, in reading order.
            summaries: One for each cluster; None for one whose only member goes on as it is.
        """
        top: list[_Branch] = []
        for cluster, summary in zip(clusters, summaries, strict=True):
            members = [self._top[position] for position in cluster]
            if summary is None:
                top += members
                continue
            shared = _shared([member.metadata for member in members])
            branch = _Branch(f"{level}.{len(top)}", level, summary, shared)
            for member in members:
                member.parents.append(branch.name)
            top.append(branch)
            self._summaries.append(branch)
        self._top = top

    def leaves(self) -> list[Document]:
        """Return the chunks, marked, with their metadata."""
        return [
            marked(
                document_of(
                    leaf.page_content, {**copied(leaf.metadata), self._level_key: 0}, leaf.id
                ),
                Node(branch.name, tuple(branch.parents)),
            )
            for leaf, branch in zip(self._leaves, self._bottom, strict=True)
        ]

    def summaries(self, transformer: str) -> list[Document]:
        """Return the summaries, marked, the lowest first.

        Args:
            transformer: Class name of the transformer.
        """
        return [self._made(branch, transformer) for branch in self._summaries]

    def _made(self, branch: _Branch, transformer: str) -> Document:
        given = without_reserved(self.document.metadata)
        metadata = {
            key: value
            for key, value in given.items()
            # A splitter may drop metadata, or say more; then the document does not know.
            if not any(
                key in leaf.metadata and not _same(leaf.metadata[key], value)
                for leaf in self._bottom
            )
        }
        metadata |= branch.metadata | self._own
        metadata[self._level_key] = branch.level
        made = made_of(self.document, branch.text, metadata, transformer=transformer, kind=None)
        node = Node(branch.name, tuple(branch.parents), branch.level, kind="summary")
        return marked(made, node)


def _shared(metadatas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, *others = metadatas
    return {
        key: value
        for key, value in first.items()
        if all(key in other and _same(other[key], value) for other in others)
    }


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


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
