"""Checking what is stored, repairing it, and counting it.

`RAGVectorStore.verify()`, `repair()` and `stats()` return what stands here.
"""

from langchain_rag.audit.findings import Finding, FindingKind
from langchain_rag.audit.reports import RepairReport, StatsReport, VerifyReport

__all__ = ["Finding", "FindingKind", "RepairReport", "StatsReport", "VerifyReport"]
