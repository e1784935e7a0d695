"""What a demo folder was made with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILE", "Settings", "claim", "read"]

FILE: Final = "demo.json"
DRAFT: Final = "demo.json.new"


@dataclass(frozen=True, slots=True)
class Settings:
    """The models of a demo folder.

    Attributes:
        embeddings: Name of the embeddings; vectors of others cannot be compared with them.
        llm: Name of the LLM, or `"none"`.
    """

    embeddings: str
    llm: str


def claim(folder: Path, settings: Settings) -> Settings | None:
    """Make a folder the demo's, or check that it is, with the same embeddings.

    Args:
        folder: The folder, which need not exist.
        settings: The models of this run.

    Returns:
        The settings of the run before, if there was one.

    Raises:
        ConfigurationError: It cannot be a folder of the demo, or has other embeddings.
    """
    file = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = read(file) if file.exists() else None
        if before is None and any(other.name != DRAFT for other in folder.iterdir()):
            msg = (
                f"{folder} has files that are not the demo's: give another folder with --path."
            )
            raise ConfigurationError(msg)
        if before is not None and before.embeddings != settings.embeddings:
            msg = (
                f"{folder} was made with the embeddings {before.embeddings!r}, whose vectors"
                f" cannot be compared with those of {settings.embeddings!r}: give another"
                " folder with --path, or delete this one."
            )
            raise ConfigurationError(msg)
        _write(file, settings)
    except OSError as error:
        msg = f"{folder} cannot be used ({error}): give another folder with --path."
        raise ConfigurationError(msg) from error
    return before


def read(file: Path) -> Settings:
    """Read the settings of a demo folder.

    Args:
        file: Where they are.

    Returns:
        The settings.

    Raises:
        ConfigurationError: They are damaged.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Settings(embeddings=str(found["embeddings"]), llm=str(found["llm"]))
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{file} is damaged ({error!r}): delete {file.parent}, and run the demo again."
        raise ConfigurationError(msg) from error


def _write(file: Path, settings: Settings) -> None:
    # At once or not at all: the demo may be interrupted here as well.
    draft = file.with_name(DRAFT)
    draft.write_text(json.dumps(asdict(settings), indent=2) + "\n", encoding="utf-8")
    draft.replace(file)
