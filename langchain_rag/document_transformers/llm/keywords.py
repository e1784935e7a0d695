"""Keywords of a chunk, and the names, places and dates in it."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from langchain_rag._identity import declared_name
from langchain_rag.document_transformers.llm.base import (
    LLMDocumentTransformer,
    check_positive,
    named_constructor,
)
from langchain_rag.document_transformers.llm.calls import Asked, GetInput, Model, Piece, Prompt
from langchain_rag.document_transformers.llm.parsing import keywords_of

__all__ = ["KeywordsTransformer"]

KEYWORDS_PROMPT: Final = (
    "{context}\n\n"
    "Write down up to {nb_of_keywords} {what} of the text above, as they are written there."
    " One per line, the most important first, nothing else."
)
KEYWORDS: Final = "keywords: the words and terms that somebody who looks for it would type"
ENTITIES: Final = (
    "entities: the names of persons, organisations, places, works and products, and the dates"
)


@declared_name("KeywordsTransformer")
class KeywordsTransformer(LLMDocumentTransformer):
    r"""Asks a model for the keywords of a document, or for the entities in it.

    All keywords of a document are one variation, of the kind `keywords`, with commas between.
    One row for each word makes an index ten times as large, and searches worse: a single word
    comes near to any question that has it. In a trial on XQuAD (English; ten extracted words
    in place of a model's, static word embeddings) the mean reciprocal rank of a copy was .882,
    of a copy with joined keywords .875, and of a copy with each keyword .782. So dense search
    for whole questions has no use of keywords; they are for short queries, for names and
    terms, for filters by kind, and for lexical search.

    Numbering, repetitions, introductions, lines of the prompt and whole sentences are
    dropped, and so is what goes beyond `nb_of_keywords`.

    Use `from_llm`.

    Args:
        llm: A chat model or a completion model.
        prompt: A prompt template, or its text, with the variables `context` (the text),
            `nb_of_keywords` and `what` (what to look for, in words), or with those that
            `get_input` returns.
        get_input: Makes the prompt's variables from a document. It is given a copy without
            this package's metadata.
        nb_of_keywords: How many to ask for, and to keep at most.
        entities: Whether to ask for names, places and dates instead of keywords. For both,
            put two side by side: `keywords + entities`.
        version: Identity that you vouch for, where the model or `get_input` has none: raise
            it when their answers would change. See `fingerprint`.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: A number is below 1, or the prompt needs a variable that nothing
            gives.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> answer = "Here are the keywords:\n1. set theory\n2. Georg Cantor"
        >>> llm = FakeListChatModel(responses=[answer])
        >>> transformer = KeywordsTransformer.from_llm(llm)
        >>> made = transformer.transform_documents([Document("Georg Cantor made set theory.")])
        >>> [document.page_content for document in made]
        ['set theory, Georg Cantor']
    """

    kind: ClassVar[str | None] = "keywords"
    _default_prompt: ClassVar[str] = KEYWORDS_PROMPT

    def __init__(
        self,
        llm: Model,
        prompt: Prompt | None = None,
        *,
        get_input: GetInput | None = None,
        nb_of_keywords: int = 10,
        entities: bool = False,
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        check_positive(nb_of_keywords=nb_of_keywords)
        self.nb_of_keywords = nb_of_keywords
        self.entities = entities
        super().__init__(
            llm, prompt, get_input=get_input, version=version, max_attempts=max_attempts
        )

    from_llm = named_constructor(__init__)

    def _variables(self) -> dict[str, Any]:
        return {
            "nb_of_keywords": self.nb_of_keywords,
            "what": ENTITIES if self.entities else KEYWORDS,
        }

    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        found = keywords_of(answer, limit=self.nb_of_keywords, echoes=asked.echoes)
        return [Piece("keywords", ", ".join(found))] if found else []
