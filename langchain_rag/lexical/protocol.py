"""What a docstore offers that can be searched by words."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class LexicalSearch(Protocol):
    """Searches the chunks of a docstore by their words.

    `langchain_rag.storage.SQLDocStore` does with `full_text=...`; a docstore of your own may.
    """

    def lexical_search(self, query: str, k: int, *, prefix: str) -> list[tuple[str, float]]:
        """Find the chunks whose words fit a query best.

        Args:
            query: Any text; nothing in it is syntax.
            k: How many, at most.
            prefix: What the keys of the chunks begin with, up to the last slash.

        Returns:
            Keys and scores, best first, the higher the better; of equal ones that first whose
            key is less. None that has no word of the query.
        """
        ...

    async def alexical_search(
        self, query: str, k: int, *, prefix: str
    ) -> list[tuple[str, float]]:
        """Find the chunks whose words fit a query best; see `lexical_search`."""
        ...
