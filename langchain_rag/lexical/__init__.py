"""Searching chunks by their words.

- `Analysis`: from text to terms, by language.
- `LexicalSearch`: what a docstore offers that can be searched so; `SQLDocStore` does.
- `lexical_search_of`: the same for any other docstore, by an index in memory.

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_rag.lexical.analysis import Analysis
    from langchain_rag.lexical.in_memory import InMemoryLexicalSearch, lexical_search_of
    from langchain_rag.lexical.protocol import LexicalSearch

__all__ = ["Analysis", "InMemoryLexicalSearch", "LexicalSearch", "lexical_search_of"]

_MODULES = {
    "Analysis": "analysis",
    "InMemoryLexicalSearch": "in_memory",
    "LexicalSearch": "protocol",
    "lexical_search_of": "in_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
