"""Transformers side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag._flow import gather
from langchain_rag._flow.together import values_of
from langchain_rag.document_transformers._groups import Group
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import digest_of_members
from langchain_rag.document_transformers.identity import declared_name
from langchain_rag.document_transformers.member import as_lazy
from langchain_rag.document_transformers.metadata import reads_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.runnables import RunnableConfig

    from langchain_rag._flow import Flow

__all__ = ["DocumentTransformers"]


@declared_name("DocumentTransformers")
class DocumentTransformers(LazyDocumentTransformer):
    """Several transformers side by side; their results are concatenated.

    The results come in the order of the documents, and for each document in the order of
    the transformers: with members `a` and `b` and documents 1 and 2, `a1 b1 a2 b2`. That
    is the order of all four forms. `a + b + c` is the same as
    `DocumentTransformers([a, b, c])`: what is side by side already is taken apart.

    A member that is not a `LazyDocumentTransformer` is called with one document at a time;
    it gets `config` only where it says `accepts_config = True`. Without members there are
    no results.

    Args:
        transformers: The members, in reading order.

    Attributes:
        transformers: The members, as a tuple.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_rag.document_transformers import CopyDocumentTransformer
        >>> twice = CopyDocumentTransformer() + CopyDocumentTransformer()
        >>> made = twice.transform_documents([Document("one"), Document("two")])
        >>> [document.page_content for document in made]
        ['one', 'one', 'two', 'two']
    """

    def __init__(self, transformers: Iterable[BaseDocumentTransformer]) -> None:
        members: list[BaseDocumentTransformer] = []
        for transformer in transformers:
            if type(transformer) is DocumentTransformers:
                members.extend(transformer.transformers)
            else:
                members.append(transformer)
        self.transformers: tuple[BaseDocumentTransformer, ...] = tuple(members)
        self._members = tuple(as_lazy(member) for member in members)
        self.reads_metadata = any(map(reads_metadata, self.transformers))
        self.window_size = max((member.window_size for member in self._members), default=1)

    @property
    def fingerprint(self) -> str | None:
        """Identity of the members and their order; None if a member has none."""
        return digest_of_members(self, self._members)

    def transform_document(self, document: Document) -> list[Document]:
        """Transform one document with every member.

        Args:
            document: The document.

        Returns:
            The results of the first member, then those of the second, and so on.
        """
        return self.transform_documents([document])

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        made: list[Group] = [[] for _ in documents]
        groups = [[document] for document in documents]
        flows = [
            member._transform_groups(groups, config)  # noqa: SLF001
            for member in self._members
        ]
        for result in values_of((yield from gather(flows))):
            for group, part in zip(made, result, strict=True):
                group.extend(part)
        return made
