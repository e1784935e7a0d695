"""What a transformer says of itself: what identifies its results, and what it reads.

Two transformers with the same fingerprint give results that may stand for each other. Where
a part has no dependable identity (a lambda, a client object, a model that does not say what
it is), there is no fingerprint: a guess from `repr` or an address would be wrong in one of
two ways, and the worse one returns the answers of another prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_rag._identity import NoIdentityError, class_of, digest, identity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_core.documents import BaseDocumentTransformer


__all__ = ["fingerprint_of", "reads_metadata"]

_TRUSTED = "langchain_text_splitters"


def fingerprint_of(transformer: BaseDocumentTransformer) -> str | None:
    """Return what identifies the results of any transformer, or None.

    A transformer answers for itself with a `fingerprint` attribute. LangChain's text
    splitters are identified by their class and their parameters. Nothing is known of the
    code of any other class.

    Args:
        transformer: Any `BaseDocumentTransformer`.

    Returns:
        A hex digest that is the same in every process, or None.

    Example:
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> small, small_too, large = (
        ...     fingerprint_of(CharacterTextSplitter(chunk_size=size, chunk_overlap=0))
        ...     for size in (500, 500, 600)
        ... )
        >>> small == small_too, small == large
        (True, False)
        >>> fingerprint_of(CharacterTextSplitter(length_function=lambda text: 1)) is None
        True
    """
    own: object = getattr(transformer, "fingerprint", None)
    if isinstance(own, str):
        return own
    if type(transformer).__module__.split(".")[0] != _TRUSTED:
        return None
    try:
        return digest(
            {"class": class_of(transformer), "parameters": identity(vars(transformer))}
        )
    except NoIdentityError:
        return None


def digest_of_members(
    composed: BaseDocumentTransformer, members: Iterable[BaseDocumentTransformer]
) -> str | None:
    """Return the fingerprint of a transformer that consists of others.

    Args:
        composed: The transformer.
        members: Its members, in order.

    Returns:
        A hex digest, or None if a member has none.
    """
    fingerprints = [fingerprint_of(member) for member in members]
    version = getattr(composed, "version", None)
    if None in fingerprints or (version is None and not is_ours(composed)):
        return None
    return digest({"class": class_of(composed), "members": fingerprints, "version": version})


def is_ours(transformer: object) -> bool:
    """Tell whether this package defines a transformer's class.

    A user's subclass may do anything, so it needs a `version` to have a fingerprint.

    Args:
        transformer: Any object.

    Returns:
        Whether its class is in `langchain_rag`.
    """
    return type(transformer).__module__.split(".")[0] == "langchain_rag"


def reads_metadata(transformer: BaseDocumentTransformer) -> bool:
    """Tell whether other metadata may make other texts.

    A transformer answers for itself with a `reads_metadata` attribute. LangChain's text
    splitters read the text only. Any other class may do anything.

    Args:
        transformer: Any `BaseDocumentTransformer`.

    Returns:
        False where the texts it makes depend on nothing but the text it is given.

    Example:
        >>> from langchain_text_splitters import CharacterTextSplitter
        >>> reads_metadata(CharacterTextSplitter())
        False
    """
    own: object = getattr(transformer, "reads_metadata", None)
    if isinstance(own, bool):
        return own
    return type(transformer).__module__.split(".")[0] != "langchain_text_splitters"
