"""What stands for a value in a hash, in every process."""

from __future__ import annotations

import json
import sys
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.language_models import BaseLanguageModel
from langchain_core.load import dumpd
from langchain_core.runnables import RunnableBinding

if TYPE_CHECKING:
    from langchain_core.prompts import BasePromptTemplate

    _Named: TypeAlias = FunctionType | BuiltinFunctionType | type[Any]

__all__ = [
    "NoIdentityError",
    "class_of",
    "identity",
    "identity_of_model",
    "identity_of_prompt",
    "public_parameters",
]


class NoIdentityError(Exception):
    """A part of a transformer has no dependable identity."""


def class_of(thing: object) -> str:
    """Return the dotted name of a thing's class.

    Args:
        thing: Any object.

    Returns:
        Module and qualified name.
    """
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


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
    """Return the dotted name that leads back to a function or class."""
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
    return f"{module}.{name}"


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
