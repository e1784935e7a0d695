"""A transformer that is not this package's, as a member of a composed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_rag._flow import Flow, call
from langchain_rag.document_transformers._documents import CARRIED, made_of, shown
from langchain_rag.document_transformers._groups import Group
from langchain_rag.document_transformers.base import LazyDocumentTransformer
from langchain_rag.document_transformers.fingerprint import fingerprint_of
from langchain_rag.document_transformers.overseeing import overseer_of
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.runnables import RunnableConfig

__all__ = ["ForeignMember", "as_lazy"]


def as_lazy(transformer: object) -> LazyDocumentTransformer:
    """Return the transformer, adapted where it is not this package's.

    Args:
        transformer: Any `BaseDocumentTransformer`.

    Returns:
        A `LazyDocumentTransformer` that does the same.

    Raises:
        ConfigurationError: It is not a transformer.
    """
    if isinstance(transformer, LazyDocumentTransformer):
        return transformer
    if isinstance(transformer, BaseDocumentTransformer):
        return ForeignMember(transformer)
    msg = (
        f"{transformer!r} is not a document transformer: give instances of subclasses of"
        " BaseDocumentTransformer (of a class, an instance)."
    )
    raise ConfigurationError(msg)


class ForeignMember(LazyDocumentTransformer):
    """Adapts LangChain's splitters, and any other `BaseDocumentTransformer`.

    The member is called once for each group: it sees together what stems from one document,
    never two documents at once. A transformer that compares documents (a redundancy filter
    after a splitter) thus works within a document, and gives the same in every form.

    Attributes:
        transformer: What is adapted.
    """

    def __init__(self, transformer: BaseDocumentTransformer) -> None:
        self.transformer = transformer

    @property
    def fingerprint(self) -> str | None:
        """That of the adapted transformer."""
        return fingerprint_of(self.transformer)

    def transform_document(self, document: Document) -> list[Document]:
        """Call the adapted transformer with one document.

        Args:
            document: The document.

        Returns:
            What it makes of it.
        """
        return self.transform_documents([document])

    def _transform_groups(
        self, groups: list[Group], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        member = self.transformer
        kwargs: dict[str, Any] = {}
        if getattr(member, "accepts_config", False):
            kwargs["config"] = config
        overseer = overseer_of(config)
        made: list[Group] = []
        for group in groups:
            results: Sequence[Document] = []
            if group:
                try:
                    results = yield from call(
                        member.transform_documents,
                        member.atransform_documents,
                        [_lent(document) for document in group],
                        **kwargs,
                    )
                except Exception as error:
                    if not overseer.note(group[0], error):
                        raise
            made.append([self._taken(result, group) for result in results])
        return made

    def _taken(self, result: Document, group: Group) -> Document:
        # A member that keeps metadata says itself what the result is of; for one that
        # drops it, the group is what is known.
        carries = any(key in result.metadata for key in CARRIED)
        return made_of(
            result if carries else group[0],
            result.page_content,
            result.metadata,
            transformer=type(self.transformer).__name__,
            kind=None,
        )


def _lent(document: Document) -> Document:
    copy = shown(document)
    copy.metadata |= {
        key: document.metadata[key] for key in CARRIED if key in document.metadata
    }
    return copy
