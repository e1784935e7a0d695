"""Summaries over the documents of a group, in the store beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.runnables import RunnableConfig
from langchain_core.structured_query import FilterDirective

from langchain_rag._documents import document_of
from langchain_rag._flow import arun, run
from langchain_rag._flow.together import arun_together, run_together
from langchain_rag.errors import ConfigurationError
from langchain_rag.lifecycle.groups import Grouping, Membership, Refreshed, Wanted
from langchain_rag.lifecycle.sources import check_id, check_list

if TYPE_CHECKING:
    from langchain_rag.document_transformers.trees.raptor import RaptorTransformer
    from langchain_rag.vectorstores.rag import RAGVectorStore

__all__ = ["SummaryGroup"]


class SummaryGroup:
    """A tree of summaries over the chunks of several documents of a store.

    RAPTOR (Sarthi et al. 2024) over many documents: the summaries say what no single document
    says. They are stored as a document of their own, with id and source
    `summary-group:<name>`, through the same lifecycle as any other; searches find them beside
    the chunks, with kind `"summary"`, and `"group"` and `"level"` in their metadata.

    Nothing is done by itself when a member changes: until the next `refresh()`, searches
    return the summaries as they were, and `stale()` says that they are. A refresh costs nothing
    where no member changed, and otherwise the summaries of those clusters that came out
    differently, if the store has a variation cache; without one, all of them. A group whose
    members are gone, or have fewer than two chunks together, is removed by a refresh.

    `rag.index()` leaves groups alone, with `cleanup="full"` too: no loader returns them.

    Args:
        rag: The store.
        name: Of the group; a store has one group of a name.
        transformer: Makes the summaries; of its splitter no use is made.
        ids: Document ids of the members. They need not be stored, or not yet.
        sources: Sources of the members.
        filter: Which chunks of them: a `Comparison` or `Operation` of LangChain's structured
            queries, a dict of metadata keys and the values that they must have, or a function
            of a chunk's metadata. To find them all chunks of the members are read; with
            neither `ids` nor `sources`, all of the store.

    Raises:
        ConfigurationError: An argument cannot work.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.stores import InMemoryStore
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> from langchain_rag import RAGVectorStore
        >>> from langchain_rag.document_transformers.trees.raptor import RaptorTransformer
        >>> embeddings = DeterministicFakeEmbedding(size=8)
        >>> rag = RAGVectorStore(
        ...     vectorstore=InMemoryVectorStore(embeddings),
        ...     docstore=InMemoryStore(),
        ...     source_id_key=None,
        ... )
        >>> ids = rag.add_texts(["On sets", "On groups"], ids=["sets", "groups"])
        >>> llm = FakeListChatModel(responses=["On algebra"])
        >>> raptor = RaptorTransformer(llm, CharacterTextSplitter(), embeddings)
        >>> group = SummaryGroup(rag, "algebra", transformer=raptor, ids=ids)
        >>> group.refresh(), group.refresh(), group.stale()
        ('updated', 'unchanged', False)
        >>> [chunk.page_content for chunk in rag.get_by_ids([group.document_id])]
        ['On algebra']
        >>> rag.delete(["sets", "groups"]), group.stale(), group.refresh()
        (True, True, 'removed')
    """

    def __init__(
        self,
        rag: RAGVectorStore,
        name: str,
        *,
        transformer: RaptorTransformer,
        ids: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
        filter: FilterDirective  # noqa: A002 - as in searches
        | dict[str, Any]
        | Callable[[dict[str, Any]], bool]
        | None = None,
    ) -> None:
        check_list(ids)
        check_list(sources, "sources")
        if ids is None and sources is None and filter is None:
            message = f"Say of what documents group {name!r} is: give ids, sources or a filter."
            raise ConfigurationError(message)
        membership = Membership(
            None if ids is None else tuple(map(check_id, ids)),
            None if sources is None else frozenset(sources),
            filter if callable(filter) else _wanted_by(filter),
        )
        key = rag.source_id_key
        own: dict[str, Any] = {"group": name}
        id_ = check_id(name) and f"summary-group:{name}"
        if isinstance(key, str):
            own[key] = id_

        def over(chunks: Sequence[Document]) -> BaseDocumentTransformer:
            return transformer.over(chunks, own)

        self._defaults = rag._defaults  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self._grouping = Grouping(
            rag._lifecycle,  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            name,
            membership,
            over,
            has_sources=key is not None,
        )

    @property
    def document_id(self) -> str:
        """Id of the document that the summaries are chunks of."""
        return self._grouping.document_id

    def refresh(
        self, *, force: bool = False, config: RunnableConfig | None = None
    ) -> Refreshed:
        """Bring the summaries to what the members say now.

        Args:
            force: Ask the model again for everything.
            config: Callbacks, tags and concurrency for the model calls.

        Returns:
            `"updated"`, `"unchanged"`, or `"removed"` where there is nothing to summarise.

        Raises:
            TransformerError: A summary failed; the group is stored as it was before.
            ConcurrentWriteError: Another call is refreshing the group.
            StoreError: A store did not do what its contract says.
        """
        settings = self._defaults.settings(config=config, force=force)
        return run_together(self._grouping.refresh(settings), settings.limit)

    async def arefresh(
        self, *, force: bool = False, config: RunnableConfig | None = None
    ) -> Refreshed:
        """Bring the summaries to what the members say now; see `refresh`."""
        settings = self._defaults.settings(config=config, force=force)
        return await arun_together(self._grouping.refresh(settings), settings.limit)

    def stale(self) -> bool:
        """Say whether a refresh would change anything.

        Returns:
            Whether a member was added, changed or deleted since the last one, whether the
            summaries would be made otherwise now, or are lost.
        """
        return run(self._grouping.stale())

    async def astale(self) -> bool:
        """Say whether a refresh would change anything; see `stale`."""
        return await arun(self._grouping.stale())

    def delete(self) -> None:
        """Delete the summaries; the members stay as they are."""
        run(self._grouping.remove())

    async def adelete(self) -> None:
        """Delete the summaries; see `delete`."""
        await arun(self._grouping.remove())


def _wanted_by(filter: object) -> Wanted | None:  # noqa: A002 - as in searches
    from langchain_rag.retrievers.filters import (  # noqa: PLC0415 - cheap imports
        directive_of,
        predicate_of,
    )

    directive = directive_of(filter)
    if directive is None:
        return None
    passes = predicate_of(directive)
    return lambda metadata: passes(document_of("", metadata))
