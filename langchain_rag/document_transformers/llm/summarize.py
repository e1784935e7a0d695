"""A summary of a chunk."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from langchain_rag._identity import declared_name
from langchain_rag.document_transformers.llm.base import (
    LLMDocumentTransformer,
    named_constructor,
)
from langchain_rag.document_transformers.llm.calls import Asked, Piece
from langchain_rag.document_transformers.llm.parsing import summary_of

__all__ = ["SummarizeTransformer"]

SUMMARY_PROMPT: Final = (
    "{context}\n\n"
    "Summarize the text above in one or two sentences, in the language of the text."
)


@declared_name("SummarizeTransformer")
class SummarizeTransformer(LLMDocumentTransformer):
    """Asks a model for a summary of a document.

    The text of the result begins with `SUMMARY:` on a line of its own. The summary is asked
    for in the language of the text.

    Use `from_llm`.

    Args:
        llm: A chat model or a completion model.
        prompt: A prompt template, or its text, with the variable `context` (the text), or
            with those that `get_input` returns.
        get_input: Makes the prompt's variables from a document. It is given a copy without
            this package's metadata.
        version: Identity that you vouch for, where the model or `get_input` has none: raise
            it when their answers would change. See `fingerprint`.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: `max_attempts` is below 1, or the prompt needs a variable that
            nothing gives.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> llm = FakeListChatModel(responses=["Summary: What sets are."])
        >>> transformer = SummarizeTransformer.from_llm(llm)
        >>> made = transformer.transform_documents([Document("A set has members.")])
        >>> print(made[0].page_content)
        SUMMARY:
        What sets are.
    """

    kind: ClassVar[str | None] = "summary"
    _default_prompt: ClassVar[str] = SUMMARY_PROMPT

    from_llm = named_constructor(LLMDocumentTransformer.__init__)

    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        found = summary_of(answer, echoes=asked.echoes, text=asked.document.page_content)
        return [summary_piece(found)] if found else []


def summary_piece(summary: str) -> Piece:
    """Return a summary as a variation.

    Args:
        summary: The summary.

    Returns:
        The variation, whose text begins with the label.
    """
    return Piece("summary", f"SUMMARY:\n{summary}")
