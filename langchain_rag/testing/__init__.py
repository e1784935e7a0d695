"""What a test of something built on `RAGVectorStore` needs.

Models that count (`CountingEmbeddings`, `ScriptedChatModel`, `ScriptedTransformer`), stores
that fail as planned (`FaultPlan`, `FaultyVectorStore`, `FaultyDocStore`) or that are odd
(`SyncOnlyVectorStore`, `AsyncOnlyVectorStore`, `DistanceVectorStore`,
`IdIgnoringVectorStore`, `UndeletableVectorStore`), one body for sync and async (`Driver`),
stores that outlive a process (`World`), a look into them (`audit`, `contents`,
`reachable`), and what any store does when it is wrapped (`Bench`, `probe`, `StoreReport`).

`langchain_rag.testing.conformance` is a test suite to inherit, for a vector store of yours; it
needs pytest.
"""

from langchain_rag.testing.audit import Contents, audit, contents, reachable
from langchain_rag.testing.bench import Bench
from langchain_rag.testing.capabilities import StoreReport, probe
from langchain_rag.testing.drivers import DRIVERS, Driver
from langchain_rag.testing.fakes import (
    CountingEmbeddings,
    ScriptedChatModel,
    ScriptedTransformer,
)
from langchain_rag.testing.faults import (
    MOMENTS,
    Call,
    FaultPlan,
    InjectedCrash,
    InjectedFault,
    Moment,
)
from langchain_rag.testing.faulty import FaultyDocStore, FaultyVectorStore
from langchain_rag.testing.odd_stores import (
    AsyncOnlyVectorStore,
    DistanceVectorStore,
    IdIgnoringVectorStore,
    SyncOnlyVectorStore,
    UndeletableVectorStore,
)
from langchain_rag.testing.world import World

__all__ = [
    "DRIVERS",
    "MOMENTS",
    "AsyncOnlyVectorStore",
    "Bench",
    "Call",
    "Contents",
    "CountingEmbeddings",
    "DistanceVectorStore",
    "Driver",
    "FaultPlan",
    "FaultyDocStore",
    "FaultyVectorStore",
    "IdIgnoringVectorStore",
    "InjectedCrash",
    "InjectedFault",
    "Moment",
    "ScriptedChatModel",
    "ScriptedTransformer",
    "StoreReport",
    "SyncOnlyVectorStore",
    "UndeletableVectorStore",
    "World",
    "audit",
    "contents",
    "probe",
    "reachable",
]
