"""The base of this package's transformers: one method in, four forms out; and `+` and `|`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar, Final

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_rag._flow.together import arun_together, run_together
from langchain_rag._identity import class_of, digest, public_parameters
from langchain_rag.document_transformers._documents import made_of, name_of, shown
from langchain_rag.document_transformers._groups import (
    agroups_of,
    awindows_of,
    flat,
    groups_of,
    windows_of,
)
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.errors import TransformerError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig

    from langchain_rag._flow import Flow
    from langchain_rag.document_transformers._groups import Group
    from langchain_rag.document_transformers.composition import (
        DocumentTransformerPipeline,
        DocumentTransformers,
    )


__all__ = ["Composable", "LazyDocumentTransformer", "WindowTransformer", "flow_of", "limit_of"]


class Composable(BaseDocumentTransformer):
    """Composes with any `BaseDocumentTransformer` on either side.

    `a + b` is `DocumentTransformers([a, b])`, side by side in reading order; `a | b` is
    `DocumentTransformerPipeline([a, b])`, in sequence.
    """

    def __add__(self, other: BaseDocumentTransformer) -> DocumentTransformers:
        return _side_by_side(self, other)

    def __radd__(self, other: BaseDocumentTransformer) -> DocumentTransformers:
        return _side_by_side(other, self)

    def __or__(self, other: BaseDocumentTransformer) -> DocumentTransformerPipeline:
        return _in_sequence(self, other)

    def __ror__(self, other: BaseDocumentTransformer) -> DocumentTransformerPipeline:
        return _in_sequence(other, self)


# What composes imports what it is composed into, which is itself composable.
def _side_by_side(*members: BaseDocumentTransformer) -> DocumentTransformers:
    from langchain_rag.document_transformers.composition import (  # noqa: PLC0415 - a cycle
        DocumentTransformers,
    )

    return DocumentTransformers(members)


def _in_sequence(*members: BaseDocumentTransformer) -> DocumentTransformerPipeline:
    from langchain_rag.document_transformers.composition import (  # noqa: PLC0415 - a cycle
        DocumentTransformerPipeline,
    )

    return DocumentTransformerPipeline(members)


MAX_CONCURRENCY: Final = 16
"""Calls in flight where the caller's config says nothing: a bound that servers bear."""


