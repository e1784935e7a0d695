"""Where chunks, manifests and index records are kept.

One SQL engine serves both the docstore and the record manager, so that a folder with one
SQLite file, or one database, holds all that langchain-rag writes beside the vector store.

- `create_engine`: a sync or an async engine from a URL, set up for several threads.
- `SQLDocStore`: a `BaseStore[str, Document]` in that database.
- `FullText`: how a `SQLDocStore` keeps its full-text index.
- `SQLRecordManager`: LangChain's record manager for `index()` in that database.
- `InMemoryRecordManager`: the same for what need not outlive the process.
- `SQLVariationCache`: what models answered, in that database, so that it is paid for once.
- `SQLEmbeddingCache`: the vectors of texts, in that database, likewise.

Names are loaded when they are first used: only the SQL ones import SQLAlchemy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag import _lazy

if TYPE_CHECKING:
    from langchain_rag.storage._full_text import FullText
    from langchain_rag.storage.caches import SQLEmbeddingCache, SQLVariationCache
    from langchain_rag.storage.docstore import SQLDocStore
    from langchain_rag.storage.engine import create_engine
    from langchain_rag.storage.memory_record_manager import InMemoryRecordManager
    from langchain_rag.storage.record_manager import SQLRecordManager

__all__ = [
    "FullText",
    "InMemoryRecordManager",
    "SQLDocStore",
    "SQLEmbeddingCache",
    "SQLRecordManager",
    "SQLVariationCache",
    "create_engine",
]

__getattr__, __dir__ = _lazy.lazy(
    globals(),
    FullText="_full_text",
    InMemoryRecordManager="memory_record_manager",
    SQLDocStore="docstore",
    SQLEmbeddingCache="caches",
    SQLRecordManager="record_manager",
    SQLVariationCache="caches",
    create_engine="engine",
)
