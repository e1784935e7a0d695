"""Clearing what a change deletes, and what an interrupted one left behind.

There is one rule (`langchain_rag.lifecycle.manifest.dead`): what an intent names and no
manifest does must go. A change that went well ends with it, and so does the next call after
one that did not.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from langchain_rag._flow import Flow
from langchain_rag.errors import ConcurrentWriteError, CorruptStoreError
from langchain_rag.lifecycle import claims
from langchain_rag.lifecycle.claims import Claim
from langchain_rag.lifecycle.manifest import Intent, Manifest, dead, recovered
from langchain_rag.lifecycle.repository import Repository
from langchain_rag.lifecycle.stores import Stores

logger = logging.getLogger(__name__)


class Recovery:
    """Makes the stores equal the manifests.

    Args:
        stores: Where everything is.
        records: Of the docstore.

    """

    def __init__(self, stores: Stores, records: Repository) -> None:
        self._stores = stores
        self._records = records
        self._place = (claims.place_of(stores.docstore), records.keys.intents)
        # Earlier processes may have left something.
        self._first = True

    @property
    def unswept(self) -> bool:
        """Whether intents may be left that nobody has looked for."""
        return self._first or self._place in claims.left_behind

    @unswept.setter
    def unswept(self, value: bool) -> None:
        self._first = value
        if value:
            claims.left_behind.add(self._place)
        else:
            claims.left_behind.discard(self._place)

    def clear(
        self, claim: Claim, intents: Sequence[Intent], live: Mapping[str, Manifest]
    ) -> Flow[None]:
        """Delete what intents name and manifests do not, then the intents.

        Variations go before their chunks, so that no variation ever stands for nothing.

        Args:
            claim: On their documents.
            intents: Of changes that are over.
            live: The manifests of their documents, by document id.

        Raises:
            ConcurrentWriteError: The claim was lost.
        """
        gone = [dead(intent.entries, live.get(intent.document_id)) for intent in intents]
        variations = [id_ for d in gone for id_ in d.variations]
        if variations:
            # What looks dead may be what somebody else has begun to write.
            yield from claim.confirm()
        yield from self._stores.delete_variations(variations)
        yield from self._records.delete_chunks(claim, [key for d in gone for key in d.chunks])
        yield from self._records.delete_intents(claim, [i.document_id for i in intents])

    def take_back(
        self, claim: Claim, intents: Sequence[Intent], error: Exception
    ) -> Flow[None]:
        """Sweep after a failure, so that nothing half-written stays if that can be helped.

        Args:
            claim: On the documents of the change.
            intents: Of the change that failed.
            error: The failure; it is told where the sweep fails too.
        """
        self.unswept = True
        try:
            yield from self._sweep(claim, intents)
        except Exception as second:  # noqa: BLE001 - the first error is the one to report
            error.add_note(
                f"Taking back what was half-written failed too ({type(second).__name__}: "
                f"{second}); the next add or delete will do it."
            )

    def settled(self, claim: Claim, document_ids: Sequence[str]) -> Flow[dict[str, Manifest]]:
        """Read the manifests of claimed documents, after sweeping what is left of them.

        Args:
            claim: On the documents.
            document_ids: The documents.

        Returns:
            The manifests of those that are stored, by document id.

        Raises:
            ConcurrentWriteError: A call on another instance is writing one of them.
        """
        manifests, intents = yield from self._records.manifests_and_intents(document_ids)
        left = [intent.read() for intent in intents.values()]
        for intent in left:
            # It has claimed the document under another docstore object on the same data.
            if claims.is_writing(intent.writer):
                raise ConcurrentWriteError.about(intent.document_id)
        if left:
            self.unswept = True
            yield from self._sweep(claim, left)
            return (yield from self.settled(claim, document_ids))
        return {id_: manifest.read() for id_, manifest in manifests.items()}

    def sweep_leftovers(self) -> Flow[None]:
        """Sweep after crashed processes and failed calls, if any may be left."""
        if not self.unswept:
            return
        self.unswept = False
        try:
            for key in (yield from self._records.intent_keys()):
                try:
                    yield from self._sweep_leftover(key)
                except CorruptStoreError as error:
                    # It stops writes of its own document, not those of all others.
                    logger.error(  # noqa: TRY400 - the message says it all
                        "An unfinished write was left as it is: %s", error
                    )
                    self.unswept = True
        except BaseException:
            self.unswept = True
            raise

    def _sweep_leftover(self, key: str) -> Flow[None]:
        def sweep(claim: Claim) -> Flow[None]:
            # Read again, now that nobody else can be writing the document.
            left = yield from self._records.intents_at([key])
            for intent in left:
                logger.warning(
                    "Sweeping an unfinished write of document %r.", intent.document_id
                )
            yield from self._sweep(claim, left)

        for intent in (yield from self._records.intents_at([key])):
            if claims.is_writing(intent.writer):
                continue
            document = {self._records.keys.manifest(intent.document_id): intent.document_id}
            try:
                yield from claims.holding(self._stores.docstore, document, sweep)
            except ConcurrentWriteError:
                logger.debug("Document %r is being written.", intent.document_id)

    def _sweep(self, claim: Claim, intents: Sequence[Intent]) -> Flow[None]:
        live = yield from self._records.manifests([intent.document_id for intent in intents])
        found = [recovered(intent, live.get(intent.document_id)) for intent in intents]
        yield from self._records.write_manifests(claim, [m for m in found if m is not None])
        yield from self.clear(claim, intents, live)
