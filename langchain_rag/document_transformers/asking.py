"""What is asked of a language model about one document, and what its answer becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable

from langchain_rag.document_transformers._documents import name_of
from langchain_rag.errors import TransformerError

__all__ = [
    "Asked",
    "GetInput",
    "Model",
    "Piece",
    "Prompt",
    "context_of",
    "raise_failures",
    "text_of",
]

Model: TypeAlias = BaseLanguageModel[Any] | Runnable[Any, Any]
Prompt: TypeAlias = BasePromptTemplate[Any] | str
GetInput: TypeAlias = Callable[[Document], Mapping[str, Any]]


def context_of(document: Document) -> dict[str, Any]:
    """Return the default input of a prompt: the text, as `context`.

    Args:
        document: The document, without this package's metadata.

    Returns:
        The prompt's variables.
    """
    return {"context": document.page_content}


@dataclass(frozen=True, slots=True)
class Piece:
    """One variation that was found in an answer.

    Attributes:
        kind: Its kind, such as `"questions"`.
        text: Its text.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked about one document.

    Attributes:
        position: Its position in the window.
        document: The document.
        inputs: The prompt's variables.
        echoes: The lines of the prompt that are not the document's, to be dropped from
            the answer.
    """

    position: int
    document: Document
    inputs: dict[str, Any]
    echoes: frozenset[str]


def raise_failures(transformer: object, asked: list[Asked], answers: list[Any]) -> None:
    """Raise the first failure of a batch.

    Args:
        transformer: The transformer, for the message.
        asked: What was asked.
        answers: Answers or exceptions, in the same order.

    Raises:
        TransformerError: At least one is an exception.
    """
    failed = [
        (one, answer)
        for one, answer in zip(asked, answers, strict=True)
        if isinstance(answer, BaseException)
    ]
    if not failed:
        return
    for _, error in failed:
        if not isinstance(error, Exception):
            # LangChain's batch() hands back Ctrl-C too, which is nobody's failure.
            raise error
    first, error = failed[0]
    msg = (
        f"{type(transformer).__name__}: the model call failed for document"
        f" {name_of(first.document)} ({len(failed)} of {len(asked)} calls of this batch"
        f" failed): {error!r}. Nothing was made of this batch: see the cause, and repeat."
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
