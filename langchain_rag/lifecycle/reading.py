"""Records, read where they stand.

A record may be well formed and yet not be ours: damaged, copied from another place, put there
by somebody. Keys are hashes of what the records say, so each is asked whether it is the one
that belongs there.
"""

from __future__ import annotations

from langchain_rag.lifecycle import records
from langchain_rag.lifecycle.identity import StorageKeys, chunk_key
from langchain_rag.lifecycle.manifest import Intent, Manifest
from langchain_rag.lifecycle.records import ChunkRecord


class Reader:
    """Reads the records of one namespace, and believes none.

    Args:
        keys: Of the namespace.
    """

    def __init__(self, keys: StorageKeys) -> None:
        self._keys = keys

    def manifest(self, key: str, value: object) -> Manifest:
        """Read a manifest.

        Args:
            key: Where it stands.
            value: What the docstore returned.

        Returns:
            The manifest.

        Raises:
            CorruptStoreError: It is no manifest, or one of another document.
        """
        manifest = records.read_manifest(key, value)
        if key != self._keys.manifest(manifest.document_id):
            raise records.corrupt(key, "a manifest", _names(manifest.document_id))
        return manifest

    def intent(self, key: str, value: object) -> Intent:
        """Read an intent; see `manifest`."""
        intent = records.read_intent(key, value)
        if key != self._keys.intent(intent.document_id):
            raise records.corrupt(key, "an intent", _names(intent.document_id))
        return intent

    def chunk(self, key: str, value: object) -> ChunkRecord:
        """Read a chunk.

        Args:
            key: Where it stands.
            value: What the docstore returned.

        Returns:
            The chunk.

        Raises:
            CorruptStoreError: It is no chunk, or one of another key, namespace or text.
        """
        chunk = records.read_chunk(key, value)
        true_key = chunk_key(
            self._keys.namespace, chunk.document_id, chunk.content, chunk.ordinal
        )
        if chunk.key != true_key or key != self._keys.chunk(true_key):
            problem = (
                f"it says that it is chunk {chunk.key!r} of document {chunk.document_id!r}, "
                "which its namespace and its text do not confirm"
            )
            raise records.corrupt(key, "a chunk", problem)
        return chunk


def _names(document_id: str) -> str:
    return f"it names document {document_id!r}, which belongs elsewhere"