class LazyDocumentTransformer(Composable):
    """A transformer with eager, lazy, async and async lazy forms of one method.

    A subclass writes `transform_document`, a plain function of one document. It is given a
    copy, so it may write into it; what it returns is copied, so it may return its input.

    The lazy forms read a window of documents at a time (`window_size`), so the first
    results are there before the last document is read. All four forms give the same
    results in the same order.

    Attributes:
        accepts_config: Whether the four methods take `config=`.
        kind: What the metadata of the results call their kind, if anything.
        version: Identity that you vouch for: raise it whenever the results for the same
            document would change. Without it, a transformer of your own has no
            `fingerprint`, and nothing that depends on one (caching) applies to it.
        reads_metadata: Whether the texts made depend on metadata too. Where they do not, say
            so with False: a change of metadata alone then makes nothing again.
        window_size: How many documents the lazy forms read before they give results.

    Example:
        >>> from langchain_core.documents import Document
        >>> class Sentences(LazyDocumentTransformer):
        ...     def transform_document(self, document):
        ...         for text in document.page_content.split(". "):
        ...             yield Document(page_content=text, metadata=document.metadata)
        >>> made = Sentences().lazy_transform_documents([Document("Pure. Applied")])
        >>> [(one.page_content, one.metadata) for one in made]
        [('Pure', {'transformer': 'Sentences'}), ('Applied', {'transformer': 'Sentences'})]
    """

    accepts_config: ClassVar[bool] = True
    kind: ClassVar[str | None] = None
    version: str | None = None
    reads_metadata: bool = True
    window_size: int = 1

    @abstractmethod
    def transform_document(self, document: Document) -> Iterable[Document]:
        """Make documents of one document.

        Args:
            document: A copy of what the caller handed in.

        Returns:
            Any number of documents. Give them the metadata that they should have, usually
            that of `document`; ids are ignored.
        """

    @property
    def fingerprint(self) -> str | None:
        """What identifies the results of this transformer, or None.

        Made of the class, `version` and those public attributes that can be written as
        JSON. It is the same in every process.
        """
        if self.version is None:
            return None
        return digest(
            {
                "class": class_of(self),
                "version": self.version,
                "parameters": public_parameters(self),
            }
        )

    def transform_documents(
        self,
        documents: Iterable[Document],
        *,
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - LangChain's signature
    ) -> list[Document]:
        """Transform documents, all in one window.

        Args:
            documents: What to transform. They are not changed.
            config: Callbacks, tags, metadata and `max_concurrency` for calls of models.
            **kwargs: Part of LangChain's signature; ignored.

        Returns:
            The results, in the order of the documents.

        Raises:
            TransformerError: A document could not be transformed.
        """
        return run_together(self._flat_groups(documents, config), limit_of(config))

    async def atransform_documents(
        self,
        documents: Iterable[Document],
        *,
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - LangChain's signature
    ) -> list[Document]:
        """Async form of `transform_documents`: the same arguments, results and errors."""
        return await arun_together(self._flat_groups(documents, config), limit_of(config))

    def lazy_transform_documents(
        self,
        documents: Iterable[Document],
        *,
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - LangChain's signature
    ) -> Iterator[Document]:
        """Transform documents window by window.

        Args:
            documents: What to transform, read as far as needed.
            config: Callbacks, tags, metadata and `max_concurrency` for calls of models.
            **kwargs: Part of LangChain's signature; ignored.

        Yields:
            The results, in the order of the documents.

        Raises:
            TransformerError: A document could not be transformed.
        """
        for group in self._lazy_groups(groups_of(documents), config):
            yield from group

    async def alazy_transform_documents(
        self,
        documents: Iterable[Document] | AsyncIterable[Document],
        *,
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - LangChain's signature
    ) -> AsyncGenerator[Document]:
        """Async form of `lazy_transform_documents`: the same arguments, results and errors."""
        async with aclosing(self._alazy_groups(agroups_of(documents), config)) as groups:
            async for group in groups:
                for document in group:
                    yield document

    def _transform_window(
        self,
        documents: Sequence[Document],
        config: RunnableConfig | None,
    ) -> Flow[list[Group]]:
        """Transform documents that are handed over together.

        A subclass overrides this to make one call for all of them.

        Args:
            documents: The documents, which must not be changed.
            config: The caller's config.

        Returns:
            One list of results for each document.
        """
        yield from ()
        overseer = overseer_of(config)
        made: list[Group] = []
        for document in documents:
            try:
                made.append(self._transform_one(document))
            except TransformerError as error:
                if not overseer.note(document, error):
                    raise
                made.append([])
        return made

    def _transform_one(self, document: Document) -> Group:
        try:
            results = _listed(self.transform_document(shown(document)))
        except TransformerError:
            raise
        except Exception as error:
            msg = (
                f"{type(self).__name__} raised {error!r} for document {name_of(document)}."
                " Nothing was made of it: correct the transformer or the document."
            )
            raise TransformerError(msg) from error
        return [
            made_of(
                document,
                result.page_content,
                result.metadata,
                transformer=type(self).__name__,
                kind=self.kind,
            )
            for result in results
        ]

    def _transform_groups(
        self, groups: list[Group], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        """Transform groups, and keep them apart.

        Args:
            groups: Documents, grouped by what they stem from.
            config: The caller's config.

        Returns:
            As many groups.
        """
        documents = flat(groups)
        made = yield from self._transform_window(documents, config)
        if len(made) != len(documents):
            msg = (
                f"{type(self).__name__}._transform_window gave {len(made)} lists for"
                f" {len(documents)} documents: it must give one list for each."
            )
            raise TransformerError(msg)
        results = iter(made)
        return [flat([next(results) for _ in group]) for group in groups]

    def _flat_groups(
        self, documents: Iterable[Document], config: RunnableConfig | None
    ) -> Flow[list[Document]]:
        return flat((yield from self._transform_groups([*groups_of(documents)], config)))

    def _lazy_groups(
        self, groups: Iterable[Group], config: RunnableConfig | None
    ) -> Iterator[Group]:
        for window in windows_of(groups, self.window_size):
            yield from run_together(self._transform_groups(window, config), limit_of(config))

    async def _alazy_groups(
        self, groups: AsyncGenerator[Group], config: RunnableConfig | None
    ) -> AsyncGenerator[Group]:
        async with aclosing(awindows_of(groups, self.window_size)) as windows:
            async for window in windows:
                flow = self._transform_groups(window, config)
                for group in await arun_together(flow, limit_of(config)):
                    yield group


class WindowTransformer(LazyDocumentTransformer):
    """Base of the transformers that are handed all documents of a window together.

    A subclass overrides `_transform_window`, or `_transform_groups`.
    """

    def transform_document(self, document: Document) -> list[Document]:
        """Transform one document.

        Args:
            document: The document.

        Returns:
            What is made of it, as the class describes.
        """
        return self.transform_documents([document])


def flow_of(
    transformer: BaseDocumentTransformer,
    documents: Sequence[Document],
    config: RunnableConfig | None,
) -> Flow[list[Document]] | None:
    """Return `transform_documents` as a flow, so that its calls share the caller's driver.

    Args:
        transformer: Any transformer.
        documents: What to transform.
        config: The caller's config.

    Returns:
        A flow; None for a transformer that is not this package's, or overrides the method.
    """
    if not isinstance(transformer, LazyDocumentTransformer):
        return None
    kind, base = type(transformer), LazyDocumentTransformer
    if (
        kind.transform_documents is not base.transform_documents
        or kind.atransform_documents is not base.atransform_documents
    ):
        return None
    return transformer._flat_groups(documents, config)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def limit_of(config: RunnableConfig | None) -> int:
    """Return how many model calls may be under way.

    Args:
        config: The caller's config.
    """
    return (config or {}).get("max_concurrency") or MAX_CONCURRENCY


def _listed(results: object) -> list[Document]:
    """Return what a user's method made, which may be anything."""
    # A Document can be iterated over, as its fields.
    if isinstance(results, Document) or not isinstance(results, Iterable):
        msg = f"transform_document returned a {type(results).__name__}, not Documents"
        raise TypeError(msg)
    made: list[Any] = list(results)  # pyright: ignore[reportUnknownArgumentType]
    for result in made:
        if not isinstance(result, Document):
            msg = f"transform_document gave a {type(result).__name__}, not a Document"
            raise TypeError(msg)
    return made
