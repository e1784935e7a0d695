"""A process that writes random versions of documents, beside others that do the same."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from langchain_core.documents import Document
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter
from sqlalchemy import make_url

from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.errors import ConcurrentWriteError
from tests.crash.killing.points import Points
from tests.crash.killing.sites import open_site

if TYPE_CHECKING:
    from langchain_rag.testing import Driver
    from tests.crash.killing.sites import Place

DOCUMENTS = 12
PASSAGES = 3


def text_of(number: int, version: str) -> str:
    """Return the text of a version, which is in each chunk and each variation of it."""
    passages = range(PASSAGES)
    return "\n\n".join(f"({version}) document {number} passage {p}" for p in passages)


def transformers() -> dict[str, Any]:
    """Cut a text into its passages, and find each by itself and by its words."""
    words = CharacterTextSplitter(separator=" document", chunk_size=12, chunk_overlap=0)
    return {
        "parent_transformer": RecursiveCharacterTextSplitter(
            separators=["\n\n"], chunk_size=40, chunk_overlap=0, keep_separator=False
        ),
        "chunk_transformer": CopyDocumentTransformer() + words,
    }


def whole(number: int, version: str) -> set[tuple[str, str]]:
    """Return chunk and variation of every row of a version."""
    chunks = text_of(number, version).split("\n\n")
    short = [chunk.partition(" document")[0] for chunk in chunks]
    rest = [chunk.partition(" document")[2].strip() for chunk in chunks]
    return {
        (chunk, variation)
        for chunk, *variations in zip(chunks, chunks, short, rest, strict=True)
        for variation in variations
    }


class Log:
    """What a process began, and how it ended, in the time of the database.

    Args:
        path: A file of this process's own. What is in it survives the process.
        url: Of PostgreSQL, whose clock orders the writes of all processes.
    """

    def __init__(self, path: Path, url: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self._connection = connect(url)

    def note(self, **entry: Any) -> None:
        """Write an entry, with the time."""
        line = json.dumps({**entry, "time": now(self._connection)})
        os.write(self._file, (line + "\n").encode())


def connect(url: str) -> psycopg.Connection:
    """Connect to PostgreSQL, to ask it for the time."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(False)
    return psycopg.connect(plain, autocommit=True)


def now(connection: psycopg.Connection) -> float:
    """Return the time of the database."""
    row = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
    assert row is not None
    return float(row[0])


async def pause(driver: Driver, seconds: float) -> None:
    """Wait, with or without an event loop."""
    if driver.name == "async":
        await asyncio.sleep(seconds)
    else:
        time.sleep(seconds)  # noqa: ASYNC251 - there is no loop


async def write_for(
    place: Place, driver: Driver, *, name: str, seconds: float, seed: int, log: str
) -> dict[str, Any]:
    """Add, change and delete random documents.

    Args:
        place: Where.
        driver: Sync or async.
        name: Of this process; its versions begin with it.
        seconds: For how long.
        seed: For the choices.
        log: File of this process's `Log`.

    Returns:
        How many calls went through, and how many were told that another one is writing.
    """
    choices = random.Random(seed)
    site = await open_site(place, driver.name, Points(), chunk_transformers=transformers())
    notes = Log(Path(log), place.url)
    counts = {"done": 0, "conflicts": 0}
    deadline = time.monotonic() + seconds
    number = 0
    while time.monotonic() < deadline:
        number += 1
        chosen = choices.sample(range(DOCUMENTS), choices.randint(1, 4))
        version = None if choices.random() < 0.2 else f"{name}.{number}"
        documents = [
            Document(text_of(n, version or ""), metadata={"source": str(n)}) for n in chosen
        ]
        ids = [str(n) for n in chosen]
        attempt = 0
        while True:
            attempt += 1
            call = {"call": f"{name}.{number}.{attempt}", "ids": ids, "version": version}
            notes.note(event="begin", **call)
            try:
                if version is None:
                    await driver(site.rag, "delete", ids)
                else:
                    await driver(site.rag, "add_documents", documents, ids=ids)
            except ConcurrentWriteError as error:
                notes.note(event="refused", error=str(error), **call)
                counts["conflicts"] += 1
                await pause(driver, choices.uniform(0, 0.02))
            else:
                notes.note(event="end", **call)
                counts["done"] += 1
                break
    return counts
