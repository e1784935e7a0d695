"""Ids that documents keep when they change, and which documents are given twice; no I/O."""

from __future__ import annotations

from collections import Counter

from langchain_rag.errors import DuplicateIdError
from langchain_rag.lifecycle import identity


class DuplicateDocument(Exception):  # noqa: N818 - no error: it says that there is nothing to do
    """A document says the same as one before it of the same source."""


class Naming:
    """Names the documents of one run, in the order in which they come.

    A document without an id of its own is named by its source and its place among those of
    the source. So it keeps its name when its text changes, and can be compared chunk by chunk
    with what is stored. Where the store knows no sources, its name says all that it says.

    Attributes:
        sources: How many places of each source have been given so far.
        ids: All ids so far.
    """

    def __init__(self) -> None:
        self.sources: Counter[str] = Counter()
        self.ids: set[str] = set()
        self._own: dict[str, tuple[str, str]] = {}
        # Half of a hash each: enough that two never meet, and half the memory.
        self._said: set[bytes] = set()

    def place(self, source_id: str | None, content_hash: str, metadata_hash: str) -> str | None:
        """Name a document that has no id.

        Args:
            source_id: Its source, None where the store knows no sources.
            content_hash: Hash of its text.
            metadata_hash: Hash of its metadata.

        Returns:
            Its id; None for one that is derived from all that it says.

        Raises:
            DuplicateDocument: It says the same as one before.
        """
        said = identity.digest(source_id or "", content_hash, metadata_hash)
        half = bytes.fromhex(said[:32])
        if half in self._said:
            raise DuplicateDocument
        self._said.add(half)
        return None if source_id is None else self.skip(source_id)

    def skip(self, source_id: str) -> str:
        """Name the next document of a source.

        Args:
            source_id: The source.
        """
        while True:
            position = self.sources[source_id]
            self.sources[source_id] += 1
            id_ = identity.positional_id(source_id, position)
            # A document that came out of a search has such an id as its own.
            if id_ not in self.ids:
                self.ids.add(id_)
                return id_

    def meet(self, source_id: str | None) -> None:
        """Note a source of a document that has an id.

        Args:
            source_id: The source.
        """
        if source_id is not None:
            self.sources[source_id] += 0

    def own(self, document_id: str, content_hash: str, metadata_hash: str) -> None:
        """Check the id that a document brings.

        Args:
            document_id: Its id.
            content_hash: Hash of its text.
            metadata_hash: Hash of its metadata.

        Raises:
            DuplicateDocument: It is given again, the same.
            DuplicateIdError: Another document has the id.
        """
        said = (content_hash[:32], metadata_hash[:32])
        if document_id not in self.ids:
            self.ids.add(document_id)
            self._own[document_id] = said
            return
        if self._own.get(document_id) == said:
            raise DuplicateDocument
        message = (
            f"Two documents have the id {document_id!r}, and one would overwrite the other. "
            "Give each an id of its own, or none."
        )
        raise DuplicateIdError(message)
