"""Whether what a transformer makes of a document depends on more than its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentTransformer

__all__ = ["reads_metadata"]


def reads_metadata(transformer: BaseDocumentTransformer) -> bool:
    """Tell whether other metadata may make other texts.

    A transformer answers for itself with a `reads_metadata` attribute. LangChain's text
    splitters read the text only. Any other class may do anything.

    Args:
        transformer: Any `BaseDocumentTransformer`.

    Returns:
        False where the texts it makes depend on nothing but the text it is given.

    Example:
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> reads_metadata(CharacterTextSplitter())
        False
    """
    own: object = getattr(transformer, "reads_metadata", None)
    if isinstance(own, bool):
        return own
    return type(transformer).__module__.split(".")[0] != "langchain_text_splitters"
