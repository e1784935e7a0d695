"""All benchmarks, or those that are named: `uv run python -m benchmarks [NAME ...]`.

With the peers: `uv run --group benchmark python -m benchmarks`. Every figure is a ratio of what
was measured in one run, in turn, each side in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path

from benchmarks._options import Options

MODULES = {
    "import": "benchmarks.concurrency",
    "overhead": "benchmarks.overhead",
    "search": "benchmarks.search",
    "again": "benchmarks.again",
    "edit": "benchmarks.edit",
    "stream": "benchmarks.stream",
    "cost": "benchmarks.imports",
    "quality": "benchmarks.quality",
    "docstore": "benchmarks.docstore",
    "retrieval": "benchmarks.retrieval",
    "lexical": "benchmarks.lexical",
}
PACKAGES = (
    "langchain-rag",
    "langchain-core",
    "langchain-chroma",
    "chromadb",
    "langchain-postgres",
    "langchain-openai",
    "sqlalchemy",
)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODULES))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--turns", type=int, default=5, help="of each side")
    parser.add_argument("--documents", type=int, default=0, help="instead of the usual number")
    parser.add_argument("--store", nargs="+", default=["chroma", "pgvector"])
    models = ["minilm", "wordllama"]
    parser.add_argument("--embeddings", nargs="+", choices=models, default=models[:1])
    parser.add_argument("--cache", default=f"{tempfile.gettempdir()}/langchain-rag-vectors")
    given = parser.parse_args()
    unknown = set(given.names) - MODULES.keys()
    if unknown:
        parser.error(f"There is no {', '.join(unknown)}, but {', '.join(MODULES)}.")
    options = Options(
        str(given.data.resolve()),
        given.turns,
        given.documents,
        tuple(given.store),
        tuple(given.embeddings),
        given.cache,
    )
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(f"CPython {platform.python_version()}, {packages}\n", flush=True)
    for name in given.names or MODULES:
        importlib.import_module(MODULES[name]).report(options)


if __name__ == "__main__":
    main()
