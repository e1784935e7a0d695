"""Summaries of several texts at a time, by prompts of bounded length.

Texts that do not fit into one prompt are summarised in portions, and then the summaries.
Filling each portion to the brim would move every cut behind an edit, and with it every prompt.
So a cut is made, somewhere in the second half of what would fit, after the text whose hash is
the least: that does not depend on where the portion began.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Final

from langchain_rag._documents import document_of
from langchain_rag._identity import NoIdentityError, class_of, declared_name, digest, identity
from langchain_rag.document_transformers._documents import CARRIED, name_of
from langchain_rag.document_transformers.fingerprint import is_ours
from langchain_rag.document_transformers.llm.base import LLMDocumentTransformer, check_positive
from langchain_rag.document_transformers.llm.calls import Asked, Piece
from langchain_rag.document_transformers.llm.parsing import summary_of
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.errors import TransformerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableConfig

    from langchain_rag._flow import Flow
    from langchain_rag.document_transformers.base import LazyDocumentTransformer
    from langchain_rag.document_transformers.llm.calls import Model, Prompt


__all__ = [
    "BETWEEN",
    "Job",
    "Summaries",
    "joined",
    "length_of",
    "pieces_of",
    "portions_of",
    "tree_fingerprint",
]

BETWEEN: Final = "\n\n"
"""What stands between two texts of one prompt."""


def joined(texts: Sequence[str]) -> str:
    """Return texts as they stand in a prompt."""
    return BETWEEN.join(texts)


def length_of(texts: Sequence[str], length: Callable[[str], int]) -> int:
    """Measure texts as they stand in a prompt.

    Args:
        texts: The texts.
        length: Measures a text.
    """
    return sum(map(length, texts)) + length(BETWEEN) * max(0, len(texts) - 1)


def portions_of(
    texts: Sequence[str], bound: int, length: Callable[[str], int]
) -> list[list[int]]:
    """Put texts into portions, in their order.

    Args:
        texts: The texts.
        bound: What a portion may measure. A longer text is a portion of its own.
        length: Measures a text.

    Returns:
        Positions of texts.

    Example:
        >>> portions_of(["one", "two", "three"], 100, len)
        [[0, 1, 2]]
    """
    between = length(BETWEEN)
    ends = [0, *accumulate(length(text) + between for text in texts)]
    portions: list[list[int]] = []
    start = 0
    while start < len(texts):
        first = start + 1
        last = first
        while last < len(texts) and ends[last + 1] - ends[start] - between <= bound:
            last += 1
        if last < len(texts):
            while first < last and ends[first] - ends[start] < bound / 2:
                first += 1
            last = min(range(first, last + 1), key=lambda end: (_hash(texts[end - 1]), end))
        portions.append(list(range(start, last)))
        start = last
    return portions


def pieces_of(text: str, bound: int, length: Callable[[str], int]) -> list[str]:
    """Cut a text into pieces that fit a prompt.

    Args:
        text: The text.
        bound: What a piece may measure.
        length: Measures a text.

    Returns:
        The text itself, if it fits.
    """
    if length(text) <= bound:
        return [text]
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    # Small, so that portions can be cut between them where an edit does not move the cuts.
    splitter = RecursiveCharacterTextSplitter(
        separators=["\n\n", "\n", ". ", " ", ""],
        chunk_size=max(1, bound // 8),
        chunk_overlap=0,
        length_function=length,
        keep_separator="end",
    )
    return splitter.split_text(text)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


_SHOWN: Final = 400
"""Characters that a dry run takes for a summary."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be summarised.

    Attributes:
        document: The document that it is about, which errors, callbacks and reports name.
        texts: The texts, in reading order.
    """

    document: Document
    texts: Sequence[str]


@declared_name("Summaries")
class Summaries(LLMDocumentTransformer):
    """Asks a model for summaries; keeps to a bound.

    Args:
        llm: A chat model or a completion model.
        prompt: A prompt template, or its text, with the variable `context`.
        max_length: What the texts in one prompt may measure.
        length: Measures a text.
        version: Identity that is vouched for.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: A number is below 1, or the prompt needs another variable.
    """

    kind: ClassVar[str | None] = "summary"

    def __init__(
        self,
        llm: Model,
        *,
        prompt: Prompt,
        max_length: int,
        length: Callable[[str], int],
        version: str | None,
        max_attempts: int,
    ) -> None:
        check_positive(max_length=max_length)
        super().__init__(llm, prompt=prompt, version=version, max_attempts=max_attempts)
        self.max_length = max_length
        self.length = length

    def made(
        self, jobs: Sequence[Job], config: RunnableConfig | None
    ) -> Flow[list[str | None]]:
        """Summarise, all at once.

        Args:
            jobs: What.
            config: The caller's config.

        Returns:
            A summary for each; None where that failed, and the overseer noted it.

        Raises:
            TransformerError: A call failed, or gave nothing usable.
        """
        texts: list[list[str] | None] = [list(job.texts) for job in jobs]
        done: list[str | None] = [None] * len(jobs)
        open_ = list(range(len(jobs)))
        portions = dict.fromkeys(open_, 0)
        while open_:
            asked = {n: self._portions(texts[n] or ()) for n in open_}
            for n in list(open_):
                # A failure is noted for the one document, if that will do.
                if (
                    portions[n]
                    and len(asked[n]) >= portions[n]
                    and self._stuck(jobs[n], config)
                ):
                    open_.remove(n)
            answers = yield from self._ask_all([(jobs[n], asked[n]) for n in open_], config)
            for n, summaries in zip(list(open_), answers, strict=True):
                portions[n] = len(asked[n])
                if None in summaries:
                    open_.remove(n)
                elif len(summaries) == 1:
                    done[n] = summaries[0]
                    open_.remove(n)
                else:
                    texts[n] = [summary for summary in summaries if summary is not None]
        return done

    def _portions(self, texts: Sequence[str]) -> list[str]:
        pieces = [
            piece for text in texts for piece in pieces_of(text, self.max_length, self.length)
        ]
        portions = portions_of(pieces, self.max_length, self.length)
        return [joined([pieces[n] for n in portion]) for portion in portions]

    def _ask_all(
        self, asked: Sequence[tuple[Job, list[str]]], config: RunnableConfig | None
    ) -> Flow[list[list[str | None]]]:
        shown = [_about(job.document, text) for job, texts in asked for text in texts]
        groups = iter((yield from self._transform_window(shown, config)))
        found: list[list[str | None]] = []
        for _, texts in asked:
            answers = [next(groups) for _ in texts]
            found.append([answer[0].page_content if answer else None for answer in answers])
        return found

    def _stuck(self, job: Job, config: RunnableConfig | None) -> bool:
        """Give up on texts whose summaries take as many prompts as they did."""
        msg = (
            f"{type(self).__name__}: the summaries of the parts of document"
            f" {name_of(job.document)} are together as long as the parts, so that they never"
            " fit into one prompt. Raise max_length, or have the prompt ask for less."
        )
        error = TransformerError(msg)
        if not overseer_of(config).note(job.document, error):
            raise error
        return True

    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        found = summary_of(answer, echoes=asked.echoes, text=asked.document.page_content)
        return [Piece("summary", found)] if found else []

    def _expected(self, asked: Asked) -> list[Piece]:
        most = min(_SHOWN, max(1, self.max_length // 8))
        return [Piece("summary", asked.document.page_content[:most])]


def _about(document: Document, text: str) -> Document:
    """Return a text that stands for a part of a document."""
    carried = {key: document.metadata[key] for key in CARRIED if key in document.metadata}
    return document_of(text, carried, document.id)


def tree_fingerprint(
    transformer: LazyDocumentTransformer,
    leaves: str | None,
    summaries: Summaries,
    parameters: Mapping[str, Any],
) -> str | None:
    """Return the fingerprint of a transformer that makes summaries above chunks.

    Args:
        transformer: The transformer.
        leaves: Identity of what makes the chunks.
        summaries: What makes the summaries.
        parameters: What the results depend on besides; None for what has no identity, and is
            vouched for by the transformer's `version`.

    Returns:
        A hex digest, or None where something has no identity and is not vouched for.
    """
    answers, version = summaries.fingerprint, transformer.version
    vouched = version is not None
    try:
        length = identity(summaries.length)
    except NoIdentityError:
        length = None
    unknown = length is None or None in parameters.values() or not is_ours(transformer)
    if leaves is None or answers is None or (unknown and not vouched):
        return None
    return digest(
        {
            "class": class_of(transformer),
            "leaves": leaves,
            "summaries": answers,
            "max_length": summaries.max_length,
            "length": length,
            "parameters": dict(parameters),
            "version": version,
        }
    )
