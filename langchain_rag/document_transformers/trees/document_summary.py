"""Chunks, and one summary of the whole document above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from langchain_rag._documents import copied, document_of
from langchain_rag._identity import declared_name
from langchain_rag._reserved import NODE, without_reserved
from langchain_rag.document_transformers._documents import made_of, name_of
from langchain_rag.document_transformers.base import WindowTransformer
from langchain_rag.document_transformers.composition import as_lazy
from langchain_rag.document_transformers.fingerprint import fingerprint_of, reads_metadata
from langchain_rag.document_transformers.nodes import Node, marked
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.document_transformers.trees.summaries import Job, Summaries, tree_fingerprint
from langchain_rag.errors import TransformerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.runnables import RunnableConfig

    from langchain_rag._flow import Flow
    from langchain_rag.document_transformers._groups import Group
    from langchain_rag.document_transformers.llm.calls import Model, Prompt

__all__ = ["DocumentSummaryTransformer"]

DOCUMENT_PROMPT: Final = (
    "{context}\n\n"
    "Summarize the document above in one paragraph, in its language: say what it is about, and"
    " which things, names and questions it deals with."
)

_TOP: Final = "summary"
"""Name of the summary's node."""


@declared_name("DocumentSummaryTransformer")
class DocumentSummaryTransformer(WindowTransformer):
    """Cuts a document into chunks, and adds a summary of the whole.

    A `parent_transformer` for searches in two stages: the documents first, by their summaries,
    then chunks within those that were found. The summary is a chunk of its own, searched as it
    is, with kind `"document_summary"` and level 1 in its metadata; the others are level 0, and
    go through the `chunk_transformer`. It comes last, after
    them in reading order.

    A document that does not fit into one prompt is summarised in parts, and then the summaries
    of the parts. The parts are cut where an edit moves few of the cuts, so that with a
    variation cache it costs the part it is in, its neighbour at times, and what is above.

    Args:
        llm: A chat model or a completion model.
        splitter: Cuts documents into chunks: any document transformer.
        prompt: A prompt template, or its text, with the variable `context`: the document, a
            part of it, or summaries of parts with blank lines between.
        max_length: What the text in one prompt may measure.
        length: Measures a text; in characters by default. Give a tokenizer's count to
            measure in tokens.
        level_key: Metadata key of the level.
        version: Identity that you vouch for, where the model has none.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: An argument cannot work.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> transformer = DocumentSummaryTransformer(
        ...     FakeListChatModel(responses=["Both kinds of maths."]),
        ...     CharacterTextSplitter(separator=" ", chunk_size=7, chunk_overlap=0),
        ... )
        >>> made = transformer.transform_documents([Document("pure applied")])
        >>> [(one.page_content, one.metadata["level"]) for one in made]
        [('pure', 0), ('applied', 0), ('Both kinds of maths.', 1)]
    """

    kind: ClassVar[str | None] = "document_summary"
    window_size: int = 32

    def __init__(
        self,
        llm: Model,
        splitter: BaseDocumentTransformer,
        *,
        prompt: Prompt = DOCUMENT_PROMPT,
        max_length: int = 24_000,
        length: Callable[[str], int] = len,
        level_key: str = "level",
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        self._splitter = as_lazy(splitter)
        self._summaries = Summaries(
            llm,
            prompt=prompt,
            max_length=max_length,
            length=length,
            version=version,
            max_attempts=max_attempts,
        )
        self._level_key = level_key
        self.version = version
        self.reads_metadata = reads_metadata(splitter)

    @property
    def fingerprint(self) -> str | None:
        """Identity of the splitter, the prompt, the model and the parameters.

        None where one of them has none, and for the model there is no `version`.
        """
        leaves = fingerprint_of(self._splitter)
        return tree_fingerprint(self, leaves, self._summaries, {"level_key": self._level_key})

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        groups = yield from self._splitter._transform_groups(  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            [[document] for document in documents], config
        )
        made: list[Group] = [[] for _ in documents]
        asked: list[int] = []
        for number, (document, leaves) in enumerate(zip(documents, groups, strict=True)):
            try:
                made[number] = [
                    self._leaf(leaf, n, document)
                    for n, leaf in enumerate(leaves)
                    if leaf.page_content.strip()
                ]
            except TransformerError as error:
                if not overseer_of(config).note(document, error):
                    raise
            if made[number]:
                asked.append(number)
        jobs = [Job(documents[number], [documents[number].page_content]) for number in asked]
        found = yield from self._summaries.made(jobs, config)
        for number, summary in zip(asked, found, strict=True):
            if summary is not None:
                made[number].append(self._top(documents[number], summary))
        return made

    def _leaf(self, leaf: Document, position: int, document: Document) -> Document:
        if NODE in leaf.metadata:
            msg = (
                f"The chunks of document {name_of(document)} stand in a tree already: give a"
                " splitter that makes one level of chunks."
            )
            raise TransformerError(msg)
        metadata = {**copied(leaf.metadata), self._level_key: 0}
        return marked(
            document_of(leaf.page_content, metadata, leaf.id), Node(f"0.{position}", (_TOP,))
        )

    def _top(self, document: Document, summary: str) -> Document:
        metadata = {**without_reserved(document.metadata), self._level_key: 1}
        made = made_of(document, summary, metadata, transformer=type(self).__name__, kind=None)
        return marked(made, Node(_TOP, level=1, kind=self.kind))
