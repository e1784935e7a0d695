"""One test body for a method and its asynchronous twin.

Example:
    >>> import asyncio
    >>> from langchain_core.documents import Document
    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> from langchain_rag.testing import DRIVERS, CountingEmbeddings
    >>> async def body(driver):
    ...     store = InMemoryVectorStore(CountingEmbeddings())
    ...     await driver(store, "add_documents", [Document("a")], ids=["1"])
    ...     return await driver(store, "get_by_ids", ["1"])
    >>> [[document.id for document in asyncio.run(body(driver))] for driver in DRIVERS]
    [['1'], ['1']]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain_core.indexing import aindex, index

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_core.documents import Document

__all__ = ["DRIVERS", "Driver"]


@dataclass(frozen=True, slots=True)
class Driver:
    """Calls a method, or awaits its twin whose name begins with `a`.

    Attributes:
        name: `"sync"` or `"async"`.
    """

    name: Literal["sync", "async"]

    async def __call__(self, target: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call `target.method(...)`, or await `target.amethod(...)`.

        Args:
            target: Any object with both.
            method: Name of the synchronous method.
            *args: Positional arguments of either.
            **kwargs: Keyword arguments of either.

        Returns:
            What the method returns. An iterator, synchronous or not, comes as a list.
        """
        if self.name == "sync":
            result = getattr(target, method)(*args, **kwargs)
            return list(result) if hasattr(result, "__next__") else result
        result = getattr(target, f"a{method}")(*args, **kwargs)
        if hasattr(result, "__anext__"):
            return [item async for item in result]
        return await result

    async def index(self, docs: Iterable[Document], **kwargs: Any) -> dict[str, Any]:
        """Call LangChain's `index`, or await its `aindex`.

        Args:
            docs: Documents to index.
            **kwargs: Keyword arguments of either, such as the `index_kwargs` of a factory.

        Returns:
            The counts `num_added`, `num_updated`, `num_skipped` and `num_deleted`.
        """
        if self.name == "sync":
            return dict(index(docs, **kwargs))
        return dict(await aindex(docs, **kwargs))


DRIVERS: Final = (Driver("sync"), Driver("async"))
