"""A summary of a chunk and questions that it answers, from one call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, Field

from langchain_rag._identity import declared_name, identity_of_prompt
from langchain_rag.document_transformers._documents import name_of
from langchain_rag.document_transformers.llm.base import (
    LLMDocumentTransformer,
    check_positive,
    named_constructor,
)
from langchain_rag.document_transformers.llm.calls import (
    Asked,
    GetInput,
    Model,
    Piece,
    Prompt,
    text_of,
)
from langchain_rag.document_transformers.llm.parsing import summary_and_questions_of
from langchain_rag.document_transformers.llm.summarize import summary_piece
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from langchain_rag._flow import Flow

__all__ = ["SummarizeAndQuestionsTransformer"]

_log = logging.getLogger(__name__)

BOTH_PROMPT: Final = (
    "{context}\n\n"
    "Summarize the text above in one or two sentences. Then write {nb_of_questions}"
    " questions that it answers. Use the language of the text. Answer in this form:\n"
    "SUMMARY: the summary\n"
    "QUESTIONS:\n"
    "1. the first question"
)
STRUCTURED_PROMPT: Final = (
    "{context}\n\n"
    "Summarize the text above in one or two sentences, and write {nb_of_questions}"
    " questions that it answers. Use the language of the text."
)

_NOT_TAKEN: Final = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP states in which servers that do not know structured output answer."""


class SummaryAndQuestions(BaseModel):
    """A summary of a text and questions that the text answers."""

    summary: str = Field(description="One or two sentences, in the language of the text")
    questions: list[str] = Field(
        description="Questions that the text answers, in the language of the text"
    )


@declared_name("SummarizeAndQuestionsTransformer")
class SummarizeAndQuestionsTransformer(LLMDocumentTransformer):
    r"""Asks a model for a summary and for questions, with one call for both.

    The summary comes first, its text begins with `SUMMARY:` on a line of its own; the
    questions follow, each a document of its own.

    The model is asked for structured output where it has it. Where it says that it has not,
    where its server refuses, and where what it returns does not fit, the answer is read as
    text. An answer with only one of the two parts is used, with a warning in the log.

    Use `from_llm`.

    Args:
        llm: A chat model or a completion model.
        prompt: A prompt template, or its text, with the variables `context` (the text) and
            `nb_of_questions`, or with those that `get_input` returns. The default prompt says
            how to lay out the answer only where it is read as text.
        get_input: Makes the prompt's variables from a document. It is given a copy without
            this package's metadata.
        nb_of_questions: How many questions to ask for, and to keep at most.
        structured: Whether to ask for structured output; None finds out what the model has.
        version: Identity that you vouch for, where the model or `get_input` has none: raise
            it when their answers would change. See `fingerprint`.
        max_attempts: How often to ask where an answer has nothing usable in it. From the
            second time on, answers are asked for as text.

    Raises:
        ConfigurationError: A number is below 1, the prompt needs a variable that nothing
            gives, or `structured` is True and the model has no such output.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> answer = "SUMMARY: What sets are.\nQUESTIONS:\n1. What is a set?"
        >>> llm = FakeListChatModel(responses=[answer])
        >>> transformer = SummarizeAndQuestionsTransformer.from_llm(llm)
        >>> made = transformer.transform_documents([Document("A set has members.")])
        >>> [document.page_content for document in made]
        ['SUMMARY:\nWhat sets are.', 'What is a set?']
    """

    _default_prompt: ClassVar[str] = BOTH_PROMPT

    def __init__(
        self,
        llm: Model,
        prompt: Prompt | None = None,
        *,
        get_input: GetInput | None = None,
        nb_of_questions: int = 3,
        structured: bool | None = None,
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        check_positive(nb_of_questions=nb_of_questions)
        self.nb_of_questions = nb_of_questions
        super().__init__(
            llm, prompt, get_input=get_input, version=version, max_attempts=max_attempts
        )
        self._structured_prompt = (
            PromptTemplate.from_template(STRUCTURED_PROMPT) if prompt is None else self.prompt
        )
        model = None if structured is False else _structured(llm)
        if structured and model is None:
            msg = (
                f"{type(llm).__name__} has no structured output: leave structured out, or"
                " give another model."
            )
            raise ConfigurationError(msg)
        self._structured = model
        self._has_answered = False
        # Not what `_structured` is later: a refusing server does not change who this is.
        self._asks_structured = model is not None

    from_llm = named_constructor(__init__)

    def _expected(self, asked: Asked) -> list[Piece]:
        text = asked.document.page_content
        questions = [Piece("questions", f"{n} {text}") for n in range(self.nb_of_questions)]
        return [Piece("summary", text), *questions]

    def _variables(self) -> dict[str, Any]:
        return {"nb_of_questions": self.nb_of_questions}

    def _parameters(self) -> dict[str, Any]:
        if not self._asks_structured:
            return super()._parameters()
        form = self._vouched(identity_of_prompt, self._structured_prompt)
        return super()._parameters() | {"structured": form}

    def _answer(self, asked: Asked, config: RunnableConfig, attempt: int) -> Flow[Any]:
        structured = self._structured
        if structured is None or attempt > 0:
            return (yield from super()._answer(asked, config, attempt))
        try:
            prompt = self._structured_prompt.format_prompt(**asked.inputs)
            answer = yield from self._call(structured, prompt, asked, config, refuses=_refuses)
        except Exception as error:
            if not _refuses(error):
                raise
            if not self._has_answered:
                self._structured = None  # it will be no different next time
        else:
            self._has_answered = True
            return answer
        return (yield from super()._answer(asked, config, attempt))

    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        summary, questions = summary_and_questions_of(
            _text(answer),
            limit=self.nb_of_questions,
            echoes=asked.echoes,
            text=asked.document.page_content,
        )
        if bool(summary) != bool(questions):
            _log.warning(
                "%s: no %s in the model's answer for document %s",
                type(self).__name__,
                "questions" if summary else "summary",
                name_of(asked.document),
            )
        found = [Piece("questions", question) for question in questions]
        return [summary_piece(summary), *found] if summary else found


def _structured(llm: object) -> Runnable[Any, Any] | None:
    """Return the model with structured output, if it has it."""
    if not isinstance(llm, BaseChatModel):
        return None
    try:
        # With the raw message, so that what does not fit can still be read as text.
        return llm.with_structured_output(SummaryAndQuestions, include_raw=True)
    except (NotImplementedError, TypeError, ValueError):
        return None


def _refuses(error: Exception) -> bool:
    """Tell whether a failure may come from the structured output itself."""
    return (
        isinstance(error, NotImplementedError | TypeError | ValueError)
        or getattr(error, "status_code", None) in _NOT_TAKEN
        # What openai raises where a structured answer was cut off.
        or type(error).__name__ == "LengthFinishReasonError"
    )


def _text(answer: Any) -> str:
    """Return the text of an answer, structured or not."""
    if not isinstance(answer, dict):
        return str(answer)
    parts = cast("dict[str, Any]", answer)
    parsed = parts.get("parsed")
    if isinstance(parsed, BaseModel):
        return parsed.model_dump_json()
    return text_of(parts.get("raw"))
