"""The `langchain-rag` command."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import TYPE_CHECKING, Final

from langchain_rag.cli.arguments import AUDITS, QUERY, parser
from langchain_rag.errors import RAGError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["QUERY", "main", "parser"]

INTERRUPTED: Final = 130
"""What a shell reports for a command that Ctrl-C ended: 128 + SIGINT."""

_CONTINUES: Final = {
    "demo": "What was imported is kept: the same command continues from there.",
    "repair": "What was repaired is kept: the same command continues from there.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: Its arguments; those of the process by default.

    Returns:
        0; 1 after an error, which is told on standard error, also where a module of the user
        ends the process; 2 where `verify` or `repair` leave something to do; 130 after Ctrl-C.
    """
    arguments = parser().parse_args(argv)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        more = _CONTINUES.get(arguments.command, "Nothing was changed.")
        return _failed(f"interrupted. {more}", INTERRUPTED)
    except SystemExit as error:
        # A module or a factory that called sys.exit(0) must not pass for a clean store.
        return _failed(f"{_named(arguments)} called sys.exit({error.code!r}) in the middle.")
    except RAGError as error:
        return _failed(str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in {"rich", "langchain"}:
            raise
        return _failed(
            f'the command needs the package {error.name}: pip install "langchain-rag[cli]"'
        )
    except Exception as error:
        # Of a store, or of the user's module. Where it comes from is told by Python.
        if arguments.command not in AUDITS:
            raise
        traceback.print_exception(error)
        return _failed(f"{arguments.command} failed with {type(error).__name__}: {error}")


def _run(arguments: argparse.Namespace) -> int:
    # Imported late, so that --help is quick, and Ctrl-C is caught meanwhile.
    if arguments.command == "demo":
        importlib.import_module("langchain_rag.cli.demo").run(
            path=arguments.path,
            query=arguments.query,
            k=arguments.k,
            llm=arguments.llm,
            embeddings=arguments.embeddings,
            no_llm=arguments.no_llm,
        )
        return 0
    code: int = importlib.import_module("langchain_rag.cli.audit").run(
        arguments.command,
        target=arguments.target,
        path=arguments.path,
        json=arguments.json,
        yes=getattr(arguments, "yes", False),
        unknown_rows=getattr(arguments, "unknown_rows", False),
    )
    return code


def _named(arguments: argparse.Namespace) -> str:
    return str(getattr(arguments, "target", None) or arguments.command)


def _failed(message: str, code: int = 1) -> int:
    from langchain_rag.audit.printing import plain  # noqa: PLC0415 - not for --help

    lines = [plain(line) for line in message.split("\n")]
    print("langchain-rag: " + "\n".join(lines), file=sys.stderr)
    return code
