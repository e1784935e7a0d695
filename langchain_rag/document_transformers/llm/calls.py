"""What is asked of a language model about one document, and what its answer becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable

from langchain_rag._flow.together import failures, values_of
from langchain_rag._identity import declared_name
from langchain_rag.caches.variation_codec import CachedPiece
from langchain_rag.document_transformers._documents import name_of
from langchain_rag.document_transformers.llm.parsing import lines_of
from langchain_rag.errors import TransformerError

__all__ = [
    "Asked",
    "GetInput",
    "Model",
    "Piece",
    "Prompt",
    "context_of",
    "pieces_of",
    "text_of",
]

Model: TypeAlias = BaseLanguageModel[Any] | Runnable[Any, Any]
Prompt: TypeAlias = BasePromptTemplate[Any] | str
GetInput: TypeAlias = Callable[[Document], Mapping[str, Any]]
Piece: TypeAlias = CachedPiece
"""One variation that was found in an answer; a cache keeps it as it is."""


@declared_name("context_of")
def context_of(document: Document) -> dict[str, Any]:
    """Return the default input of a prompt: the text, as `context`.

    Args:
        document: The document, without this package's metadata.

    Returns:
        The prompt's variables.
    """
    return {"context": document.page_content}


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked about one document.

    Attributes:
        position: Its position in the window.
        document: The document.
        inputs: The prompt's variables.
        template: The prompt that they go into.
        remembered_by: What a variation cache keeps the answer by; None for the inputs.
    """

    position: int
    document: Document
    inputs: dict[str, Any]
    template: BasePromptTemplate[Any]
    remembered_by: Mapping[str, Any] | None = None

    @property
    def prompt(self) -> PromptValue:
        """The prompt, filled in.

        Made when it is needed: those of a long document's chunks may each hold the document.
        """
        return self.template.format_prompt(**self.inputs)

    @property
    def echoes(self) -> frozenset[str]:
        """The lines of the prompt that are not the document's, to drop from the answer."""
        texts = (value for value in self.inputs.values() if isinstance(value, str))
        return lines_of(self.prompt.to_string()).difference(*map(lines_of, texts))


def pieces_of(
    transformer: object, asked: list[Asked], results: list[list[Piece] | Exception]
) -> list[list[Piece]]:
    """Return what was found for each document, if nothing failed.

    Args:
        transformer: The transformer, for the message.
        asked: What was asked.
        results: Pieces or exceptions, in the same order.

    Returns:
        The pieces.

    Raises:
        TransformerError: At least one call failed, or gave nothing usable.
        NotStartedError: Some were not made, since another transformer's failed.
    """
    failed = list(failures(results))
    if not failed:
        return values_of(results)
    position, error = failed[0]
    if isinstance(error, TransformerError):
        if len(failed) > 1:
            error.add_note(f"{len(failed) - 1} more of {len(asked)} documents failed.")
        raise error
    msg = (
        f"{type(transformer).__name__}: the model call failed for document"
        f" {name_of(asked[position].document)} ({len(failed)} of {len(asked)} calls failed;"
        f" those that had not begun were left out): {error!r}. See the cause, and repeat."
    )
    raise TransformerError(msg) from error


def text_of(answer: Any) -> str:
    """Return the text of what a model returned.

    Args:
        answer: A message of a chat model, whose content may be blocks, or the text of a
            completion model.

    Returns:
        The text.
    """
    return str(answer.text) if isinstance(answer, BaseMessage) else str(answer)
