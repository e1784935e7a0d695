"""Writing the wrapped vector store's rows, within what it can take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_rag._flow import Flow, call, call_as
from langchain_rag.backends import backend_of
from langchain_rag.errors import IdsIgnoredError, StoreError
from langchain_rag.lifecycle.batches import batched


class Rows:
    """Adds rows to a vector store under given ids, and deletes them.

    No call is made for an empty list, and none with more than the store can take.

    Args:
        vectorstore: Any store.

    Attributes:
        backend: What is known of it.
    """

    def __init__(self, vectorstore: VectorStore) -> None:
        self.vectorstore = vectorstore
        self.backend = backend_of(vectorstore)
        self._there = self.backend.exists is None

    def check(self) -> None:
        """Refuse a store of which it is known that it cannot hold variations.

        Raises:
            ConfigurationError: It cannot be wrapped as it is configured.
            IdsIgnoredError: It does not keep ids.
        """
        error = self.backend.refusal and self.backend.refusal()
        if error:
            raise error

    def exists(self) -> Flow[bool]:
        """Say whether the collection is there, as some stores' searches and deletes need."""
        exists = self.backend.exists
        if not self._there and exists is not None:
            # Once it is there it stays; one that is dropped is a fault to be seen.
            self._there = yield from call(exists, partial(run_in_executor, None, exists))
        return self._there

    def add(self, rows: Sequence[Document], options: dict[str, Any]) -> Flow[None]:
        """Write rows under the ids that they carry.

        Args:
            rows: Each has an id, and no two the same.
            options: Further arguments of the store's `add_documents`.

        Raises:
            ConfigurationError: It cannot be wrapped as it is configured.
            IdsIgnoredError: It does not keep ids.
        """
        store = self.vectorstore
        for batch in batched(rows, self.backend.max_rows):
            self.check()
            ids = [str(row.id) for row in batch]
            if not self.backend.replaces:
                yield from self.delete(ids)
            fitted = yield from self._fitted(batch)
            returned = yield from call_as(
                "to_its_end",
                store.add_documents,
                store.aadd_documents,
                fitted,
                ids=ids,
                **options,
            )
            # Some stores return nothing, which says nothing.
            if returned and list(returned) != ids:
                yield from self._take_back(ids, [str(id_) for id_ in returned])

    def write(
        self,
        rows: Sequence[Document],
        relabelled: Sequence[Document],
        options: dict[str, Any],
    ) -> Flow[None]:
        """Write rows, and do not embed again what has other metadata only, if possible.

        Args:
            rows: Rows that are new, or have other texts.
            relabelled: Rows that are there with other metadata; whole, since those that turn
                out not to be there are added.
            options: Further arguments of the store's `add_documents`.
        """
        if self.backend.relabel is not None and relabelled and (yield from self.exists()):
            relabelled = yield from self._relabel(relabelled, self.backend.relabel)
        yield from self.add([*rows, *relabelled], options)

    def _relabel(
        self, rows: Sequence[Document], relabel: Callable[[Sequence[Document]], set[str]]
    ) -> Flow[list[Document]]:
        missing: list[Document] = []
        for batch in batched(rows, self.backend.max_rows):
            change = partial(relabel, (yield from self._fitted(batch)))
            achange = partial(run_in_executor, None, change)
            found = yield from call_as("to_its_end", change, achange)
            missing += [row for row in batch if row.id not in found]
        return missing

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        """Delete rows; ids that are not there are no error.

        Raises:
            StoreError: The store has no delete, or answered False.
        """
        if not ids or not (yield from self.exists()):
            return
        for batch in batched(ids, self.backend.max_rows):
            try:
                yield from self._delete(batch)
            except (KeyError, ValueError) as error:
                # So some stores (FAISS) refuse ids that are not there. Any other error is
                # one, whatever is left to delete.
                present = yield from self._present(batch, error)
                if len(present) == len(batch):
                    raise
                if present:
                    yield from self._delete(present)

    def _fitted(self, rows: list[Document]) -> Flow[list[Document]]:
        fitted = self.backend.fitted
        if fitted is None:
            return rows

        async def afitted() -> list[Document]:
            return await run_in_executor(None, fitted, rows)

        return (yield from call(partial(fitted, rows), afitted))

    def _take_back(self, ids: list[str], returned: list[str]) -> Flow[None]:
        """Delete what was added under other ids, and say so."""
        message = (
            f"{type(self.vectorstore).__name__} was given the id {ids[0]!r} and answered with "
            f"{returned[0]!r}: it does not keep ids, so what it holds could never be changed "
            "or deleted. Wrap another store, or configure this one to keep ids."
        )
        error = IdsIgnoredError(message)
        try:
            yield from self.delete(returned)
        except Exception as cause:
            error.add_note(
                f"The {len(returned)} rows that it added are still there, since deleting them "
                "failed too."
            )
            raise error from cause
        error.add_note(f"The {len(returned)} rows that it added were taken back.")
        raise error

    def _delete(self, ids: list[str]) -> Flow[None]:
        store = self.vectorstore
        try:
            deleted = yield from call_as("to_its_end", store.delete, store.adelete, ids=ids)
        except NotImplementedError as error:
            message = (
                f"{type(store).__name__} cannot delete, so what it holds could never be "
                f"changed; {len(ids)} rows were to go, the first {ids[0]!r}. Wrap another "
                "store."
            )
            raise StoreError(message) from error
        if deleted is False:
            message = (
                f"{type(store).__name__}.delete answered False for {len(ids)} rows, the "
                f"first {ids[0]!r}. They are still named by an intent in the docstore: find "
                "out why the store refuses, then make the call again."
            )
            raise StoreError(message)

    def _present(self, ids: list[str], error: Exception) -> Flow[list[str]]:
        store = self.vectorstore
        try:
            found = yield from call(store.get_by_ids, store.aget_by_ids, ids)
        except Exception:  # noqa: BLE001 - the first error is the one to report
            raise error from None
        known = {document.id for document in found}
        return [id_ for id_ in ids if id_ in known]
