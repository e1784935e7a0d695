"""Imports go downward only, and no files import each other in a circle."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

PACKAGE = "langchain_rag"
TRANSFORMERS = f"{PACKAGE}.document_transformers"
ROOT = Path(__file__).parents[1]

ORDER = [
    "_lazy _reserved _documents _identity _flow errors",
    "backends caches",
    "embedding_cache structured_query",
    "document_transformers",
    "lifecycle",
    "audit indexing lexical search",
    "retrievers storage",
    "vectorstores",
    # The package itself, whose names are loaded when they are first used.
    PACKAGE,
    "local testing",
    "cli",
]
"""The rooms, from the bottom up. Each imports from lines above its own only."""

UPWARD = {
    # An error carries the report of the call that it ends.
    ("langchain_rag.errors", "langchain_rag.lifecycle.index_report"): "types",
}
"""Imports that go upward all the same, and when they happen."""

CIRCLES = {
    # `+` and `|` of the base make compositions, which are transformers themselves.
    (
        "langchain_rag.document_transformers.base",
        "langchain_rag.document_transformers.composition",
    ),
}
"""Imports that close a circle; each is made within a function."""

When = Literal["module", "call", "types"]


class Import(NamedTuple):
    by: str
    of: str
    when: When


class _Imports(ast.NodeVisitor):
    """Finds what a module imports of the package, and when."""

    def __init__(self, module: str, modules: set[str]) -> None:
        self.found: set[Import] = set()
        self._module, self._modules = module, modules
        self._when: When = "module"

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self._note(name.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, f"{self._module} has a relative import"
        for name in node.names:
            inner = f"{node.module}.{name.name}"
            self._note(inner if inner in self._modules else node.module or "")

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            self._within(node, "types")
        else:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._within(node, "call")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._within(node, "call")

    def _within(self, node: ast.AST, when: When) -> None:
        before, self._when = self._when, when
        self.generic_visit(node)
        self._when = before

    def _note(self, of: str) -> None:
        if of in self._modules:
            self.found.add(Import(self._module, of, self._when))


@cache
def imports() -> frozenset[Import]:
    files = {name_of(path): path for path in (ROOT / PACKAGE).rglob("*.py")}
    found: set[Import] = set()
    for module, path in files.items():
        visitor = _Imports(module, set(files))
        visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
        found |= visitor.found
    return frozenset(found)


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def test_every_room_has_its_level() -> None:
    rooms = {room_of(name_of(path)) for path in (ROOT / PACKAGE).rglob("*.py")}
    placed = [room for line in ORDER for room in line.split()]
    assert sorted(placed) == sorted(rooms)


def test_no_import_goes_upward() -> None:
    levels = {room: level for level, line in enumerate(ORDER) for room in line.split()}
    upward = {
        (one.by, one.of): one.when
        for one in imports()
        if room_of(one.by) != room_of(one.of)
        and levels[room_of(one.of)] >= levels[room_of(one.by)]
    }
    assert upward == UPWARD


@pytest.mark.parametrize("when", [{"module"}, {"module", "call", "types"}], ids=["run", "all"])
def test_no_files_import_each_other_in_a_circle(when: set[When]) -> None:
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for by, of, at in imports():
        is_known = (by, of) in UPWARD or (by, of) in CIRCLES
        if at in when and by != of and not (is_known and at != "module"):
            graph[by].add(of)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_known_exception_is_gone() -> None:
    assert {(one.by, one.of) for one in imports() if one.when == "call"} >= CIRCLES


def test_only_a_room_itself_imports_its_underscored_files() -> None:
    strangers = {
        (one.by, one.of)
        for one in imports()
        if one.of.count(".") > 1
        and one.of.rsplit(".", 1)[1].startswith("_")
        and room_of(one.by) != room_of(one.of)
    }
    assert strangers == set()
