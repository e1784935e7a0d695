"""Which translator goes with which vector store, by dotted class name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from langchain_core.structured_query import Visitor
from langchain_core.vectorstores import VectorStore

from langchain_rag.errors import ConfigurationError, NoTranslatorError
from langchain_rag.structured_query.chroma import ChromaTranslator
from langchain_rag.structured_query.in_memory import InMemoryTranslator

TranslatorFactory: TypeAlias = Callable[[VectorStore], Visitor]

_FACTORIES: dict[str, TranslatorFactory] = {
    "langchain_chroma.vectorstores.Chroma": lambda _store: ChromaTranslator(),
    "langchain_community.vectorstores.chroma.Chroma": lambda _store: ChromaTranslator(),
    "langchain_core.vectorstores.in_memory.InMemoryVectorStore": (
        lambda _store: InMemoryTranslator()
    ),
}


def translator_for(store: VectorStore) -> Visitor:
    """Return the translator of structured queries into a store's filters.

    A store that wraps another one, and has it as `vectorstore`, is looked through, at any
    depth. A class that is registered serves its subclasses too. No store's module is
    imported for the look-up.

    Args:
        store: A vector store.

    Returns:
        A new translator.

    Raises:
        NoTranslatorError: If neither the store nor what it wraps has one.

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
        for cls in type(inner).__mro__:
            if factory := _FACTORIES.get(_dotted(cls)):
                return factory(inner)
        seen.append(inner)
        inner = getattr(inner, "vectorstore", None)
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


def _dotted(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
