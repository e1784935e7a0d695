"""The tables of the full-text index, and how to make those that not every database has.

- settings, a row for each namespace: what the index was made with, and whether a writer that
  does not keep it has written since.
- spaces, a row for each store (a namespace, and the prefix of its chunks' keys): how many
  chunks and how many terms. Its number begins every token, so that frequencies are counted in
  the store's own chunks.
- chunks, a row for each chunk, whose number tells its length (`langchain_rag.lexical.bm25`).
- tokens: which chunk has which term how often. On SQLite a table of FTS5, whose rowid is the
  chunk's number; on PostgreSQL a `tsvector` beside the chunk, with a GIN index.

A token is `space·term·level`; the dot, which no term can have, is a letter for both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, UniqueConstraint
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.exc import OperationalError
from sqlalchemy.schema import CreateTable

from langchain_rag.errors import ConfigurationError
from langchain_rag.lexical.bm25 import levels_of
from langchain_rag.storage._schema import FULL_TEXT_SETTINGS, KEY_TYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_METADATA = MetaData()

SETTINGS: Final = FULL_TEXT_SETTINGS

SPACES: Final = Table(
    "langchain_rag_full_text_spaces",
    _METADATA,
    Column("space", Integer, primary_key=True),
    Column("namespace", KEY_TYPE, nullable=False),
    Column("prefix", KEY_TYPE, nullable=False),
    Column("documents", BigInteger, nullable=False),
    Column("length", BigInteger, nullable=False),
    UniqueConstraint("namespace", "prefix"),
)


def _chunks(*further: Column[Any]) -> Table:
    return Table(
        "langchain_rag_full_text",
        MetaData(),
        # A key of its own: SQLite's VACUUM renumbers rows that have none.
        Column(
            "id",
            BigInteger().with_variant(Integer, "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        Column("namespace", KEY_TYPE, nullable=False),
        Column("key", KEY_TYPE, nullable=False),
        *further,
        UniqueConstraint("namespace", "key"),
    )


CHUNKS: Final = _chunks()
CHUNKS_IN_POSTGRES: Final = _chunks(Column("tokens", TSVECTOR, nullable=False))

_TOKENS: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS langchain_rag_full_text_tokens
USING fts5(tokens, tokenize = 'ascii', detail = 'none', columnsize = 0)
"""
# The ASCII tokenizer takes all other characters for letters. No positions are kept.

_FREQUENCIES: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS langchain_rag_full_text_frequencies
USING fts5vocab(langchain_rag_full_text_tokens, 'row')
"""

_SEQUENCE: Final = "CREATE SEQUENCE IF NOT EXISTS langchain_rag_full_text_sequence"

_INDEX: Final = """
CREATE INDEX IF NOT EXISTS langchain_rag_full_text_tokens
ON langchain_rag_full_text USING gin (tokens)
"""

_MOST_BYTES: Final = 500_000
"""Of the tokens of one chunk. PostgreSQL takes no more than 1 MiB."""


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk, as the index holds it.

    Attributes:
        id: Its number.
        namespace: Of the docstore.
        key: Of its record.
        tokens: Its tokens, with blanks between them.
    """

    id: int
    namespace: str
    key: str
    tokens: str


def create(connection: Connection) -> None:
    """Create the tables where they are missing; one writer at a time.

    Args:
        connection: A connection in a transaction that may write.

    Raises:
        ConfigurationError: This SQLite has no FTS5.
    """
    on_sqlite = connection.dialect.name == "sqlite"
    for table in (SPACES, CHUNKS if on_sqlite else CHUNKS_IN_POSTGRES):
        connection.execute(CreateTable(table, if_not_exists=True))
    try:
        for statement in (_TOKENS, _FREQUENCIES) if on_sqlite else (_SEQUENCE, _INDEX):
            connection.exec_driver_sql(statement)
    except OperationalError as error:
        if "no such module" not in str(error.orig):
            raise
        message = (
            "This Python's SQLite was built without FTS5, so it cannot keep a full-text index. "
            "Use full_text=None, or a Python whose SQLite has FTS5."
        )
        raise ConfigurationError(message) from error


def head_of(space: int, term: str) -> str:
    """Return what the tokens of a term begin with; the level follows.

    Args:
        space: Number of the store.
        term: The term.
    """
    return f"{space}·{term}·"


def tokens_of(space: int, terms: Sequence[str]) -> str:
    """Return the tokens of a chunk.

    Args:
        space: Number of the store.
        terms: Of the chunk.

    Returns:
        A token for each term and level, with blanks between them. Of a text with more than
        PostgreSQL can hold, those of the first terms.

    Example:
        >>> tokens_of(7, ["euler", "number", "euler"])
        '7·euler·1 7·number·1 7·euler·2'
    """
    if not terms:
        return ""
    counts = Counter(terms)
    tokens = f"{space}·" + f"·1 {space}·".join(counts) + "·1"
    if len(counts) < len(terms):
        repeated = [
            head_of(space, term) + str(level)
            for term, count in counts.items()
            if count > 1
            for level in levels_of(count)[1:]
        ]
        tokens = f"{tokens} {' '.join(repeated)}"
    if len(tokens) * 4 > _MOST_BYTES:
        cut = tokens.encode()[: _MOST_BYTES + 1].decode(errors="ignore")
        return cut.rpartition(" ")[0] if len(cut) < len(tokens) else tokens
    return tokens
