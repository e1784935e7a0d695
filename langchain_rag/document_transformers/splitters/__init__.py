"""Splitters by structure: headings and sentences.

Internal: `langchain_rag.document_transformers` has the public names.
"""
