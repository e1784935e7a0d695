"""What tells the vectors of one model from those of another."""

import subprocess
import sys
from enum import Enum
from typing import Any, ClassVar

import pytest
from langchain_classic.embeddings import CacheBackedEmbeddings
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings, FakeEmbeddings
from langchain_core.stores import InMemoryByteStore
from langchain_openai import AzureOpenAIEmbeddings, OpenAIEmbeddings
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr

from langchain_rag.embedding_cache import identity_of_embeddings
from langchain_rag.local import WordLlamaEmbeddings
from langchain_rag.testing import CountingEmbeddings


class Doing(Embeddings):
    def embed_documents(self, texts):
        raise NotImplementedError

    def embed_query(self, text):
        raise NotImplementedError


class Mine(Doing):
    """Somebody's class, of whose code nothing is known."""

    def __init__(self):
        self.model = "mine"


class Partner(Doing):
    """A plain class of a package of LangChain's partners."""

    __module__ = "langchain_partner.embeddings"

    def __init__(self, **attributes):
        self.model = "partner-1"
        vars(self).update(attributes)


class HuggingFaceLike(BaseModel, Doing):
    """The fields of langchain-huggingface's class."""

    __module__ = "langchain_huggingface.embeddings.huggingface"

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    model_name: str = "sentence-transformers/all-mpnet-base-v2"
    cache_folder: str | None = None
    model_kwargs: dict[str, Any] = Field(default_factory=dict)
    encode_kwargs: dict[str, Any] = Field(default_factory=dict)
    query_encode_kwargs: dict[str, Any] = Field(default_factory=dict)
    multi_process: bool = False
    show_progress: bool = False
    client: Any = Field(default=None, exclude=True)
    session: Any = Field(default=None, exclude=True)
    _client: Any = PrivateAttr(default_factory=object)


class Answering(Mine):
    fingerprint = "mine v2"


class Mode(Enum):
    FAST = 1
    EXACT = 2


def openai(**options: Any) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(**{"api_key": SecretStr("sk-one"), **options})


