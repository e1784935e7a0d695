"""The wrapped store's own filters limit kinds and documents, together with the user's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore

from langchain_rag.backends.registry import backend_of
from langchain_rag.document_transformers import CopyDocumentTransformer
from langchain_rag.testing import CountingEmbeddings, ScriptedTransformer
from langchain_rag.testing._over_store import opened
from langchain_rag.vectorstores import RAGVectorStore
from tests.conformance import stores
from tests.tiers import everyday

if TYPE_CHECKING:
    from pathlib import Path

IDS = [f"d'{n}\"\\" for n in range(5)]  # which none may take for syntax
NARROWING = [s for s in stores.STORES if s not in {stores.Postgres, stores.SqliteVec}]


@pytest.fixture(
    params=everyday([stores.InMemory, stores.ChromaInMemory], of=NARROWING),
    ids=lambda store: store.__name__,
)
async def narrowed(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[RAGVectorStore, dict[str, Any]]]:
    """Five documents of four chunks, each a copy and three or four words."""
    store = request.param()
    store.folder = tmp_path
    async with opened(store.make_store(CountingEmbeddings())) as wrapped:
        assert backend_of(wrapped).narrow is not None
        rag = RAGVectorStore(
            vectorstore=wrapped,
            docstore=InMemoryStore(),
            source_id_key=None,
            parent_transformer=ScriptedTransformer(str.splitlines),
            chunk_transformer=CopyDocumentTransformer() + ScriptedTransformer(str.split),
        )
        rag.add_documents(
            [
                Document(
                    "\n".join(f"prime w{d}{n} it's\"{n}" for n in range(4)),
                    metadata={"page": f"p{d}"},
                )
                for d in range(5)
            ],
            ids=IDS,
        )
        yield rag, store.filter_for(wrapped, "page", "p2")


WANTED: list[tuple[dict[str, Any], int, int]] = [
    # What is wanted, how many chunks that are, and how many of them of page 2.
    ({"kinds": {"ScriptedTransformer"}}, 20, 4),
    ({"kinds": {"not there"}}, 0, 0),
    ({"within": {IDS[1], IDS[3]}}, 8, 0),
    ({"within": {IDS[2]}, "kinds": ["ScriptedTransformer", "not there"]}, 4, 4),
    ({"except_kinds": {"ScriptedTransformer"}, "within": IDS[:3]}, 12, 4),
    ({"return_documents": True, "within": IDS[:3]}, 3, 1),
]


@pytest.mark.filterwarnings("ignore:No results found")  # as LanceDB says
async def test_narrowing(narrowed: tuple[RAGVectorStore, dict[str, Any]]) -> None:
    rag, mine = narrowed
    vector = CountingEmbeddings().vector("prime")
    for options, number, on_page_2 in WANTED:
        for method, query in [
            ("similarity_search", "prime"),
            ("similarity_search_by_vector", vector),
            ("max_marginal_relevance_search", "prime"),
        ]:
            search = getattr(rag, method)
            found = search(query, k=30, match_details=True, **options)
            assert len(found) == number, (method, options)
            kinds = {d.metadata["langchain_rag_match"]["kind"] for d in found}
            assert kinds <= set(options.get("kinds", kinds)) - set(
                options.get("except_kinds", ())
            )
            if not mine:
                continue
            found = search(query, k=30, **options, **mine)
            assert [d.metadata["page"] for d in found] == ["p2"] * on_page_2, (method, options)
