"""Retrievers over `RAGVectorStore`, or any other vector store.

- `SelfQueryRetriever`: LangChain's, with a look-up of the filter translator that works.

Names are loaded when they are first used, since langchain-classic is not cheap to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_rag.retrievers.self_query import SelfQueryRetriever

__all__ = ["SelfQueryRetriever"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from langchain_rag.retrievers import self_query  # noqa: PLC0415 - cheap imports

    return getattr(self_query, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