SAME: dict[str, tuple[Any, Any]] = {
    "secret": (openai(), openai(api_key=SecretStr("sk-two"))),
    "secret in the address": (
        openai(base_url="https://me:pw@host/v1?key=1"),
        openai(base_url="https://host/v1?key=2"),
    ),
    "how it is asked": (
        openai(),
        openai(chunk_size=5, max_retries=9, request_timeout=3, show_progress_bar=True),
    ),
    "how it is reached": (
        openai(),
        openai(default_headers={"X": "y"}, organization="o", default_query={"a": "b"}),
    ),
    "retries": (openai(), openai(retry_min_seconds=1, retry_max_seconds=2)),
    "device": (HuggingFaceLike(), HuggingFaceLike(model_kwargs={"device": "cuda"})),
    "token within": (HuggingFaceLike(), HuggingFaceLike(model_kwargs={"token": "t"})),
    "secret within": (HuggingFaceLike(), HuggingFaceLike(model_kwargs={"x": SecretStr("t")})),
    "progress": (HuggingFaceLike(), HuggingFaceLike(show_progress=True, cache_folder="/x")),
    "clients": (HuggingFaceLike(client=object()), HuggingFaceLike(session=object())),
    "batches": (
        HuggingFaceLike(encode_kwargs={"batch_size": 8}),
        HuggingFaceLike(encode_kwargs={"batch_size": 9}),
    ),
    "plain secret": (Partner(api_key="1", _token="2"), Partner(api_key="3", _token="4")),
    "plain client": (Partner(_thing=object()), Partner(_thing=object())),
    "plain client by name": (Partner(client=object()), Partner(http_client=object())),
    "token provider": (Partner(), Partner(azure_ad_token_provider=object())),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_what_does_not_matter(pair):
    one, other = map(identity_of_embeddings, pair)
    assert one == other is not None


INSTRUCTED: dict[str, Any] = {"instruction": "passage: "}
DIFFERENT: dict[str, tuple[Any, Any]] = {
    "model": (openai(model="text-embedding-3-small"), openai(model="text-embedding-3-large")),
    "dimensions": (openai(dimensions=256), openai(dimensions=512)),
    "address": (openai(), openai(base_url="http://localhost:8080/v1")),
    "deployment": (
        AzureOpenAIEmbeddings(
            api_key=SecretStr("k"), azure_endpoint="https://x.y", azure_deployment="a"
        ),
        AzureOpenAIEmbeddings(
            api_key=SecretStr("k"), azure_endpoint="https://x.y", azure_deployment="b"
        ),
    ),
    "size": (DeterministicFakeEmbedding(size=4), DeterministicFakeEmbedding(size=8)),
    "normalising": (
        HuggingFaceLike(),
        HuggingFaceLike(encode_kwargs={"normalize_embeddings": True}),
    ),
    "revision": (HuggingFaceLike(), HuggingFaceLike(model_kwargs={"revision": "abc"})),
    "longest text": (Partner(max_token_length=5), Partner(max_token_length=6)),
    "of nobody knows what": (
        HuggingFaceLike(),
        HuggingFaceLike(**INSTRUCTED),
    ),
    "private": (Partner(_prefix="a"), Partner(_prefix="b")),
    "mode": (Partner(mode=Mode.FAST), Partner(mode=Mode.EXACT)),
    "listed": (Partner(types=["a"]), Partner(types=["b"])),
    "class": (Partner(), Partner.__new__(type("Other", (Partner,), {"model": "partner-1"}))),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_what_matters(pair):
    one, other = map(identity_of_embeddings, pair)
    assert one is not None
    assert one != other


class Subclass(DeterministicFakeEmbedding):
    """May do anything."""


def test_nobody_can_say_what_it_is(tmp_path):
    class Here(Partner):
        __module__ = "langchain_partner.embeddings"

    (tmp_path / "weights").touch()
    nameless: list[Any] = [
        FakeEmbeddings(size=4),  # which are random
        CountingEmbeddings(),
        Mine(),
        Subclass(size=4),
        Here(),
        Partner(model=""),
        Partner(model=" "),
        Partner(model=None),
        Partner(model=7),
        Partner(model=object()),
        Partner(pool=object()),
        Partner(normalise=lambda vector: vector),
        Partner(parts={"a": [object()]}),
        Partner(url="http://[half"),
        Partner(model=str(tmp_path / "weights")),  # may be others tomorrow
        HuggingFaceLike(model_name=str(tmp_path)),
        HuggingFaceLike(model_kwargs={"dtype": object()}),
        CacheBackedEmbeddings.from_bytes_store(  # which cache already
            openai(), InMemoryByteStore(), key_encoder="sha256"
        ),
    ]
    found = {repr(one): identity_of_embeddings(one) for one in nameless}
    assert set(found.values()) == {None}, found


def test_paths_that_are_none():
    for name in ("org/model", "a/\0b", "~nobody-of-this-name/x", "x/" * 5000):
        assert identity_of_embeddings(HuggingFaceLike(model_name=name)) is not None


def test_it_answers_for_itself():
    assert identity_of_embeddings(Answering()) == "mine v2"

    class Empty(Mine):
        fingerprint: ClassVar[Any] = ""

    class Odd(Mine):
        fingerprint: ClassVar[Any] = 7

    assert identity_of_embeddings(Empty()) is identity_of_embeddings(Odd()) is None


def test_the_local_ones_answer_with_the_version_of_their_weights():
    found = identity_of_embeddings(WordLlamaEmbeddings())
    assert found is not None
    assert found.startswith("WordLlamaEmbeddings wordllama 0.")


def test_it_can_be_read_and_shows_no_secret():
    found = identity_of_embeddings(
        openai(model="text-embedding-3-small", base_url="https://me:sesame@host/v1")
    )
    assert found is not None
    assert found.startswith("OpenAIEmbeddings text-embedding-3-small ")
    assert "sk-" not in found
    assert "sesame" not in found
    assert len(found.split(" ")[-1]) == 32
    long = identity_of_embeddings(HuggingFaceLike(model_name="a\nb\0" + "c" * 500))
    assert long is not None
    assert long.isprintable()
    assert len(long) < 200


def test_it_is_the_same_in_every_process():
    code = (
        "from langchain_openai import OpenAIEmbeddings as E\n"
        "from langchain_rag.embedding_cache import identity_of_embeddings as of\n"
        "print(of(E(api_key='x', allowed_special={'a', 'b', 'c'}, dimensions=9)))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "1"},  # another than here
    ).stdout.strip()
    allowed = {"a", "b", "c"}
    here = OpenAIEmbeddings(api_key=SecretStr("x"), allowed_special=allowed, dimensions=9)
    assert found == identity_of_embeddings(here)
    assert found.startswith("OpenAIEmbeddings text-embedding-ada-002 ")
