"""Mutants of a source file: small changes that its tests should notice."""

from __future__ import annotations

import ast
import copy
import difflib
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
ONLY_FOR_TYPES = {"annotation", "returns", "decorator_list", "bases"}
Node = ast.expr | ast.stmt


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one node replaced.

    Attributes:
        path: The file.
        line: Where the node begins.
        diff: What changed.
        text: The whole file after it.
        lines: The node's lines, and then those of its function, for a node that has none of
            its own in a trace. Empty for what runs only when the file is imported.
    """

    path: str
    line: int
    diff: str
    text: str
    lines: tuple[range, ...]


def sample(paths: Sequence[str], seed: int, count: int) -> list[Mutant]:
    """Choose among all mutants of the files; each is as likely as any other."""
    everything = [mutant for path in paths for mutant in mutants(path, Path(path).read_text())]
    some = random.Random(seed).sample(everything, min(count, len(everything)))
    return sorted(some, key=lambda mutant: (mutant.path, mutant.line))


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Make all mutants of a file; no two of them mean the same.

    Example:
        >>> for mutant in mutants("a.py", "def f(x):\\n    return x > 0\\n"):
        ...     print(mutant.text.splitlines()[1])
            return None
            return (x >= 0)
            return x > 1
            return x > (-1)
    """
    seen = {ast.dump(ast.parse(source))}
    for node, around in _nodes(ast.parse(source), ()):
        for new in _variants(node, around[-1]):
            text = _replaced(source, node, new)
            try:
                tree = ast.dump(ast.parse(text))
            except SyntaxError:
                continue
            if tree not in seen:
                seen.add(tree)
                yield Mutant(path, node.lineno, _diff(source, text), text, _lines(node, around))


def _nodes(
    node: ast.AST, around: tuple[ast.AST, ...]
) -> Iterator[tuple[Node, tuple[ast.AST, ...]]]:
    """Yield what runs, each with the nodes around it: no docstrings, and nothing for types."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Call(func=ast.Name(id="cast" | "TypeVar")):
            return
        case ast.expr() | ast.stmt():
            yield node, around
    if isinstance(node, ast.JoinedStr):  # Before Python 3.12 its parts have no columns.
        return
    for name, value in ast.iter_fields(node):
        if name not in ONLY_FOR_TYPES:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child, (*around, node))


def _variants(node: Node, parent: ast.AST) -> Iterator[str]:
    """Yield what may stand in a node's place."""
    match parent:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if test is node:
            yield f"(not ({ast.unparse(node)}))"
        case ast.comprehension(ifs=ifs) if node in ifs:
            yield from ("True", f"(not ({ast.unparse(node)}))")
        case ast.Slice():
            yield ""
        case _:
            pass
    match node:
        case ast.Compare(ops=ops):
            for n, op in enumerate(ops):
                yield _with(node, "ops", [*ops[:n], OPPOSITES[type(op)](), *ops[n + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield _with(node, "op", OPPOSITES[type(op)]())
            for n in range(len(values)):
                yield _with(node, "values", [*values[:n], *values[n + 1 :]])
        case ast.BinOp(op=op) if type(op) in OPPOSITES:
            yield _with(node, "op", OPPOSITES[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield from (str(value + 1), f"({value - 1})")
        case ast.Constant(value=str(value)):
            yield repr(f"{value}~")
        case ast.JoinedStr():
            yield f"({ast.unparse(node)} '~')"
        case ast.Call(func=func, args=args, keywords=keywords):
            name = NAMES.get(ast.unparse(func))
            if name:
                yield _with(node, "func", ast.Name(name))
            for n in range(0 if name else len(args) - 1):
                yield _with(node, "args", [*args[:n], args[n + 1], args[n], *args[n + 2 :]])
            for n in range(len(keywords)):
                yield _with(node, "keywords", [*keywords[:n], *keywords[n + 1 :]])
            if len(args) == 1 and not keywords:
                yield f"({ast.unparse(args[0])})"
        case ast.Return(value=ast.expr()):
            yield "return None"
        case ast.Raise() | ast.AugAssign() | ast.Expr():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"
        case _:
            pass


def _with(node: ast.expr, field: str, value: object) -> str:
    other = copy.copy(node)
    setattr(other, field, value)
    return f"({ast.unparse(other)})"


def _replaced(source: str, node: Node, new: str) -> str:
    rows = source.encode().splitlines(keepends=True)  # The columns of a node count bytes.
    first, last = node.lineno - 1, (node.end_lineno or 0) - 1
    before = b"".join(rows[:first]) + rows[first][: node.col_offset]
    after = rows[last][node.end_col_offset :] + b"".join(rows[last + 1 :])
    return (before + new.encode() + after).decode()


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return "\n".join(list(lines)[2:])


def _lines(node: Node, around: tuple[ast.AST, ...]) -> tuple[range, ...]:
    functions = [outer for outer in around if isinstance(outer, ast.FunctionDef | ast.Lambda)]
    nodes = [node, *functions[-1:]] if functions else []
    return tuple(range(each.lineno, (each.end_lineno or 0) + 1) for each in nodes)
