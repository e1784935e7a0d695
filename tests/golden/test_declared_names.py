"""No hash depends on where a class of this package is defined."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import wraps
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentTransformer
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseLanguageModel
from langchain_core.prompts import BasePromptTemplate

import langchain_rag
from langchain_rag._identity import NoIdentityError, class_of, identity
from langchain_rag.document_transformers import SentenceSplitter, fingerprint_of
from langchain_rag.document_transformers.llm.calls import context_of
from langchain_rag.document_transformers.trees.summaries import Summaries
from tests.golden.test_fingerprints import TRANSFORMERS

HASHED = (BaseDocumentTransformer, BaseLanguageModel, BasePromptTemplate, Embeddings, Enum)

NEVER_HASHED = {
    # Bases, which nobody makes.
    "WindowTransformer",
    "_Composed",
    # They answer with the fingerprint of what they hold.
    "ForeignMember",
    "_Over",
    "CachedEmbeddings",
    # They have none.
    "CountingEmbeddings",
    "_Unknown",
    "LongContextReorder",
    "Asked",
    "ScriptedTransformer",
    # No transformer takes it.
    "FindingKind",
}

Named = type[Any] | FunctionType


def defined() -> Iterator[Named]:
    """Go through the classes and functions that this package defines."""
    for found in pkgutil.walk_packages(langchain_rag.__path__, "langchain_rag."):
        if not found.name.endswith("__main__"):
            for value in vars(import_module(found.name)).values():
                if isinstance(value, type | FunctionType) and value.__module__ == found.name:
                    yield value


DEFINED = list(defined())
DECLARED = [one for one in DEFINED if "_declared_name" in vars(one)]
CLASSES = [one for one in DECLARED if isinstance(one, type)]


def can_be_hashed(one: Named) -> bool:
    return (
        isinstance(one, type)
        and (issubclass(one, HASHED) or isinstance(getattr(one, "fingerprint", None), property))
        and not inspect.isabstract(one)
        and not getattr(one, "_is_protocol", False)
    )


def defaults_of(kind: type[Any]) -> Iterator[FunctionType]:
    for parameter in inspect.signature(kind.__init__).parameters.values():
        if isinstance(parameter.default, FunctionType):
            yield parameter.default


def test_every_shipped_class_that_can_be_hashed_has_a_declared_name() -> None:
    missing = {
        one.__qualname__ for one in DEFINED if can_be_hashed(one) and one not in DECLARED
    }
    assert missing == NEVER_HASHED, (
        "Give a class whose name may enter a hash a @declared_name(...): without one, what "
        "users have stored is lost as soon as the class is moved to another module."
    )


def test_so_has_every_function_that_is_a_default() -> None:
    functions = {function for kind in CLASSES for function in defaults_of(kind)}
    assert functions
    assert [one for one in functions if one not in DECLARED] == []
    assert context_of in DECLARED


def test_the_fingerprint_of_every_transformer_is_pinned() -> None:
    shipped = {kind for kind in CLASSES if issubclass(kind, BaseDocumentTransformer)}
    # Which is part of others.
    assert shipped - {type(one) for one, _ in TRANSFORMERS.values()} == {Summaries}


def test_no_two_have_the_same_name() -> None:
    names = [vars(one)["_declared_name"] for one in DECLARED]
    assert len(set(names)) == len(names)
    # A dot would allow a name to equal a module and a qualified name.
    assert [name for name in names if not name.isidentifier()] == []


def test_a_fingerprint_stays_when_everything_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: fingerprint_of(one) for name, (one, _) in TRANSFORMERS.items()}
    elsewhere: Any = ModuleType("langchain_rag.elsewhere")
    monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)
    for one in DECLARED:
        monkeypatch.setattr(one, "__module__", elsewhere.__name__)
        setattr(elsewhere, one.__qualname__, one)
    assert {name: fingerprint_of(one) for name, (one, _) in TRANSFORMERS.items()} == before


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_subclass_of_a_user_does_not_inherit_the_name(kind: type[Any]) -> None:
    mine: Any = type("Mine", (kind,), {"__module__": "users", "__qualname__": "Mine"})
    assert class_of(mine.__new__(mine)) == "users.Mine"


def test_so_its_fingerprint_is_its_own() -> None:
    class Mine(SentenceSplitter):
        pass

    assert Mine().fingerprint is None
    assert Mine(version="1").fingerprint != SentenceSplitter(version="1").fingerprint


def test_a_function_that_wraps_one_of_ours_has_no_identity() -> None:
    # `wraps` copies the declared name as well.
    @wraps(context_of)
    def mine(document: Any) -> Any:
        return {"context": document.page_content.upper()}

    copied: Callable[..., Any] = mine
    assert identity(context_of) == {"name": "context_of"}
    with pytest.raises(NoIdentityError):
        identity(copied)
