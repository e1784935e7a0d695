"""The tree of exceptions, and its drawing."""

from __future__ import annotations

import re

from langchain_core.exceptions import LangChainException

from langchain_rag import errors


def drawn() -> dict[str, str | None]:
    """Read the tree in the docstring: each name, and what it stands under."""
    tree = (errors.__doc__ or "").split("```")[1]
    found: dict[str, str | None] = {}
    path: list[str] = []
    for line in tree.splitlines()[1:]:
        match = re.match(r"([│├└─ ]*)(\w+)", line)
        if match is None:
            continue
        depth = len(match.group(1)) // 4
        found[match.group(2)] = path[depth - 1] if depth else None
        path[depth:] = [match.group(2)]
    return found


def test_the_drawing_is_the_tree() -> None:
    tree = drawn()
    assert sorted(tree) == sorted(errors.__all__)
    for name, parent in tree.items():
        bases = [base.__name__ for base in getattr(errors, name).__bases__]
        assert bases[0] == (parent or "LangChainException")


def test_everything_is_an_error_of_ours_and_of_langchain() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.RAGError)
    assert issubclass(errors.RAGError, LangChainException)


def test_what_the_caller_got_wrong_is_a_value_error() -> None:
    for kind in (errors.ConfigurationError, errors.InvalidDocumentError):
        assert issubclass(kind, ValueError)
        assert "also ValueError" in (errors.__doc__ or "")
    assert not issubclass(errors.StoreError, ValueError)
    assert not issubclass(errors.TransformerError, ValueError)
