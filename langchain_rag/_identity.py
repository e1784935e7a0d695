"""What stands for a value in a hash, in every process, and the hash."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from langchain_core.language_models import BaseLanguageModel
from langchain_core.load import dumpd
from langchain_core.runnables import RunnableBinding

if TYPE_CHECKING:
    from langchain_core.prompts import BasePromptTemplate

    _Named: TypeAlias = FunctionType | BuiltinFunctionType | type[Any]

__all__ = [
    "NoIdentityError",
    "class_of",
    "declared_name",
    "digest",
    "identity",
    "identity_of_model",
    "identity_of_prompt",
    "public_parameters",
]


T = TypeVar("T", bound="Callable[..., Any]")

_DECLARED: Final = "_declared_name"


class NoIdentityError(Exception):
    """A part of a transformer has no dependable identity."""


def declared_name(name: str) -> Callable[[T], T]:
    """Declare the name by which hashes know a class or function of this package.

    It stays the same when the class is renamed or moved to another module: otherwise each
    document that was stored would have to be imported, and each answer be paid for, again.

    Args:
        name: The name. It has no dot, so it never equals a module and a qualified name.

    Returns:
        A decorator.
    """

    def declare(named: T) -> T:
        setattr(named, _DECLARED, name)
        return named

    return declare


def class_of(thing: object) -> str:
    """Return the name by which hashes know a thing's class.

    Args:
        thing: Any object.

    Returns:
        The name that the class itself declares; otherwise its module and qualified name.
    """
    return _known_as(type(thing))


def _known_as(named: _Named) -> str:
    # Not inherited: a subclass may do anything.
    own: dict[str, Any] = getattr(named, "__dict__", {})
    return own.get(_DECLARED) or f"{named.__module__}.{named.__qualname__}"


def identity(value: Any) -> Any:
    """Return JSON that is equal exactly for values that mean the same.

    Args:
        value: A parameter.

    Returns:
        What stands for it in a hash.

    Raises:
        NoIdentityError: Nothing dependable does.
    """
    if value is None or type(value) in {str, int, bool}:
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, Enum):
        return {"enum": f"{class_of(value)}.{value.name}"}
    if isinstance(value, FunctionType | BuiltinFunctionType | type):
        return {"name": _name_of(cast("_Named", value))}
    return _identity_of_container(value)


def _identity_of_container(value: Any) -> Any:
    if type(value) in {list, tuple}:
        return [identity(item) for item in cast("list[Any]", value)]
    if type(value) in {set, frozenset}:
        items = [identity(item) for item in cast("set[Any]", value)]
        return {"set": sorted(json.dumps(item, sort_keys=True) for item in items)}
    if type(value) is dict:
        pairs = cast("dict[Any, Any]", cast("object", value))
        if all(type(key) is str for key in pairs):
            return {"dict": {key: identity(item) for key, item in pairs.items()}}
    raise NoIdentityError


def _name_of(thing: _Named) -> str:
    """Return the name of a function or class that its module leads back to."""
    module, name = thing.__module__, thing.__qualname__
    # `__main__` is another module in each process, and a name that leads elsewhere
    # (a lambda, a function in a function, one that was replaced) identifies nothing.
    if module == "__main__":
        raise NoIdentityError
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing:
        raise NoIdentityError
    return _known_as(thing)


def public_parameters(thing: object) -> dict[str, Any]:
    """Return those public attributes of an object that have an identity.

    Args:
        thing: Any object.

    Returns:
        Their identities, by name.
    """
    found: dict[str, Any] = {}
    for name, value in vars(thing).items():
        if name.startswith("_"):
            continue
        try:
            found[name] = identity(value)
        except NoIdentityError:
            continue
    return found


def identity_of_prompt(prompt: BasePromptTemplate[Any]) -> Any:
    """Return what stands for a prompt in a hash.

    Args:
        prompt: Any prompt template.

    Returns:
        Its serialised form.

    Raises:
        NoIdentityError: Part of it cannot be serialised (a function as a variable).
    """
    form = dumpd(prompt)
    if '"type": "not_implemented"' in json.dumps(form):
        raise NoIdentityError
    return identity(form)


def identity_of_model(model: Any) -> Any:
    """Return what stands for a model in a hash.

    Args:
        model: A language model, perhaps with arguments bound.

    Returns:
        Its class and the parameters that it names as identifying.

    Raises:
        NoIdentityError: It names none, or some that cannot be written as JSON.
    """
    if isinstance(model, RunnableBinding):
        binding = cast("RunnableBinding[Any, Any]", cast("object", model))
        return {
            "bound": identity_of_model(binding.bound),
            "arguments": identity(dict(binding.kwargs)),
        }
    if not isinstance(model, BaseLanguageModel):
        raise NoIdentityError
    # LangChain has no public name for it.
    parameters = dict(model._identifying_params)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    if not parameters:
        raise NoIdentityError
    return {"class": class_of(cast("object", model)), "parameters": identity(parameters)}


def digest(parts: Mapping[str, Any]) -> str:
    """Return the hash of JSON-safe parts.

    Args:
        parts: What `identity` returned, by name.

    Returns:
        64 hex digits.
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
