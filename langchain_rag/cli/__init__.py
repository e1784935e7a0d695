"""The `langchain-rag` command."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from langchain_rag import __version__
from langchain_rag.errors import RAGError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

QUERY: Final = "What is the difference between pure and applied mathematics?"
INTERRUPTED: Final = 130
"""What a shell reports for a command that Ctrl-C ended: 128 + SIGINT."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    command = argparse.ArgumentParser(
        prog="langchain-rag", description="Tools for the RAG vector store of langchain-rag."
    )
    command.add_argument("--version", action="version", version=__version__)
    commands = command.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="import a dozen articles, change and delete some, and answer a question",
        description=(
            "Imports a dozen articles on mathematics into Chroma and SQLite with small models"
            " that run on this machine, imports them again, changes one, deletes one, and"
            " answers a question. No key and no network are needed."
        ),
    )
    demo.add_argument(
        "--path",
        type=Path,
        default=Path("langchain-rag-demo"),
        metavar="DIR",
        help="folder of the stores; a later run continues there (default: %(default)s)",
    )
    demo.add_argument("--query", default=QUERY, help="the question (default: %(default)s)")
    demo.add_argument(
        "-k", type=_positive, default=4, metavar="N", help="chunks to show (default: 4)"
    )
    demo.add_argument(
        "--embeddings",
        metavar="MODEL",
        help="what init_embeddings takes, such as openai:text-embedding-3-small"
        " (default: wordllama, on this machine)",
    )
    llm = demo.add_mutually_exclusive_group()
    llm.add_argument(
        "--llm",
        metavar="MODEL",
        help="what init_chat_model takes, such as openai:gpt-5-mini"
        " (default: SmolLM2-135M, on this machine)",
    )
    llm.add_argument(
        "--no-llm",
        action="store_true",
        help="search smaller pieces of each chunk and the chunk itself, without an LLM",
    )
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: Its arguments; those of the process by default.

    Returns:
        0; 1 after an error, which is told on standard error; 130 after Ctrl-C.
    """
    arguments = parser().parse_args(argv)
    try:
        # Imported late, so that --help is quick, and Ctrl-C is caught here meanwhile.
        importlib.import_module("langchain_rag.cli.demo").run(
            path=arguments.path,
            query=arguments.query,
            k=arguments.k,
            llm=arguments.llm,
            embeddings=arguments.embeddings,
            no_llm=arguments.no_llm,
        )
    except KeyboardInterrupt:
        return _failed(
            "interrupted. What was imported is kept: the same command continues from there.",
            INTERRUPTED,
        )
    except RAGError as error:
        return _failed(str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in {"rich", "langchain"}:
            raise
        return _failed(
            f'the command needs the package {error.name}: pip install "langchain-rag[cli]"'
        )
    return 0


def _failed(message: str, code: int = 1) -> int:
    print(f"langchain-rag: {message}", file=sys.stderr)
    return code


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"{number} is below 1"
        raise argparse.ArgumentTypeError(msg)
    return number
