"""Contextual retrieval: a sentence that says where in its document a chunk belongs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from langchain_rag._documents import document_of
from langchain_rag._flow import Flow, NotStartedError, gather
from langchain_rag._flow.together import values_of
from langchain_rag._identity import declared_name, digest
from langchain_rag.document_transformers._documents import made_of, name_of
from langchain_rag.document_transformers._groups import Group
from langchain_rag.document_transformers.composition import as_lazy
from langchain_rag.document_transformers.fingerprint import (
    fingerprint_of,
    is_ours,
    reads_metadata,
)
from langchain_rag.document_transformers.llm.base import (
    LLMDocumentTransformer,
    named_constructor,
)
from langchain_rag.document_transformers.llm.calls import Asked, Model, Piece, Prompt
from langchain_rag.document_transformers.llm.parsing import lines_of, printable, sentence_of
from langchain_rag.document_transformers.llm.passages import (
    Excerpts,
    document_identity,
    passages_of,
)
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.errors import ConfigurationError, TransformerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.runnables import RunnableConfig

__all__ = ["ContextualSplitter"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

CONTEXT_PROMPT: Final = (
    "<document>\n{document}\n</document>\n\n"
    "Below is one passage of that document. Write one sentence, in the language of the"
    " document, that says what the passage is about and what the document says around it:"
    " whom or what it speaks of, which part it belongs to, what time it is of. With that"
    " sentence in front, somebody who searches must be able to find the passage. Answer with"
    " the sentence alone.\n\n"
    "<passage>\n{chunk}\n</passage>"
)
"""The document first, and the chunk last: all prompts about a document begin the same."""


@declared_name("ContextualSplitter")
class ContextualSplitter(LLMDocumentTransformer):
    r"""Cuts documents, and asks a model to say where in its document each chunk belongs.

    As `parent_transformer`. "Revenue grew by 3 %" does not say whose, nor when; its document
    does. The answer is put into the chunk's metadata, and the chunk's text stays as it is.
    `Prefixed`, as `chunk_transformer`, then puts it in front of each variation ("Contextual
    Retrieval", Anthropic, 2024):

        RAGVectorStore(
            parent_transformer=ContextualSplitter.from_llm(llm, splitter),
            chunk_transformer=Prefixed(CopyDocumentTransformer(), keys=("context",)),
            variation_cache=cache,
            ...
        )

    Each chunk is one call with the document in the prompt. The prompts about a document are
    the same up to the chunk, which comes last, and one of them goes ahead of the others, so
    providers that cache prompts charge the document once. (Where they want the place to be
    marked, give a `ChatPromptTemplate` whose blocks have the provider's mark, such as
    `cache_control`.)

    With a variation cache, a chunk keeps its context while its own text stays, whatever
    changes around it: an edited paragraph costs one call. A document is known by its metadata
    (`document_keys`); one that has none of these is known by its text, and then any change of
    it asks about all its chunks. Without a cache every change of a document does.

    Chunks of a tree that are not searched, or that are summaries themselves, get no context.

    Use `from_llm`.

    Args:
        llm: A chat model or a completion model.
        splitter: Cuts the documents; any transformer.
        prompt: A prompt template, or its text, with the variables `document` and `chunk`.
            Have `document` first and `chunk` last, with nothing between that differs from
            chunk to chunk.
        metadata_key: Where in a chunk's metadata the context goes.
        document_keys: Metadata keys that say which document a chunk is of, for the variation
            cache. Where documents are parts of a source, the pages of a file for instance,
            add what tells them apart.
        follow_document: Whether the variation cache knows contexts by the whole document too,
            so that they are made anew for all its chunks when any of it changes.
        max_characters: How much of a document goes into a prompt at most: of a longer one what
            is around the chunk, so that neighbours share their prompt's beginning. The log
            says where that happens. None for all.
        version: Identity that you vouch for, where the model has none: raise it when its
            answers would change. See `fingerprint`.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: A number is too low, `splitter` is no transformer, or the prompt
            needs another variable.

    Attributes:
        splitter: Cuts the documents.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> lines = CharacterTextSplitter(separator="\n", chunk_size=16, chunk_overlap=0)
        >>> llm = FakeListChatModel(responses=["Of the opening.", "Of the end."])
        >>> transformer = ContextualSplitter.from_llm(llm, lines)
        >>> for chunk in transformer.transform_documents([Document("Once upon a time\nEnd")]):
        ...     print(chunk.page_content, "|", chunk.metadata["context"])
        Once upon a time | Of the opening.
        End | Of the end.
    """

    _default_prompt: ClassVar[str] = CONTEXT_PROMPT
    _inputs: ClassVar[tuple[str, ...]] = ("document", "chunk")

    def __init__(
        self,
        llm: Model,
        splitter: BaseDocumentTransformer,
        prompt: Prompt | None = None,
        *,
        metadata_key: str = "context",
        document_keys: Sequence[str] = ("source", "title"),
        follow_document: bool = False,
        max_characters: int | None = None,
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        if max_characters is not None and max_characters < 2:
            msg = f"max_characters is {max_characters}: give 2 or more, or None for all."
            raise ConfigurationError(msg)
        if isinstance(document_keys, str):
            msg = (
                f"document_keys is a text: give a tuple of keys, such as ({document_keys!r},)."
            )
            raise ConfigurationError(msg)
        self.splitter = splitter
        self.metadata_key = metadata_key
        self.document_keys = tuple(document_keys)
        self.follow_document = follow_document
        self.max_characters = max_characters
        self._splitter = as_lazy(splitter)
        super().__init__(llm, prompt, version=version, max_attempts=max_attempts)
        nothing = self.prompt.format_prompt(**dict.fromkeys(self._inputs, ""))
        self._echoes = lines_of(nothing.to_string())
        self.reads_metadata = not is_ours(self) or reads_metadata(splitter)

    from_llm = named_constructor(__init__)

    @property
    def fingerprint(self) -> str | None:
        """Identity of the splitter, of what the model answers, and of where that goes."""
        splitter, answers = fingerprint_of(self.splitter), self.fingerprint_of_answers
        if splitter is None or answers is None:
            return None
        parts = {"answers": answers, "splitter": splitter, "key": self.metadata_key}
        return digest({**parts, "follows": self.follow_document})

    @property
    def fingerprint_of_answers(self) -> str | None:
        """Identity of what the model answers, however the chunk was cut."""
        return super().fingerprint

    def _parameters(self) -> dict[str, Any]:
        return {"max_characters": self.max_characters}

    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        text = asked.document.page_content
        found = sentence_of(answer, echoes=self._echoes, text=text)
        return [Piece(self.metadata_key, found)] if found else []

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        groups: list[Group] = [[document] for document in documents]
        cut = yield from self._splitter._transform_groups(groups, config)  # noqa: SLF001
        overseer = overseer_of(config)
        pending: list[Asked] = []
        places: list[tuple[int, int]] = []
        for number, (document, chunks) in enumerate(zip(documents, cut, strict=True)):
            try:
                self._check_free(document, chunks)
            except TransformerError as error:
                if not overseer.note(document, error):
                    raise
                continue
            for place, asked in self._asked_about(document, chunks, len(pending)):
                pending.append(asked)
                places.append((number, place))
        found = yield from self._found(pending, config)
        for (number, place), pieces in zip(places, found, strict=True):
            for piece in pieces:
                cut[number][place] = self._with(cut[number][place], piece.text)
        return cut

    def _side_by_side(
        self, asked: Sequence[Asked], flows: Sequence[Flow[list[Piece]]]
    ) -> Flow[list[list[Piece] | Exception]]:
        """Ask about one chunk of each document first: the provider then has the document."""
        alike: dict[str, list[int]] = {}
        for number, one in enumerate(asked):
            alike.setdefault(one.inputs["document"], []).append(number)
        made = yield from gather([_one_first([flows[n] for n in ns]) for ns in alike.values()])
        results: list[list[Piece] | Exception] = [NotStartedError()] * len(asked)
        for numbers, answers in zip(alike.values(), made, strict=True):
            if isinstance(answers, Exception):
                results[numbers[0]] = answers
            else:
                for number, answer in zip(numbers, answers, strict=True):
                    results[number] = answer
        return results

    def _asked_about(
        self, document: Document, chunks: Group, first: int
    ) -> Iterator[tuple[int, Asked]]:
        """Make what is to be asked about a document's chunks, with the place of each."""
        text = printable(document.page_content)
        excerpts = Excerpts(text, self.max_characters)
        if excerpts.cuts:
            _log.warning(
                "%s: document %s has %d characters; prompts have %d of them, around the chunk.",
                type(self).__name__,
                name_of(document),
                len(text),
                self.max_characters,
            )
        known_by = document_identity(
            document, self.document_keys, with_text=self.follow_document
        )
        passages = passages_of(chunks, excerpts)
        for position, passage in enumerate(passages, start=first):
            key = {"chunk": passage.text, "time": passage.time, "document": known_by}
            inputs = {"document": passage.excerpt, "chunk": passage.text}
            # With the document's id, which errors name.
            named = document_of(passage.text, chunks[passage.place].metadata, document.id)
            yield passage.place, Asked(position, named, inputs, self.prompt, key)

    def _check_free(self, document: Document, chunks: Group) -> None:
        if any(self.metadata_key in chunk.metadata for chunk in chunks):
            msg = (
                f"{type(self).__name__} would overwrite the metadata {self.metadata_key!r} of"
                f" document {name_of(document)}: give another metadata_key, or take it out."
            )
            raise TransformerError(msg)

    def _with(self, chunk: Document, context: str) -> Document:
        return made_of(
            chunk,
            chunk.page_content,
            {**chunk.metadata, self.metadata_key: context},
            transformer=type(self).__name__,
            kind=None,
        )


def _one_first(flows: Sequence[Flow[T]]) -> Flow[list[T]]:
    first = values_of((yield from gather(flows[:1])))
    return first + values_of((yield from gather(flows[1:])))
