"""What is really in the two stores of a `RAGVectorStore`, and whether it is consistent.

Nothing here searches: an approximate index may miss a row that is there. Rows are read from
the wrapped store itself, so only stores that can list their rows serve: the in-memory one,
Chroma, and the ones of this package around them.

Example:
    >>> from langchain_core.documents import Document
    >>> from langchain_core.stores import InMemoryStore
    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> from langchain_rag.testing import CountingEmbeddings, audit, reachable
    >>> from langchain_rag.vectorstores import RAGVectorStore
    >>> wrapped = InMemoryVectorStore(CountingEmbeddings())
    >>> rag = RAGVectorStore(
    ...     vectorstore=wrapped, docstore=InMemoryStore(), source_id_key=None
    ... )
    >>> rag.add_documents([Document("a prime")], ids=["1"])
    ['1']
    >>> audit(rag), reachable(rag)
    ([], {('1', 'a prime', 'a prime')})
    >>> wrapped.delete(list(wrapped.store))
    >>> [problem.split(":")[0] for problem in audit(rag)]
    ['I4']
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from langchain_core.documents import Document

from langchain_rag._reserved import CHUNK, DOCUMENT, KIND
from langchain_rag.lifecycle.records import read_chunk, read_intent, read_manifest
from langchain_rag.testing.faulty import FaultyDocStore

if TYPE_CHECKING:
    from langchain_core.stores import BaseStore
    from langchain_core.vectorstores import VectorStore

    from langchain_rag.lifecycle.manifest import ChunkEntry

__all__ = ["Contents", "audit", "contents", "reachable"]


class StorePair(Protocol):
    """What has a wrapped store and a docstore: a `RAGVectorStore`."""

    @property
    def vectorstore(self) -> VectorStore:
        """The vector store, which holds the variations."""
        ...

    @property
    def docstore(self) -> BaseStore[str, Any]:
        """The docstore, which holds the chunks and the manifests."""
        ...


class Contents(NamedTuple):
    """Everything in the two stores; two of them are equal if nothing differs.

    Attributes:
        rows: Rows of the vector store by id, without their vectors.
        records: Values of the docstore by key.
    """

    rows: dict[str, Document]
    records: dict[str, Document]

    def room(self, name: str) -> dict[str, Document]:
        """Return the records whose key begins with a word such as `"manifests"`.

        Args:
            name: First part of the keys.

        Returns:
            Records by the last part of their key.
        """
        return {
            key.rpartition("/")[2]: value
            for key, value in self.records.items()
            if key.partition("/")[0] == name
        }


def contents(rag: StorePair, *, copy: bool = True) -> Contents:
    """Read everything that the wrapped store and the docstore hold.

    Args:
        rag: A store over parts that can be listed.
        copy: False for a quick look, which may share what the stores hold.

    Returns:
        Rows and records, keyed by id.

    Raises:
        TypeError: If the wrapped store cannot list its rows.
    """
    docstore = rag.docstore
    while isinstance(docstore, FaultyDocStore):
        docstore = docstore.inner
    keys = sorted(docstore.yield_keys())
    values = zip(keys, docstore.mget(keys), strict=True)
    records = {key: value for key, value in values if value is not None}
    found = Contents(_rows(rag.vectorstore), records)
    return deepcopy(found) if copy else found


def reachable(rag: StorePair) -> set[tuple[str, str, str]]:
    """Return what a search can find: rows whose chunk is in the docstore.

    Args:
        rag: A store over parts that can be listed.

    Returns:
        Document id, text of the chunk and text of the variation, for every such row.
    """
    found = contents(rag, copy=False)
    chunks = found.room("chunks")
    return {
        (
            str(row.metadata[DOCUMENT]),
            chunks[row.metadata[CHUNK]].page_content,
            row.page_content,
        )
        for row in found.rows.values()
        if row.metadata.get(CHUNK) in chunks
    }


def audit(rag: StorePair, *, settled: bool = True) -> list[str]:
    """Check the invariants of the two stores by reading them.

    I1: every row names a chunk that is in the docstore. I3: everything in either store is
    named by a manifest, or by the intent of a change that is under way. I4: no change is
    under way, and the stores are exactly what the manifests say, with nothing orphaned,
    lost or doubled.

    Args:
        rag: A store over parts that can be listed.
        settled: Whether a call has succeeded since the last failure. If not, only I1 and
            I3 are checked, which hold at every moment.

    Returns:
        One line for each thing that is wrong, beginning with the invariant.
    """
    found = contents(rag, copy=False)
    manifests = [read_manifest(key, value) for key, value in found.room("manifests").items()]
    intents = [read_intent(key, value) for key, value in found.room("intents").items()]
    live = [entry for manifest in manifests for entry in manifest.chunks]
    coming = [entry for intent in intents for entry in intent.entries]
    problems = _orphans(found, live if settled else live + coming)
    if settled:
        problems += [f"I4: intent left for {intent.document_id!r}" for intent in intents]
        problems += _missing(found, live)
        problems += _doubled(found, live)
        owners = {entry.key: m.document_id for m in manifests for entry in m.chunks}
        problems += _misnamed(found, owners)
    return problems


def _orphans(found: Contents, named: list[ChunkEntry]) -> list[str]:
    """Check I1 and I3."""
    chunks = found.room("chunks")
    keys = {entry.key for entry in named}
    ids = {id_ for entry in named for id_ in entry.variation_ids()}
    problems = [
        f"I1: row {id_} ({row.page_content[:40]!r}) names chunk "
        f"{row.metadata.get(CHUNK)}, which is not in the docstore"
        for id_, row in found.rows.items()
        if row.metadata.get(CHUNK) not in chunks
    ]
    problems += [
        f"I3: row {id_} ({row.page_content[:40]!r}) is named by nothing"
        for id_, row in found.rows.items()
        if id_ not in ids
    ]
    for room in ("chunks", "variations"):
        problems += [
            f"I3: {room}/{key} is named by nothing"
            for key in found.room(room)
            if key not in keys
        ]
    known = {"chunks", "variations", "manifests", "intents"}
    problems += [
        f"I3: {key} is no key of ours"
        for key in found.records
        if key.partition("/")[0] not in known
    ]
    return problems


def _missing(found: Contents, live: list[ChunkEntry]) -> list[str]:
    problems = [
        f"I4: row {id_} of chunk {entry.key} is lost"
        for entry in live
        for id_ in entry.variation_ids()
        if id_ not in found.rows
    ]
    for room in ("chunks", "variations"):
        there = found.room(room)
        problems += [
            f"I4: {room}/{entry.key} is lost" for entry in live if entry.key not in there
        ]
    return problems


def _doubled(found: Contents, live: list[ChunkEntry]) -> list[str]:
    problems = [
        f"I4: chunk {key} is named {count} times"
        for key, count in Counter(entry.key for entry in live).items()
        if count > 1
    ]
    texts = Counter(
        (row.metadata.get(CHUNK), row.metadata.get(KIND), row.page_content)
        for row in found.rows.values()
    )
    problems += [
        f"I4: chunk {chunk} has {count} rows of kind {kind!r} and text {text[:40]!r}"
        for (chunk, kind, text), count in texts.items()
        if count > 1
    ]
    return problems


def _misnamed(found: Contents, owners: dict[str, str]) -> list[str]:
    """Check that rows and chunks name the document whose manifest names them."""
    problems: list[str] = []
    for key, value in found.room("chunks").items():
        record = read_chunk(key, value)
        if record.key != key or record.document_id != owners.get(key):
            problems.append(f"I4: chunks/{key} names {record.document_id!r} {record.key}")
    problems += [
        f"I4: row {id_} names {row.metadata.get(DOCUMENT)!r} as its document"
        for id_, row in found.rows.items()
        if row.metadata.get(DOCUMENT) != owners.get(row.metadata.get(CHUNK, ""))
    ]
    return problems


def _rows(vectorstore: VectorStore) -> dict[str, Document]:
    """Read the rows of a store, unwrapping the stores of this package."""
    store: Any = vectorstore
    while "inner" in vars(store):
        store = store.inner
    if isinstance(getattr(store, "store", None), dict):  # InMemoryVectorStore
        return {
            id_: Document(row["text"], metadata=row["metadata"])
            for id_, row in store.store.items()
        }
    if hasattr(store, "get"):  # Chroma
        got = store.get(include=["documents", "metadatas"])
        columns = zip(got["ids"], got["documents"], got["metadatas"], strict=True)
        return {
            id_: Document(text or "", metadata=metadata or {})
            for id_, text, metadata in columns
        }
    msg = f"{type(store).__name__} cannot list its rows; use an in-memory store or Chroma."
    raise TypeError(msg)
