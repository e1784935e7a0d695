"""One body for sync and async.

A *flow* is a generator that yields operations and receives their results. It never does
I/O itself, so two small drivers can run the same body: `run` calls the synchronous half of
each operation, `arun` awaits the asynchronous half. httpx runs its `auth_flow` and psycopg
its protocol generators the same way.

Exceptions, `KeyboardInterrupt` and `asyncio.CancelledError` among them, are thrown back
into the generator at the operation that raised them, so `try`/`finally` in a flow works as
it reads.

Example:
    >>> import asyncio
    >>> def read() -> str:
    ...     return "sync"
    >>> async def aread() -> str:
    ...     return "async"
    >>> def shout() -> Flow[str]:
    ...     text = yield from call(read, aread)
    ...     return text.upper()
    >>> run(shout())
    'SYNC'
    >>> asyncio.run(arun(shout()))
    'ASYNC'
"""

from langchain_rag._flow.drivers import arun, run
from langchain_rag._flow.requests import (
    Flow,
    Mode,
    NotStartedError,
    Operation,
    call,
    call_as,
    gather,
    give_turn_back,
    pause,
    stream,
    take_turn,
)

__all__ = [
    "Flow",
    "Mode",
    "NotStartedError",
    "Operation",
    "arun",
    "call",
    "call_as",
    "gather",
    "give_turn_back",
    "pause",
    "run",
    "stream",
    "take_turn",
]
