"""RAPTOR: chunks, and a tree of summaries of clusters of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.embeddings import Embeddings

from langchain_rag._identity import declared_name
from langchain_rag.document_transformers.base import LazyDocumentTransformer, WindowTransformer
from langchain_rag.document_transformers.composition import as_lazy
from langchain_rag.document_transformers.fingerprint import fingerprint_of, reads_metadata
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.document_transformers.trees.clustering import Clustering, SoftClustering
from langchain_rag.document_transformers.trees.growth import Climbing, Tree
from langchain_rag.document_transformers.trees.summaries import Summaries, tree_fingerprint
from langchain_rag.embedding_cache.identity import identity_of_embeddings
from langchain_rag.errors import ConfigurationError, TransformerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.runnables import RunnableConfig

    from langchain_rag._flow import Flow
    from langchain_rag.document_transformers._groups import Group
    from langchain_rag.document_transformers.llm.calls import Model, Prompt

__all__ = ["RaptorTransformer"]

CLUSTER_PROMPT: Final = (
    "{context}\n\n"
    "The passages above belong together. Summarize them in one paragraph, in their language."
    " Keep the names, numbers and facts that somebody may ask for."
)


@declared_name("RaptorTransformer")
class RaptorTransformer(WindowTransformer):
    """Cuts a document into chunks, and puts a tree of summaries above them.

    A `parent_transformer` after RAPTOR (Sarthi et al. 2024): the chunks are embedded and
    clustered softly, a model summarises each cluster, the summaries are clustered in turn, and
    so on until one is left. All levels are chunks, and a search may find any of them: the
    chunks of the splitter go through the `chunk_transformer`, the summaries are searched as
    they are, with kind `"summary"`. Each has its level in its metadata, 0 for the splitter's.
    The splitter's chunks come first, in reading order, then the summaries, the lowest first.

    A cluster of one chunk costs no call: the chunk itself takes part in the next level. A
    document of one chunk has no summary. Clusters whose texts do not fit into a prompt are
    clustered again, and where that does not help cut in reading order.

    The answers go through the variation cache by the texts of their cluster. An edit costs the
    summaries of the clusters that came out otherwise, and of those above them; see
    `SoftClustering` on how many that are. What is clustered is embedded again for each change
    of a document, unless `embeddings` keep their vectors (`langchain_rag.embedding_cache`);
    give the same ones to the vector store, and no chunk is embedded twice.

    A dry run embeds nothing, and reckons with clusters of five.

    Args:
        llm: A chat model or a completion model.
        splitter: Cuts documents into chunks: any document transformer.
        embeddings: For clustering.
        prompt: A prompt template, or its text, with the variable `context`: the texts of a
            cluster in reading order, with blank lines between.
        clustering: How to cluster; by default `SoftClustering()`: UMAP and a Gaussian mixture.
        max_levels: How many levels of summaries there may be.
        enough: A level of so many chunks gets no further one above it.
        max_length: What the texts in one prompt may measure.
        length: Measures a text; in characters by default. Give a tokenizer's count to
            measure in tokens.
        level_key: Metadata key of the level.
        version: Identity that you vouch for, where the model or the embeddings have none.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: An argument cannot work, or the extra `raptor` is not installed.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> raptor = RaptorTransformer(
        ...     FakeListChatModel(responses=["Both kinds of maths."]),
        ...     CharacterTextSplitter(separator=" ", chunk_size=7, chunk_overlap=0),
        ...     DeterministicFakeEmbedding(size=8),
        ... )
        >>> made = raptor.transform_documents([Document("pure applied")])
        >>> [(one.page_content, one.metadata["level"]) for one in made]
        [('pure', 0), ('applied', 0), ('Both kinds of maths.', 1)]
    """

    window_size: int = 8

    def __init__(
        self,
        llm: Model,
        splitter: BaseDocumentTransformer,
        embeddings: Embeddings,
        *,
        prompt: Prompt = CLUSTER_PROMPT,
        clustering: Clustering | None = None,
        max_levels: int = 5,
        enough: int = 1,
        max_length: int = 12_000,
        length: Callable[[str], int] = len,
        level_key: str = "level",
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        if max_levels < 1 or enough < 1:
            msg = f"max_levels is {max_levels} and enough {enough}: give 1 or more."
            raise ConfigurationError(msg)
        if not isinstance(cast("object", embeddings), Embeddings):
            msg = f"embeddings is a {type(embeddings).__name__}: give LangChain Embeddings."
            raise ConfigurationError(msg)
        self._splitter = as_lazy(splitter)
        self._embeddings = embeddings
        self._clustering: Clustering = clustering or SoftClustering()
        self._summaries = Summaries(
            llm,
            prompt=prompt,
            max_length=max_length,
            length=length,
            version=version,
            max_attempts=max_attempts,
        )
        self._climbing = Climbing(
            self._summaries,
            embeddings,
            self._clustering,
            max_levels=max_levels,
            enough=enough,
        )
        self._level_key = level_key
        self._parameters: dict[str, Any] = {
            "max_levels": max_levels,
            "enough": enough,
            "level_key": level_key,
        }
        self.version = version
        self.reads_metadata = reads_metadata(splitter)

    @property
    def fingerprint(self) -> str | None:
        """Identity of the splitter, the prompt, the model, the embeddings and the parameters.

        None where one of them has none, and for model and embeddings there is no `version`.
        """
        return self._identity(fingerprint_of(self._splitter))

    def over(
        self, chunks: Sequence[Document], metadata: Mapping[str, Any] | None = None
    ) -> LazyDocumentTransformer:
        """Return a transformer that makes the summaries of other chunks than its document's.

        Args:
            chunks: What to summarise, in reading order. They are not among the results.
            metadata: Metadata that each summary has beside what its chunks have in common.

        Returns:
            A transformer that makes the same of every document: the tree without its leaves.
        """
        return _Over(self, chunks, metadata or {})

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        groups = yield from self._splitter._transform_groups(  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            [[document] for document in documents], config
        )
        made: list[Group] = [[] for _ in documents]
        trees: dict[int, Tree] = {}
        for number, (document, leaves) in enumerate(zip(documents, groups, strict=True)):
            try:
                trees[number] = self._tree(document, leaves)
            except TransformerError as error:
                if not overseer_of(config).note(document, error):
                    raise
        yield from self._climbing.climb(list(trees.values()), config)
        for number, tree in trees.items():
            made[number] = [*tree.leaves(), *tree.summaries(type(self).__name__)]
        return made

    def _tree(
        self,
        document: Document,
        leaves: Sequence[Document],
        own: Mapping[str, Any] | None = None,
    ) -> Tree:
        return Tree(document, leaves, own, level_key=self._level_key)

    def _above(
        self,
        document: Document,
        chunks: Sequence[Document],
        own: Mapping[str, Any],
        config: RunnableConfig | None,
    ) -> Flow[Group]:
        tree = self._tree(document, chunks, own)
        yield from self._climbing.climb([tree], config)
        return tree.summaries(type(self).__name__)

    def _identity(self, leaves: str | None) -> str | None:
        parts = {
            "embeddings": identity_of_embeddings(self._embeddings),
            "clustering": self._clustering.fingerprint,
        }
        return tree_fingerprint(self, leaves, self._summaries, self._parameters | parts)


class _Over(WindowTransformer):
    """The summaries of given chunks, whatever the document."""

    def __init__(
        self, raptor: RaptorTransformer, chunks: Sequence[Document], metadata: Mapping[str, Any]
    ) -> None:
        self._raptor = raptor
        self._chunks = list(chunks)
        self._metadata = dict(metadata)

    @property
    def fingerprint(self) -> str | None:
        """Identity of how the summaries are made; that of the chunks is no part of it."""
        return self._raptor._identity("given")  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        made: list[Group] = []
        for document in documents:
            flow = self._raptor._above(document, self._chunks, self._metadata, config)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            made.append((yield from flow))
        return made
