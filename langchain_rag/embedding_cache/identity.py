"""What tells the vectors of one embedding model from those of another, in every process.

A vector that another model made is worse than none: the search would still answer, and be
wrong. So everything that embeddings are given counts, unless it is known not to matter:

- secrets, which are nobody's business, and so are not even hashed;
- how the model is reached (clients, timeouts, retries, proxies, headers, devices);
- how it is asked (the number of texts a call, a progress bar).

Something that counts and cannot be compared (a function, an object) leaves no identity, and
so does everything where nothing names the model. Nothing is known of the code of classes
outside of LangChain's packages: such a class answers for itself, with a `fingerprint`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, SecretBytes, SecretStr

from langchain_rag._identity import NoIdentityError, class_of, digest, identity
from langchain_rag.caches.figures import one_line

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

__all__ = ["identity_of_embeddings"]

_NAMES: Final = (
    "model",
    "model_name",
    "model_id",
    "deployment",
    "deployment_name",
    "azure_deployment",
    "repo_id",
    "endpoint_name",
    "model_path",
)
"""Parameters that name a model, the most telling first."""

_KNOWN: Final = {"langchain_core.embeddings.fake.DeterministicFakeEmbedding"}
"""Classes that are their model."""

_LANGCHAIN: Final = re.compile(r"langchain_\w+|\w+_langchain")
"""Top-level packages of LangChain and its partners."""

_SECRET: Final = re.compile(
    r"(^|_)(api_?key|keys?|token(?=_provider|$)|secret|password|passwd|credentials?|auth"
    r"|authorization|bearer|cert|certificate)(_|$)",
    re.IGNORECASE,
)
_NO_MATTER: Final = re.compile(
    r"(^|_)(clients?|timeout|retry|retries|proxy|proxies|headers|query|progress|bar|verbose"
    r"|cache|callbacks|tags|metadata|limiter|concurrency|concurrent|workers?|threads?"
    r"|num_thread|parallel|multi_process|device|devices|gpu|keep_alive|organization)(_|$)"
    r"|^(max_)?(seconds|wait_time)$|^(\w+_)?(chunk|batch)_size$",
    re.IGNORECASE,
)


def identity_of_embeddings(embeddings: Embeddings) -> str | None:
    """Return what identifies the vectors that embeddings make, or None.

    Embeddings answer for themselves with a `fingerprint` attribute. Those of LangChain's
    packages are identified by their class and their parameters: names of the model, number of
    dimensions, address, arguments for encoding.

    Args:
        embeddings: Any LangChain embeddings.

    Returns:
        A line of text that is the same in every process, or None if nothing dependable says
        which vectors they make.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding, FakeEmbeddings
        >>> identity_of_embeddings(DeterministicFakeEmbedding(size=8))[:31]
        'DeterministicFakeEmbedding size'
        >>> identity_of_embeddings(FakeEmbeddings(size=8)) is None  # which are random
        True
    """
    own: object = getattr(embeddings, "fingerprint", None)
    if isinstance(own, str) and own:
        return own
    kind = type(embeddings)
    if not _LANGCHAIN.fullmatch(kind.__module__.split(".")[0]) or "<" in kind.__qualname__:
        return None
    try:
        parameters = dict(_parameters(embeddings))
    except NoIdentityError:
        return None
    name = _name(parameters)
    if name is None and class_of(embeddings) in _KNOWN:
        name = ", ".join(f"{key} {value}" for key, value in sorted(parameters.items()))
    if name is None:
        return None
    of = digest({"class": class_of(embeddings), "parameters": parameters})
    return f"{kind.__name__} {one_line(name)} {of[:32]}"


def _parameters(embeddings: object) -> Iterator[tuple[str, Any]]:
    """Yield what counts, as JSON; fail where something that counts is none."""
    if isinstance(embeddings, BaseModel):
        fields = type(embeddings).model_fields
        values = {name: getattr(embeddings, name) for name in fields}
        values |= embeddings.model_extra or {}
        # A client that is made of the other fields; private attributes are as well.
        derived = {name for name, field in fields.items() if field.exclude}
    else:
        values = dict(vars(embeddings))
        derived = {name for name in values if name.startswith("_")}
    for name, value in values.items():
        if not _counts(name, value):
            continue
        try:
            yield name, identity(_cleaned(value))
        except NoIdentityError:
            if name not in derived:
                raise


def _counts(name: str, value: object) -> bool:
    # None is what was not given, and what a later version of a package has no use for either.
    if value is None or isinstance(value, SecretStr | SecretBytes):
        return False
    return not _SECRET.search(name) and not _NO_MATTER.search(name)


def _cleaned(value: Any) -> Any:
    """Leave secrets, and what does not matter, out of a value."""
    if type(value) is str and "://" in value:
        return _without_secrets(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", cast("object", value)).items()
        return {k: _cleaned(v) for k, v in pairs if _counts(str(k), v)}
    if type(value) in {list, tuple}:
        items = cast("list[Any]", value)
        return [_cleaned(item) for item in items if _counts("", item)]
    return value


def _without_secrets(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise NoIdentityError from error
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _name(parameters: Mapping[str, Any]) -> str | None:
    names = [parameters[key] for key in _NAMES if key in parameters]
    names = [name for name in names if isinstance(name, str) and name.strip()]
    # Weights in a folder may be others tomorrow, under the same name.
    return None if not names or any(map(_is_path, names)) else names[0]


def _is_path(name: str) -> bool:
    try:
        return ("/" in name or "\\" in name) and Path(name).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False
