"""Translators of the community's, for stores that we have none of our own for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from langchain_core.structured_query import Visitor
from langchain_core.vectorstores import VectorStore

from langchain_rag.errors import NoTranslatorError

_COMMUNITY: Final = "langchain_community.vectorstores"
_CONSTRUCTORS: Final = "langchain_community.query_constructors"

_TRANSLATORS: Final[dict[str, str]] = {
    f"{_COMMUNITY}.astradb.AstraDB": "astradb.AstraDBTranslator",
    f"{_COMMUNITY}.dashvector.DashVector": "dashvector.DashvectorTranslator",
    f"{_COMMUNITY}.databricks_vector_search.DatabricksVectorSearch": (
        "databricks_vector_search.DatabricksVectorSearchTranslator"
    ),
    f"{_COMMUNITY}.deeplake.DeepLake": "deeplake.DeepLakeTranslator",
    f"{_COMMUNITY}.dingo.Dingo": "dingo.DingoDBTranslator",
    f"{_COMMUNITY}.elasticsearch.ElasticsearchStore": "elasticsearch.ElasticsearchTranslator",
    f"{_COMMUNITY}.hanavector.HanaDB": "hanavector.HanaTranslator",
    f"{_COMMUNITY}.mongodb_atlas.MongoDBAtlasVectorSearch": (
        "mongodb_atlas.MongoDBAtlasTranslator"
    ),
    f"{_COMMUNITY}.myscale.MyScale": "myscale.MyScaleTranslator",
    f"{_COMMUNITY}.neo4j_vector.Neo4jVector": "neo4j.Neo4jTranslator",
    f"{_COMMUNITY}.opensearch_vector_search.OpenSearchVectorSearch": (
        "opensearch.OpenSearchTranslator"
    ),
    f"{_COMMUNITY}.pinecone.Pinecone": "pinecone.PineconeTranslator",
    f"{_COMMUNITY}.redis.base.Redis": "redis.RedisTranslator",
    f"{_COMMUNITY}.supabase.SupabaseVectorStore": "supabase.SupabaseVectorTranslator",
    f"{_COMMUNITY}.tencentvectordb.TencentVectorDB": (
        "tencentvectordb.TencentVectorDBTranslator"
    ),
    f"{_COMMUNITY}.timescalevector.TimescaleVector": (
        "timescalevector.TimescaleVectorTranslator"
    ),
    f"{_COMMUNITY}.vectara.Vectara": "vectara.VectaraTranslator",
    f"{_COMMUNITY}.weaviate.Weaviate": "weaviate.WeaviateTranslator",
    "langchain_astradb.vectorstores.AstraDBVectorStore": "astradb.AstraDBTranslator",
    "langchain_elasticsearch.vectorstores.ElasticsearchStore": (
        "elasticsearch.ElasticsearchTranslator"
    ),
    "langchain_elasticsearch._sync.vectorstores.ElasticsearchStore": (
        "elasticsearch.ElasticsearchTranslator"
    ),
    "langchain_mongodb.vectorstores.MongoDBAtlasVectorSearch": (
        "mongodb_atlas.MongoDBAtlasTranslator"
    ),
    "langchain_neo4j.vectorstores.neo4j_vector.Neo4jVector": "neo4j.Neo4jTranslator",
    "langchain_pinecone.vectorstores.PineconeVectorStore": "pinecone.PineconeTranslator",
    "langchain_weaviate.vectorstores.WeaviateVectorStore": "weaviate.WeaviateTranslator",
}
"""Class of stores, by dotted name, to a translator of the community's."""


def _myscale(translator: Any, store: Any) -> Visitor:
    made: Visitor = translator(metadata_key=store.metadata_column)
    return made


def _redis(translator: Any, store: Any) -> Visitor:
    made: Visitor = translator.from_vectorstore(store)
    return made


def _tencent(translator: Any, store: Any) -> Visitor:
    known: list[Any] = store.meta_fields or []
    fields = [field.name for field in known if field.index]
    made: Visitor = translator(fields)
    return made


_MADE: Final[dict[str, Callable[[Any, Any], Visitor]]] = {
    "myscale.MyScaleTranslator": _myscale,
    "redis.RedisTranslator": _redis,
    "tencentvectordb.TencentVectorDBTranslator": _tencent,
}
"""Those that have to know the store."""


def others() -> dict[str, Callable[[VectorStore], Visitor]]:
    """Return what makes the community's translators, by the dotted name of the store's class.

    Nothing is imported before a store of that class is met.
    """
    return {store: _factory(store, name) for store, name in _TRANSLATORS.items()}


def _factory(dotted_store: str, name: str) -> Callable[[VectorStore], Visitor]:
    def make(store: VectorStore) -> Visitor:
        module, _, attribute = name.partition(".")
        dotted = f"{_CONSTRUCTORS}.{module}"
        try:
            translator = getattr(import_module(dotted), attribute)
        except (ImportError, AttributeError) as error:
            msg = (
                f"The structured-query translator for {dotted_store} is "
                f"{dotted}.{attribute}, which cannot be imported ({error}): `pip install "
                "langchain-community`; or pass one as structured_query_translator=, or "
                "register it with langchain_rag.structured_query.register_translator("
                f"{dotted_store!r}, ...)."
            )
            raise NoTranslatorError(msg) from error
        make_it = _MADE.get(name)
        made: Visitor = translator() if make_it is None else make_it(translator, store)
        return made

    return make
