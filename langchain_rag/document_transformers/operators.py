"""`+` and `|` between transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.documents import BaseDocumentTransformer

if TYPE_CHECKING:
    from langchain_rag.document_transformers.composition import (
        DocumentTransformerPipeline,
        DocumentTransformers,
    )

__all__ = ["Composable"]


class Composable(BaseDocumentTransformer):
    """Composes with any `BaseDocumentTransformer` on either side.

    `a + b` is `DocumentTransformers([a, b])`, side by side in reading order; `a | b` is
    `DocumentTransformerPipeline([a, b])`, in sequence.
    """

    def __add__(self, other: BaseDocumentTransformer) -> DocumentTransformers:
        return _side_by_side(self, other)

    def __radd__(self, other: BaseDocumentTransformer) -> DocumentTransformers:
        return _side_by_side(other, self)

    def __or__(self, other: BaseDocumentTransformer) -> DocumentTransformerPipeline:
        return _in_sequence(self, other)

    def __ror__(self, other: BaseDocumentTransformer) -> DocumentTransformerPipeline:
        return _in_sequence(other, self)


# What composes imports what it is composed into, which is itself composable.
def _side_by_side(*members: BaseDocumentTransformer) -> DocumentTransformers:
    from langchain_rag.document_transformers.composition import (  # noqa: PLC0415 - a cycle
        DocumentTransformers,
    )

    return DocumentTransformers(members)


def _in_sequence(*members: BaseDocumentTransformer) -> DocumentTransformerPipeline:
    from langchain_rag.document_transformers.composition import (  # noqa: PLC0415 - a cycle
        DocumentTransformerPipeline,
    )

    return DocumentTransformerPipeline(members)
