"""The best documents where a model reads best: first and last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LongContextReorder"]


class LongContextReorder(BaseDocumentTransformer):
    """Moves the less relevant documents into the middle.

    Models use what stands at the beginning and at the end of a long context better than
    what stands in its middle (Liu et al., "Lost in the Middle", 2023). Given documents
    with the most relevant first, as a retriever returns them, this alternates between the
    two ends: the best comes first, the second best last, the third best second, and so on.

    It reorders retrieved documents, so it adds no metadata, and works on the whole list.

    Example:
        >>> from langchain_core.documents import Document
        >>> best_first = [Document(str(rank)) for rank in range(1, 6)]
        >>> reordered = LongContextReorder().transform_documents(best_first)
        >>> [document.page_content for document in reordered]
        ['1', '3', '5', '4', '2']
    """

    def transform_documents(
        self,
        documents: Sequence[Document],
        **kwargs: Any,  # noqa: ARG002 - LangChain's signature
    ) -> list[Document]:
        """Reorder documents.

        Args:
            documents: The documents, most relevant first. They are not changed.
            **kwargs: Part of LangChain's signature; ignored.

        Returns:
            Copies of the same documents, in their new order.
        """
        ordered = [*documents[::2], *documents[1::2][::-1]]
        return [document.model_copy(deep=True) for document in ordered]

    async def atransform_documents(
        self,
        documents: Sequence[Document],
        **kwargs: Any,
    ) -> list[Document]:
        """Async form of `transform_documents`, which has nothing to wait for."""
        return self.transform_documents(documents, **kwargs)
