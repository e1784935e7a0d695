"""The order of writes, which keeps every document whole whatever fails.

```text
0  read manifests · sweep what an earlier call left · run both transformers
1  intents       name all that follows, before any of it
2  chunks        new ones appear; nothing finds them yet
3  variations    the new version can be found; so can the old one
4  manifests     the commit
5  variations    what only the old version had goes
6  chunks        so do its chunks
7  intents       go: the change is done
```

A deletion is the same with nothing new: its commit is that the manifest goes. A failure
before step 1 has touched nothing. What an interruption later on leaves behind is named by an
intent, and `langchain_rag.lifecycle.recovery` clears it.

A chunk whose text stays while its metadata or its transformer changes keeps its key, and is
written in place; between steps 2 and 4 its rows may be of either kind, and all of them stand
for the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from langchain_rag._flow import Flow
from langchain_rag.errors import InvalidDocumentError
from langchain_rag.lifecycle import claims, plan
from langchain_rag.lifecycle.batches import BATCH_SIZE, batched
from langchain_rag.lifecycle.claims import Claim
from langchain_rag.lifecycle.identity import StorageKeys
from langchain_rag.lifecycle.recovery import Recovery
from langchain_rag.lifecycle.repository import Repository
from langchain_rag.lifecycle.settings import Transformers
from langchain_rag.lifecycle.stores import Stores


class Lifecycle:
    """Imports documents into the two stores, changes them, deletes them.

    Args:
        stores: Where everything is.
        transformers: What a document goes through.

    Attributes:
        keys: Where in the docstore.
        records: Reads and writes the records of the docstore.
        recovery: Clears what interrupted calls left.
        fan_out: The largest number of variations of a chunk seen so far, for searches.
    """

    def __init__(self, stores: Stores, transformers: Transformers) -> None:
        self.stores = stores
        self.transformers = transformers
        self.keys = StorageKeys(transformers.namespace)
        self.records = Repository(stores, self.keys)
        self.fan_out = 1
        self.recovery = Recovery(stores, self.records)

    def delete(
        self, document_ids: Iterable[str] | None, batch_size: int = BATCH_SIZE
    ) -> Flow[None]:
        """Delete documents; ids that are not there are no error.

        Args:
            document_ids: Which; None for all of the namespace.
            batch_size: Documents that go through each step together.

        Raises:
            InvalidDocumentError: An id is one of a chunk.
            ConcurrentWriteError: Another call is writing one of them.
            StoreError: A store did not do what its contract says.
        """
        if document_ids is None:
            document_ids = yield from self.records.document_ids()
        yield from self.recovery.sweep_leftovers()
        for batch in batched(dict.fromkeys(document_ids), batch_size):
            yield from self.holding(batch, partial(self._delete, batch))

    def holding(
        self, document_ids: Sequence[str], body: Callable[[Claim], Flow[None]]
    ) -> Flow[None]:
        """Do something to documents while no other call may write them.

        Args:
            document_ids: The documents.
            body: What to do with the claim.

        Raises:
            ConcurrentWriteError: Another call is writing one of them.
        """
        documents = {self.keys.manifest(id_): id_ for id_ in document_ids}
        yield from claims.holding(self.stores.docstore, documents, body)

    def claimed(self, document_ids: Sequence[str]) -> Flow[set[str]]:
        """Return which documents somebody is writing, perhaps in another process.

        Args:
            document_ids: The documents.
        """
        keys = [self.keys.manifest(id_) for id_ in document_ids]
        held = yield from claims.claimed(self.stores.docstore, keys)
        return {id_ for id_, is_held in zip(document_ids, held, strict=True) if is_held}

    def stored(self, document_ids: Sequence[str]) -> Flow[list[bool]]:
        """Say for each document whether it is stored, after sweeping leftovers.

        One that is doubtful is not: it has to be imported again.

        Args:
            document_ids: The documents.

        Raises:
            CorruptStoreError: What is stored of one of them cannot be read.
        """
        yield from self.recovery.sweep_leftovers()
        found = yield from self.records.manifests(document_ids)
        return [id_ in found and not found[id_].doubtful for id_ in document_ids]

    def _delete(self, batch: Sequence[str], claim: Claim) -> Flow[None]:
        manifests = yield from self.recovery.settled(claim, batch)
        yield from self._refuse_chunks([id_ for id_ in batch if id_ not in manifests])
        changes = [plan.deletion(manifest) for manifest in manifests.values()]
        yield from self.apply(changes, claim, {})

    def apply(
        self, changes: Sequence[plan.Change], claim: Claim, options: dict[str, Any]
    ) -> Flow[None]:
        """Put changes into the stores, in the order that keeps every document whole.

        Args:
            changes: One for each document.
            claim: On the documents.
            options: Further arguments of the wrapped store's `add_documents`.
        """
        intents = [change.intent(claim.writer) for change in changes]
        live = {c.document_id: c.committed for c in changes if c.committed}
        gone = [change.document_id for change in changes if not change.new]
        chunks = [chunk for change in changes for chunk in change.chunks]
        rows = [row for change in changes for row in change.rows]
        relabelled = [row for change in changes for row in change.relabelled]
        records = self.records
        try:
            yield from records.write_intents(claim, intents)
            yield from records.write_chunks(claim, [(c.record, c.variations) for c in chunks])
            yield from self.stores.rows.write(rows, relabelled, options)
            yield from records.write_manifests(claim, live.values())
            yield from records.delete_manifests(claim, gone)
            yield from self.recovery.clear(claim, intents, live)
        except Exception as error:
            names = ", ".join(repr(change.document_id) for change in changes[:5])
            more = f" and {len(changes) - 5} more" if len(changes) > 5 else ""
            error.add_note(
                f"While writing the documents {names}{more}. What was stored before is still "
                "stored; make the call again once the cause is gone."
            )
            yield from self.recovery.take_back(claim, intents, error)
            raise
        except BaseException:
            self.recovery.unswept = True
            raise
        self.fan_out = max([self.fan_out, *(chunk.record.fan_out for chunk in chunks)])

    def _refuse_chunks(self, unknown: Sequence[str]) -> Flow[None]:
        """Say so where an id is one of a chunk: it cannot go without its document."""
        for id_, chunk in (yield from self.records.stored_chunks(unknown)).items():
            document_id = chunk.read().document_id
            message = (
                f"{id_!r} is the id of a chunk of document {document_id!r}, and a chunk "
                f"cannot be deleted on its own. Delete the document, or add it again "
                "without what should go."
            )
            raise InvalidDocumentError(message)
