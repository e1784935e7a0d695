"""What each wrapped vector store needs, and what it can do beside LangChain's interface.

LangChain's `VectorStore` says how to call a store, not how many rows it takes in a call,
whether a row that is added again replaces the one before, or how to list what is there. The
answers for the stores that we know stand here and nowhere else, in a table of dotted class
names; no store's module is imported for the look-up.

- `backend_of`: what is known of a store, looking through stores that wrap it.
- `register_backend`: adds a store of yours to the table.
- `Backend`, `DenseStore`: the answers.
"""

from langchain_rag.backends.backend import MAX_ROWS, Backend, DenseStore, Row
from langchain_rag.backends.registry import backend_of, register_backend

__all__ = [
    "MAX_ROWS",
    "Backend",
    "DenseStore",
    "Row",
    "backend_of",
    "register_backend",
]
