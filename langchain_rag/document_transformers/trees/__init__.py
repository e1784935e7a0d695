"""Trees of chunks: by size, and by summaries above them.

Internal: `langchain_rag.document_transformers` has the public names.
"""
