"""Metadata of a chunk in front of each of its variations."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from langchain_rag._flow import Flow
from langchain_rag._identity import class_of, declared_name, digest
from langchain_rag._reserved import KIND, TRANSFORMER
from langchain_rag.document_transformers._documents import made_of, name_of
from langchain_rag.document_transformers._groups import Group
from langchain_rag.document_transformers.base import WindowTransformer
from langchain_rag.document_transformers.composition import as_lazy
from langchain_rag.document_transformers.fingerprint import (
    fingerprint_of,
    is_ours,
    reads_metadata,
)
from langchain_rag.document_transformers.overseer import overseer_of
from langchain_rag.errors import ConfigurationError, TransformerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.runnables import RunnableConfig

__all__ = ["Prefixed"]


@declared_name("Prefixed")
class Prefixed(WindowTransformer):
    r"""Puts metadata of a document in front of whatever another transformer makes of it.

    As `chunk_transformer`, around the one that makes the variations: what is embedded then
    says what the chunk's own text takes for granted, such as the headings above it, or the
    sentence that `ContextualSplitter` has put into its metadata. The chunk stays as it is,
    and `inner` is asked about its text alone. Kind and transformer of a variation stay those
    that `inner` gave it.

    Values that are missing or blank are left out; without any, the text stays as it was. Put
    one inside the other for several prefixes.

    The texts depend on metadata, so any change of a chunk's metadata makes its variations
    anew. Where `inner` asks a model, give the store a variation cache: it has the answers.

    Args:
        inner: Makes the variations.
        keys: Metadata keys, outermost first, whose values make the prefix.
        separator: Stands between two values.
        end: Stands between the prefix and the text.

    Raises:
        ConfigurationError: `keys` is one text, or `inner` is no transformer.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_rag.document_transformers import CopyDocumentTransformer
        >>> headed = Prefixed(CopyDocumentTransformer(), keys=("Header 1", "Header 2"))
        >>> chunk = Document("Use apt.", metadata={"Header 1": "Guide", "Header 2": "Linux"})
        >>> headed.transform_documents([chunk])[0].page_content
        'Guide > Linux\n\nUse apt.'
    """

    def __init__(
        self,
        inner: BaseDocumentTransformer,
        *,
        keys: Sequence[str],
        separator: str = " > ",
        end: str = "\n\n",
    ) -> None:
        if isinstance(keys, str):
            msg = f"keys is the text {keys!r}: give a tuple of keys, such as ({keys!r},)."
            raise ConfigurationError(msg)
        self.inner = inner
        self.keys = tuple(keys)
        self.separator = separator
        self.end = end
        self._inner = as_lazy(inner)
        self.window_size = self._inner.window_size
        # A subclass may do anything.
        self.reads_metadata = bool(self.keys) or reads_metadata(inner) or not is_ours(self)

    @property
    def fingerprint(self) -> str | None:
        """Identity of `inner` and of the prefix; None where `inner` has none."""
        inner = fingerprint_of(self.inner)
        if inner is None or (self.version is None and not is_ours(self)):
            return None
        return digest(
            {
                "class": class_of(self),
                "inner": inner,
                "keys": self.keys,
                "separator": self.separator,
                "end": self.end,
                "version": self.version,
            }
        )

    def prefix(self, document: Document) -> str:
        """Return what stands in front of the variations of a document.

        Args:
            document: The document.

        Returns:
            The prefix with its end; empty where the document has none of the values.

        Raises:
            TransformerError: A value is no text, number, date or list of such.
        """
        values = [text for key in self.keys for text in _texts(document, key)]
        return self.separator.join(values) + self.end if values else ""

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        overseer = overseer_of(config)
        prefixes: list[str] = []
        groups: list[Group] = []
        for document in documents:
            prefix, group = "", [document]
            try:
                prefix = self.prefix(document)
            except TransformerError as error:
                if not overseer.note(document, error):
                    raise
                group = []
            prefixes.append(prefix)
            groups.append(group)
        made = yield from self._inner._transform_groups(groups, config)  # noqa: SLF001
        return [
            [_preceded(prefix, one) for one in group]
            for prefix, group in zip(prefixes, made, strict=True)
        ]


def _preceded(prefix: str, variation: Document) -> Document:
    text, metadata = variation.page_content, variation.metadata
    return made_of(
        variation,
        # A blank one is dropped later; a prefix would hide that it is.
        prefix + text if text.strip() else text,
        metadata,
        transformer=metadata.get(TRANSFORMER, Prefixed.__name__),
        kind=metadata.get(KIND),
    )


def _texts(document: Document, key: str) -> list[str]:
    value = cast("object", document.metadata.get(key))
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [
            text
            for item in cast("Iterable[object]", value)
            for text in _text(document, key, item)
        ]
    return _text(document, key, value)


def _text(document: Document, key: str, value: object) -> list[str]:
    name = type(value).__name__
    if isinstance(value, set | frozenset | bytes | dict | list | tuple):
        msg = (
            f"Prefixed cannot write the metadata {key!r} of document {name_of(document)} into"
            f" a text: it is a {name}. Give keys of texts, numbers, dates or"
            " lists of these."
        )
        raise TransformerError(msg)
    text = " ".join(str(value).split())
    return [text] if text else []
