"""Transformers in sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.documents import Document

from langchain_rag.document_transformers._groups import Group
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import digest_of_members
from langchain_rag.document_transformers.identity import declared_name
from langchain_rag.document_transformers.member import as_lazy
from langchain_rag.document_transformers.metadata import reads_metadata

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator

    from langchain_core.documents import BaseDocumentTransformer
    from langchain_core.runnables import RunnableConfig

    from langchain_rag._flow import Flow

__all__ = ["DocumentTransformerPipeline"]


@declared_name("DocumentTransformerPipeline")
class DocumentTransformerPipeline(LazyDocumentTransformer):
    """Several transformers in sequence; each transforms what the one before made.

    The lazy forms stream: each stage reads its own window, so that the first results are
    there before the last document is read. `a | b | c` is the same as
    `DocumentTransformerPipeline([a, b, c])`. An empty pipeline gives copies of the
    documents, with ids and metadata as they were.

    A member that is not a `LazyDocumentTransformer` is called with what the stage before
    made of one document of the pipeline's input, and gets `config` only where it says
    `accepts_config = True`.

    Args:
        transformers: The stages, first to last.

    Attributes:
        transformers: The stages, as a tuple.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> from langchain_rag.document_transformers import CopyDocumentTransformer
        >>> words = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
        >>> pipeline = words | CopyDocumentTransformer()
        >>> made = pipeline.transform_documents([Document("pure maths")])
        >>> [document.page_content for document in made]
        ['pure', 'maths']
    """

    def __init__(self, transformers: Iterable[BaseDocumentTransformer]) -> None:
        members: list[BaseDocumentTransformer] = []
        for transformer in transformers:
            if type(transformer) is DocumentTransformerPipeline:
                members.extend(transformer.transformers)
            else:
                members.append(transformer)
        self.transformers: tuple[BaseDocumentTransformer, ...] = tuple(members)
        self._members = tuple(as_lazy(member) for member in members)
        self.reads_metadata = any(map(reads_metadata, self.transformers))
        self.window_size = max((member.window_size for member in self._members), default=1)

    @property
    def fingerprint(self) -> str | None:
        """Identity of the stages and their order; None if a stage has none."""
        return digest_of_members(self, self._members)

    def transform_document(self, document: Document) -> list[Document]:
        """Send one document through all stages.

        Args:
            document: The document.

        Returns:
            What the last stage makes.
        """
        return self.transform_documents([document])

    def _transform_groups(
        self, groups: list[Group], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        for member in self._members:
            groups = yield from member._transform_groups(groups, config)  # noqa: SLF001
        return groups if self._members else [_copies(group) for group in groups]

    def _lazy_groups(
        self, groups: Iterable[Group], config: RunnableConfig | None
    ) -> Iterator[Group]:
        if not self._members:
            return super()._lazy_groups(groups, config)
        for member in self._members:
            groups = member._lazy_groups(groups, config)  # noqa: SLF001
        return iter(groups)

    def _alazy_groups(
        self, groups: AsyncGenerator[Group], config: RunnableConfig | None
    ) -> AsyncGenerator[Group]:
        if not self._members:
            return super()._alazy_groups(groups, config)
        for member in self._members:
            groups = member._alazy_groups(groups, config)  # noqa: SLF001
        return groups


def _copies(group: Group) -> Group:
    return [document.model_copy(deep=True) for document in group]
