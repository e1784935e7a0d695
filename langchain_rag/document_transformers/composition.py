"""Transformers of transformers, LangChain's among them: side by side, and in sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_rag._flow import Flow, call, gather
from langchain_rag._flow.together import values_of
from langchain_rag._identity import declared_name
from langchain_rag.document_transformers._documents import CARRIED, made_of, shown
from langchain_rag.document_transformers._groups import Group
from langchain_rag.document_transformers.base import LazyDocumentTransformer, WindowTransformer
from langchain_rag.document_transformers.fingerprint import (
    digest_of_members,
    fingerprint_of,
    reads_metadata,
)
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig

__all__ = [
    "DocumentTransformerPipeline",
    "DocumentTransformers",
    "ForeignMember",
    "as_lazy",
]


class _Composed(WindowTransformer):
    """Base of the transformers that consist of others.

    A member that is composed in the same way is taken apart.

    Args:
        transformers: The members, in order.
    """

    def __init__(self, transformers: Iterable[BaseDocumentTransformer]) -> None:
        members: list[BaseDocumentTransformer] = []
        for transformer in transformers:
            kind = type(transformer)
            # What a subclass does is not known.
            plain = kind in {DocumentTransformers, DocumentTransformerPipeline}
            if plain and isinstance(self, kind) and isinstance(transformer, _Composed):
                members.extend(transformer.transformers)
            else:
                members.append(transformer)
        self.transformers: tuple[BaseDocumentTransformer, ...] = tuple(members)
        self._members = tuple(as_lazy(member) for member in members)
        self.reads_metadata = any(map(reads_metadata, self.transformers))
        self.window_size = max((member.window_size for member in self._members), default=1)

    @property
    def fingerprint(self) -> str | None:
        """Identity of the members and their order; None if a member has none."""
        return digest_of_members(self, self._members)


@declared_name("DocumentTransformers")
class DocumentTransformers(_Composed):
    """Several transformers side by side; their results are concatenated.

    The results come in the order of the documents, and for each document in the order of
    the transformers: with members `a` and `b` and documents 1 and 2, `a1 b1 a2 b2`. That
    is the order of all four forms. `a + b + c` is the same as
    `DocumentTransformers([a, b, c])`: what is side by side already is taken apart.

    A member that is not a `LazyDocumentTransformer` is called with one document at a time;
    it gets `config` only where it says `accepts_config = True`. Without members there are
    no results.

    Args:
        transformers: The members, in reading order.

    Attributes:
        transformers: The members, as a tuple.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_rag.document_transformers import CopyDocumentTransformer
        >>> twice = CopyDocumentTransformer() + CopyDocumentTransformer()
        >>> made = twice.transform_documents([Document("one"), Document("two")])
        >>> [document.page_content for document in made]
        ['one', 'one', 'two', 'two']
    """

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        made: list[Group] = [[] for _ in documents]
        groups = [[document] for document in documents]
        flows = [
            member._transform_groups(groups, config)  # noqa: SLF001
            for member in self._members
        ]
        for result in values_of((yield from gather(flows))):
            for group, part in zip(made, result, strict=True):
                group.extend(part)
        return made


@declared_name("DocumentTransformerPipeline")
class DocumentTransformerPipeline(_Composed):
    """Several transformers in sequence; each transforms what the one before made.

    The lazy forms stream: each stage reads its own window, so that the first results are
    there before the last document is read. `a | b | c` is the same as
    `DocumentTransformerPipeline([a, b, c])`. An empty pipeline gives copies of the
    documents, with ids and metadata as they were.

    A member that is not a `LazyDocumentTransformer` is called with what the stage before
    made of one document of the pipeline's input, and gets `config` only where it says
    `accepts_config = True`.

    Args:
        transformers: The stages, first to last.

    Attributes:
        transformers: The stages, as a tuple.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> from langchain_rag.document_transformers import CopyDocumentTransformer
        >>> words = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
        >>> pipeline = words | CopyDocumentTransformer()
        >>> made = pipeline.transform_documents([Document("pure maths")])
        >>> [document.page_content for document in made]
        ['pure', 'maths']
    """

    def _transform_groups(
        self, groups: list[Group], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        for member in self._members:
            groups = yield from member._transform_groups(groups, config)  # noqa: SLF001
        return groups if self._members else [_copies(group) for group in groups]

    def _lazy_groups(
        self, groups: Iterable[Group], config: RunnableConfig | None
    ) -> Iterator[Group]:
        if not self._members:
            return super()._lazy_groups(groups, config)
        for member in self._members:
            groups = member._lazy_groups(groups, config)  # noqa: SLF001
        return iter(groups)

    def _alazy_groups(
        self, groups: AsyncGenerator[Group], config: RunnableConfig | None
    ) -> AsyncGenerator[Group]:
        if not self._members:
            return super()._alazy_groups(groups, config)
        for member in self._members:
            groups = member._alazy_groups(groups, config)  # noqa: SLF001
        return groups


def as_lazy(transformer: object) -> LazyDocumentTransformer:
    """Return the transformer, adapted where it is not this package's.

    Args:
        transformer: Any `BaseDocumentTransformer`.

    Returns:
        A `LazyDocumentTransformer` that does the same.

    Raises:
        ConfigurationError: It is not a transformer.
    """
    if isinstance(transformer, LazyDocumentTransformer):
        return transformer
    if isinstance(transformer, BaseDocumentTransformer):
        return ForeignMember(transformer)
    msg = (
        f"{transformer!r} is not a document transformer: give instances of subclasses of"
        " BaseDocumentTransformer (of a class, an instance)."
    )
    raise ConfigurationError(msg)


class ForeignMember(WindowTransformer):
    """Adapts LangChain's splitters, and any other `BaseDocumentTransformer`.

    The member is called once for each group: it sees together what stems from one document,
    never two documents at once. A transformer that compares documents (a redundancy filter
    after a splitter) thus works within a document, and gives the same in every form.

    Attributes:
        transformer: What is adapted.
    """

    def __init__(self, transformer: BaseDocumentTransformer) -> None:
        self.transformer = transformer

    @property
    def fingerprint(self) -> str | None:
        """That of the adapted transformer."""
        return fingerprint_of(self.transformer)

    def _transform_groups(
        self, groups: list[Group], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        member = self.transformer
        kwargs: dict[str, Any] = {}
        if getattr(member, "accepts_config", False):
            kwargs["config"] = config
        overseer = overseer_of(config)
        made: list[Group] = []
        for group in groups:
            results: Sequence[Document] = []
            if group:
                try:
                    results = yield from call(
                        member.transform_documents,
                        member.atransform_documents,
                        [_lent(document) for document in group],
                        **kwargs,
                    )
                except Exception as error:
                    if not overseer.note(group[0], error):
                        raise
            made.append([self._taken(result, group) for result in results])
        return made

    def _taken(self, result: Document, group: Group) -> Document:
        # A member that keeps metadata says itself what the result is of; for one that
        # drops it, the group is what is known.
        carries = any(key in result.metadata for key in CARRIED)
        return made_of(
            result if carries else group[0],
            result.page_content,
            result.metadata,
            transformer=type(self.transformer).__name__,
            kind=None,
        )


def _lent(document: Document) -> Document:
    copy = shown(document)
    copy.metadata |= {
        key: document.metadata[key] for key in CARRIED if key in document.metadata
    }
    return copy


def _copies(group: Group) -> Group:
    return [document.model_copy(deep=True) for document in group]
