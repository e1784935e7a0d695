"""Transformers that ask a language model, and what each call goes through.

Internal: `langchain_rag.document_transformers` has the public names.
"""
