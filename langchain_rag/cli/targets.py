"""Which store a command is about."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.indexing import RecordManager
from typing_extensions import override

from langchain_rag import RAGVectorStore
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

__all__ = ["in_demo_folder", "load", "quiet", "store_of"]


@contextmanager
def quiet() -> Generator[None]:
    """Keep what a target prints out of what the command prints, which a program may read.

    Yields:
        Nothing; what is printed meanwhile goes to standard error.
    """
    with redirect_stdout(sys.stderr):
        yield


def load(target: str) -> Any:
    """Import what a target names, the current directory first, and call it if it is no store.

    Args:
        target: Module and name, such as `"myapp.rag:build"`.

    Returns:
        What stands there, or what it returned; perhaps something to be awaited.

    Raises:
        ConfigurationError: There is nothing of that name.
    """
    module_name, colon, name = target.partition(":")
    if not (colon and name) or "" in module_name.split("."):
        msg = f"{target!r} names no store: give MODULE:NAME, such as myapp.rag:build."
        raise ConfigurationError(msg)
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        msg = (
            f"There is no module {module_name!r}, neither installed nor in {Path.cwd()}: give"
            " MODULE:NAME, such as myapp.rag:build."
        )
        raise ConfigurationError(msg) from error
    finally:
        sys.path.pop(0)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            msg = f"Module {module_name!r} has no {name!r}."
            raise ConfigurationError(msg)
        found = getattr(found, part)
    # A store is no callable.
    return found() if callable(found) else found


def store_of(found: object, target: str) -> tuple[RAGVectorStore, RecordManager | None]:
    """Tell the store, and the record manager if there is one, from what a target gave.

    Args:
        found: A store, or the pair that the factories return.
        target: What to call it in an error.

    Returns:
        The store, and the record manager; None where the store knows its own or there is none.

    Raises:
        ConfigurationError: It is neither.
    """
    if isinstance(found, RAGVectorStore):
        return found, None
    match found:
        case (RAGVectorStore() as rag, {"record_manager": RecordManager() as record_manager}):
            return rag, record_manager
        case _:
            msg = (
                f"{target} gave a {type(found).__name__}: it must be a RAGVectorStore, the pair"
                " that from_vs_in_sql() returns, or a function that returns either."
            )
            raise ConfigurationError(msg)


@contextmanager
def in_demo_folder(folder: Path) -> Generator[RAGVectorStore]:
    """Open the store that `langchain-rag demo` made.

    Args:
        folder: Its folder.

    Yields:
        The store, which does not know the LLM of the demo.

    Raises:
        ConfigurationError: It is no folder of the demo.
    """
    from langchain_rag.cli import models, settings, store  # noqa: PLC0415 - for a demo only

    if not (folder / settings.FILE).is_file():
        msg = f"{folder} is no folder of the demo: it has no {settings.FILE}."
        raise ConfigurationError(msg)
    name = settings.read(folder / settings.FILE).embeddings
    local = name == models.LOCAL_EMBEDDINGS
    embeddings = models.embeddings_named(None if local else name)
    with store.opened(folder, embeddings, _Unknown(), None) as opened:
        yield opened.rag


class _Unknown(BaseDocumentTransformer):
    """Stands for whatever made the variations; nothing is said about its identity."""

    @override
    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Refuse: nothing is imported here."""
        raise NotImplementedError
