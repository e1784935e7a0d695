"""What was paid for once, kept: what models answered, and the vectors of texts.

One generic cache in two forms, in a LangChain `ByteStore` and in SQL, and a codec for each of
the two kinds of value. What is public of it stands in `langchain_rag.document_transformers`,
`langchain_rag.embedding_cache` and `langchain_rag.storage`.

- `cache`: the generic cache, without the store; `codec`: what it asks of a codec.
- `byte_store`: its form in a `ByteStore`. That in SQL is in `langchain_rag.storage.caches`.
- `variations`, `variation_codec`: what models answered.
- `embeddings`, `embedding_codec`, `packing`: vectors.
- `figures`: what is counted, and how statistics read.
"""
