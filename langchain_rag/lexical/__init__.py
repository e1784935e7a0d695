"""Searching chunks by their words.

- `Analysis`: from text to terms, by language.
- `LexicalSearch`: what a docstore offers that can be searched so; `SQLDocStore` does.
- `lexical_search_of`: the same for any other docstore, by an index in memory.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag import _lazy

if TYPE_CHECKING:
    from langchain_rag.lexical.analysis import Analysis
    from langchain_rag.lexical.in_memory import InMemoryLexicalSearch, lexical_search_of
    from langchain_rag.lexical.protocol import LexicalSearch

__all__ = ["Analysis", "InMemoryLexicalSearch", "LexicalSearch", "lexical_search_of"]

__getattr__, __dir__ = _lazy.lazy(
    globals(),
    Analysis="analysis",
    InMemoryLexicalSearch="in_memory",
    LexicalSearch="protocol",
    lexical_search_of="in_memory",
)
