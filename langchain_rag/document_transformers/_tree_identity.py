"""Identity of a transformer that makes summaries above chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_rag._identity import NoIdentityError, class_of, digest, identity
from langchain_rag.document_transformers.fingerprint import is_ours

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_rag.document_transformers._summaries import Summaries
    from langchain_rag.document_transformers.base import LazyDocumentTransformer

__all__ = ["tree_fingerprint"]


def tree_fingerprint(
    transformer: LazyDocumentTransformer,
    leaves: str | None,
    summaries: Summaries,
    parameters: Mapping[str, Any],
) -> str | None:
    """Return the fingerprint of a transformer that makes summaries above chunks.

    Args:
        transformer: The transformer.
        leaves: Identity of what makes the chunks.
        summaries: What makes the summaries.
        parameters: What the results depend on besides; None for what has no identity, and is
            vouched for by the transformer's `version`.

    Returns:
        A hex digest, or None where something has no identity and is not vouched for.
    """
    answers, version = summaries.fingerprint, transformer.version
    vouched = version is not None
    try:
        length = identity(summaries.length)
    except NoIdentityError:
        length = None
    unknown = length is None or None in parameters.values() or not is_ours(transformer)
    if leaves is None or answers is None or (unknown and not vouched):
        return None
    return digest(
        {
            "class": class_of(transformer),
            "leaves": leaves,
            "summaries": answers,
            "max_length": summaries.max_length,
            "length": length,
            "parameters": dict(parameters),
            "version": version,
        }
    )
