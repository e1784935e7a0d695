"""Which translator goes with which vector store, by dotted class name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from langchain_core.structured_query import Visitor
from langchain_core.vectorstores import VectorStore

from langchain_rag.errors import ConfigurationError, NoTranslatorError
from langchain_rag.structured_query.faiss import FAISSTranslator
from langchain_rag.structured_query.normal import Dates
from langchain_rag.structured_query.others import others
from langchain_rag.structured_query.ours import OURS
from langchain_rag.structured_query.translator import Translator

TranslatorFactory: TypeAlias = Callable[[VectorStore], Visitor]

_RAG: Final = "langchain_rag.vectorstores.rag.RAGVectorStore"

_FACTORIES: dict[str, TranslatorFactory] = {**others(), **OURS}


def translator_for(store: VectorStore, dates: Dates = "iso") -> Visitor:
    """Return the translator of structured queries into a store's filters.

    A store that wraps another one, and has it as `vectorstore` or `inner`, is looked through,
    at any depth. A class that is registered serves its subclasses too. No store's module is
    imported for the look-up. There are translators of our own for Chroma, FAISS,
    `InMemoryVectorStore`, LanceDB, Milvus, pgvector and Qdrant; for other stores that
    langchain-community has one for, that one is imported when such a store is met.

    Args:
        store: A vector store.
        dates: What dates are compared with in the metadata: `"iso"` for ISO 8601 text, which
            `RAGVectorStore` writes for a date; `"timestamp"` for seconds since 1970, which
            any store can order.

    Returns:
        A new translator.

    Raises:
        NoTranslatorError: If neither the store nor what it wraps has one, or the one that it
            has cannot be imported.
        ConfigurationError: If timestamps are asked for of a translator that is not ours.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        >>> type(translator_for(store)).__name__
        'InMemoryTranslator'
    """
    seen: list[VectorStore] = []
    inner: object = store
    while isinstance(inner, VectorStore) and not any(inner is one for one in seen):
        seen.append(inner)
        for cls in type(inner).__mro__:
            if factory := _FACTORIES.get(_dotted(cls)):
                return _set(factory(inner), dates, seen)
        inner = _inside(inner)
    names = " in ".join(_dotted(type(one)) for one in reversed(seen))
    msg = (
        f"There is no structured-query translator for {names}: pass one as "
        "structured_query_translator=, or register it with "
        f"langchain_rag.structured_query.register_translator({_dotted(type(seen[-1]))!r}, ...)."
    )
    raise NoTranslatorError(msg)


def register_translator(dotted_class: str, factory: TranslatorFactory) -> None:
    """Say which translator goes with a class of vector stores, and its subclasses.

    Args:
        dotted_class: Module and qualified name, such as `"my_stores.vectors.MyStore"`. The
            class is not imported.
        factory: Makes the translator; it is given the store. It takes the place of one that
            was registered for the same class before.

    Raises:
        ConfigurationError: If the name has no module.

    Example:
        >>> register_translator("my_stores.MyStore", lambda store: ChromaTranslator())
    """
    if "." not in dotted_class.strip("."):
        msg = f"{dotted_class!r} has no module: give the dotted name, 'module.Class'."
        raise ConfigurationError(msg)
    _FACTORIES[dotted_class] = factory


def _inside(store: VectorStore) -> object:
    inner: object = vars(store).get("inner")
    return inner if isinstance(inner, VectorStore) else getattr(store, "vectorstore", None)


def _set(translator: Visitor, dates: Dates, seen: Sequence[VectorStore]) -> Visitor:
    if isinstance(translator, FAISSTranslator) and any(map(_counts, seen)):
        translator.rows = None
    if dates != "iso":
        if not isinstance(translator, Translator):
            msg = (
                f"{type(translator).__name__} does not say what it compares dates with: leave "
                f"dates={dates!r} out."
            )
            raise ConfigurationError(msg)
        translator.dates = dates
    return translator


def _counts(store: VectorStore) -> bool:
    """Say whether a store knows by itself how many rows a search has to fetch."""
    return any(_dotted(cls) == _RAG for cls in type(store).__mro__)


def _dotted(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
