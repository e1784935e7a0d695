"""Propositions: what a chunk says, taken apart into statements that stand alone."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Final

from langchain_rag._identity import declared_name
from langchain_rag.document_transformers._documents import name_of
from langchain_rag.document_transformers.llm.base import (
    LLMDocumentTransformer,
    check_positive,
    named_constructor,
)
from langchain_rag.document_transformers.llm.calls import Asked, GetInput, Model, Piece, Prompt
from langchain_rag.document_transformers.llm.parsing import statements_of

__all__ = ["PropositionsTransformer"]

_log = logging.getLogger(__name__)

PROPOSITIONS_PROMPT: Final = (
    "{context}\n\n"
    "Write down everything that the text above says, as short statements in the language of"
    " the text. Each statement says one thing and can be understood without the others:"
    " name what pronouns stand for, and leave nothing to be looked up. One statement per"
    " line, nothing else."
)


@declared_name("PropositionsTransformer")
class PropositionsTransformer(LLMDocumentTransformer):
    r"""Asks a model for the statements that a document consists of.

    A proposition says one thing, cannot be taken apart further, and stands alone: "he" has
    become a name. Short questions come nearer to the one statement that answers them than to
    the paragraph around it (Chen et al., "Dense X Retrieval: What Retrieval Granularity
    Should We Use?", 2023). Each is a variation of its own, of the kind `propositions`; what a
    search returns is the chunk.

    Numbering, repetitions, introductions and lines of the prompt are dropped.

    Use `from_llm`.

    Args:
        llm: A chat model or a completion model.
        prompt: A prompt template, or its text, with the variable `context` (the text), or
            with those that `get_input` returns.
        get_input: Makes the prompt's variables from a document, for instance its title beside
            its text. It is given a copy without this package's metadata.
        max_propositions: How many to keep at most of one document. A model that does not find
            an end is cut off there, which the log says.
        version: Identity that you vouch for, where the model or `get_input` has none: raise
            it when their answers would change. See `fingerprint`.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: A number is below 1, or the prompt needs a variable that nothing
            gives.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> answer = "1. Cantor was born in 1845.\n2. Cantor taught in Halle."
        >>> llm = FakeListChatModel(responses=[answer])
        >>> transformer = PropositionsTransformer.from_llm(llm)
        >>> text = "Cantor, born in 1845, taught in Halle."
        >>> made = transformer.transform_documents([Document(text)])
        >>> [document.page_content for document in made]
        ['Cantor was born in 1845.', 'Cantor taught in Halle.']
    """

    kind: ClassVar[str | None] = "propositions"
    _default_prompt: ClassVar[str] = PROPOSITIONS_PROMPT

    def __init__(
        self,
        llm: Model,
        prompt: Prompt | None = None,
        *,
        get_input: GetInput | None = None,
        max_propositions: int = 64,
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        check_positive(max_propositions=max_propositions)
        self.max_propositions = max_propositions
        super().__init__(
            llm, prompt, get_input=get_input, version=version, max_attempts=max_attempts
        )

    from_llm = named_constructor(__init__)

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "max_propositions": self.max_propositions}

    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        most = self.max_propositions
        found = statements_of(answer, limit=most + 1, echoes=asked.echoes)
        if len(found) > most:
            _log.warning(
                "%s: the answer for document %s has more than %d propositions; the others are"
                " left out. Raise max_propositions, or cut smaller chunks.",
                type(self).__name__,
                name_of(asked.document),
                most,
            )
        return [Piece("propositions", statement) for statement in found[:most]]
