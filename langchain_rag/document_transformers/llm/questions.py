"""Questions that a chunk answers."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from langchain_rag._identity import declared_name
from langchain_rag.document_transformers.llm.base import (
    LLMDocumentTransformer,
    check_positive,
    named_constructor,
)
from langchain_rag.document_transformers.llm.calls import Asked, GetInput, Model, Piece, Prompt
from langchain_rag.document_transformers.llm.parsing import questions_of

__all__ = ["GenerateQuestionsTransformer"]

QUESTIONS_PROMPT: Final = (
    "{context}\n\n"
    "Write {nb_of_questions} questions that the text above answers, in the language of the"
    " text. One question per line, without answers."
)


@declared_name("GenerateQuestionsTransformer")
class GenerateQuestionsTransformer(LLMDocumentTransformer):
    r"""Asks a model for questions that a document answers.

    A question of a user is often closer to such a question than to the text that answers
    both. Each question is a document of its own; they are asked for in the language of the
    text. Numbering, repetitions, introductions and whatever else is not a question is
    dropped, and so are questions beyond `nb_of_questions`.

    Use `from_llm`.

    Args:
        llm: A chat model or a completion model.
        prompt: A prompt template, or its text, with the variables `context` (the text) and
            `nb_of_questions`, or with those that `get_input` returns.
        get_input: Makes the prompt's variables from a document. It is given a copy without
            this package's metadata.
        nb_of_questions: How many questions to ask for, and to keep at most.
        version: Identity that you vouch for, where the model or `get_input` has none: raise
            it when their answers would change. See `fingerprint`.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: A number is below 1, or the prompt needs a variable that nothing
            gives.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> answer = "Here you are:\n1. What is a set?\n2. What has members?"
        >>> llm = FakeListChatModel(responses=[answer])
        >>> transformer = GenerateQuestionsTransformer.from_llm(llm, nb_of_questions=2)
        >>> made = transformer.transform_documents([Document("A set has members.")])
        >>> [document.page_content for document in made]
        ['What is a set?', 'What has members?']
    """

    kind: ClassVar[str | None] = "questions"
    _default_prompt: ClassVar[str] = QUESTIONS_PROMPT

    def __init__(
        self,
        llm: Model,
        prompt: Prompt | None = None,
        *,
        get_input: GetInput | None = None,
        nb_of_questions: int = 3,
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        check_positive(nb_of_questions=nb_of_questions)
        self.nb_of_questions = nb_of_questions
        super().__init__(
            llm, prompt, get_input=get_input, version=version, max_attempts=max_attempts
        )

    from_llm = named_constructor(__init__)

    def _expected(self, asked: Asked) -> list[Piece]:
        text = asked.document.page_content
        return [Piece("questions", f"{n} {text}") for n in range(self.nb_of_questions)]

    def _variables(self) -> dict[str, Any]:
        return {"nb_of_questions": self.nb_of_questions}

    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        found = questions_of(answer, limit=self.nb_of_questions, echoes=asked.echoes)
        return [Piece("questions", question) for question in found]
