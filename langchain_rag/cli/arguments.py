"""What the command line can say."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final, NoReturn

from langchain_rag import __version__

__all__ = ["AUDITS", "QUERY", "parser"]

QUERY: Final = "What is the difference between pure and applied mathematics?"

AUDITS: Final = {
    "verify": (
        "check that the stores and the record manager agree",
        (
            "Checks that vector store, docstore and record manager agree, and changes nothing."
            " Exit code: 0 clean, 2 something was found, 1 an error."
        ),
    ),
    "repair": (
        "repair what verify finds, without a call of an LLM",
        (
            "Repairs what verify finds: embeds missing variations again from the stored texts,"
            " deletes what belongs to no document, and has the next import make again what"
            " lost its text. No LLM is called. Exit code: 0 all is repaired, 2 something is"
            " left, 1 an error."
        ),
    ),
    "stats": (
        "count documents, chunks and variations",
        "Counts documents, chunks and variations. Exit code: 0, or 1 after an error.",
    ),
}
"""The commands that look at a store: help, description."""


class _Parser(argparse.ArgumentParser):
    """Ends with 1 where it is called wrongly: 2 says that something was found."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    command = _Parser(
        prog="langchain-rag", description="Tools for the RAG vector store of langchain-rag."
    )
    command.add_argument("--version", action="version", version=__version__)
    commands = command.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _demo(
        commands.add_parser(
            "demo",
            help="import a dozen articles, change and delete some, and answer a question",
            description=(
                "Imports a dozen articles on mathematics into Chroma and SQLite with small"
                " models that run on this machine, imports them again, changes one, deletes"
                " one, and answers a question. No key and no network are needed."
            ),
        )
    )
    for name, (summary, description) in AUDITS.items():
        audit = commands.add_parser(name, help=summary, description=description)
        _audit(audit)
        if name == "repair":
            audit.add_argument("--yes", action="store_true", help="do not ask first")
            audit.add_argument(
                "--unknown-rows",
                action="store_true",
                help="also delete rows of documents of which the docstore knows nothing; only"
                " where no other database uses the collection with the same namespace",
            )
    return command


def _demo(demo: argparse.ArgumentParser) -> None:
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


def _audit(audit: argparse.ArgumentParser) -> None:
    where = audit.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "target",
        nargs="?",
        metavar="MODULE:NAME",
        help="a RAGVectorStore, the pair that its factories return, or a function, perhaps"
        " asynchronous, that takes no arguments and returns either; looked for in the current"
        " directory first",
    )
    where.add_argument("--path", type=Path, metavar="DIR", help="a folder of the demo instead")
    audit.add_argument("--json", action="store_true", help="print the report as JSON")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"{number} is below 1"
        raise argparse.ArgumentTypeError(msg)
    return number
