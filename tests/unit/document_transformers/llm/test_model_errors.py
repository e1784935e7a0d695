"""Which errors of a model call are worth another attempt."""

from __future__ import annotations

import asyncio
import http.client
import ssl
import urllib.error
from datetime import UTC, datetime
from email.message import Message
from enum import Enum
from importlib import import_module

import aiohttp
import httpcore
import httpx
import httpx2
import openai
import pytest
import requests
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelRateLimitError,
    OutputParserException,
)
from langchain_openai.chat_models.base import OpenAIRateLimitError

from langchain_rag.document_transformers.llm.retries import is_transient, retry_after
from langchain_rag.errors import StoreError, TransformerError
from tests.unit.document_transformers.llm.model_errors import (
    REQUEST,
    EvilError,
    caused,
    meanwhile,
    named,
    of_aws,
    of_openai,
)

# It has no types.
grpc = import_module("grpc")


def of_grpc(code):
    return named("grpc._channel._InactiveRpcError", grpc.RpcError, code=lambda: code)


class Code(Enum):
    TOO_MANY = 429
    MISSING = 404


THROTTLED = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}
ANSWER = httpx2.Response(200, request=REQUEST)
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

TRANSIENT = [
    *(of_openai(status) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529, 599)),
    of_openai(429, "rate_limit_exceeded", kind=OpenAIRateLimitError),
    of_openai(400, headers={"x-should-retry": "true"}),
    openai.APIConnectionError(request=REQUEST),
    openai.APITimeoutError(REQUEST),
    openai.APIError("It failed.", REQUEST, body={"code": "server_error"}),
    openai.APIError("It failed.", REQUEST, body={"code": "429"}),
    ModelRateLimitError(),
    ModelAPIError(),
    *(httpx.ReadTimeout("slow"), httpx2.ReadTimeout("slow"), httpx2.ReadError("reset")),
    httpx.RemoteProtocolError("half"),
    httpx2.HTTPStatusError("503", request=REQUEST, response=httpx2.Response(503)),
    *(httpcore.ReadError(), httpcore.ConnectTimeout(), httpcore.RemoteProtocolError()),
    *(
        ConnectionResetError(),
        BrokenPipeError(),
        TimeoutError(),
        http.client.IncompleteRead(b""),
    ),
    *(requests.ConnectionError(), requests.ReadTimeout()),
    *(aiohttp.ServerDisconnectedError(), aiohttp.ClientPayloadError()),
    urllib.error.HTTPError("http://model", 429, "Too Many", Message(), None),
    named("anthropic.APIConnectionError"),
    named("anthropic.APIStatusError", status_code=529),
    named("anthropic.APIStatusError", status_code=200, body=OVERLOADED, response=ANSWER),
    named("google.api_core.exceptions.TooManyRequests", code=http.HTTPStatus.TOO_MANY_REQUESTS),
    named("google.api_core.exceptions.ServiceUnavailable"),
    named("google.genai.errors.ClientError", code=429, status="RESOURCE_EXHAUSTED"),
    named("google.genai.errors.APIError", details=THROTTLED),
    named("ollama.ResponseError", status_code=503),
    named("old.APIError", http_status=503),
    named("some.Error", code=Code.TOO_MANY),
    *(of_aws("ThrottlingException"), of_aws("ServiceUnavailable", 503), of_aws("Other", 500)),
    *(of_grpc(grpc.StatusCode.UNAVAILABLE), of_grpc(grpc.StatusCode.RESOURCE_EXHAUSTED)),
    # What LangChain raises where OpenRouter answers 200 with an error in it.
    ValueError({"message": "Provider returned error", "code": 502}),
    caused(ValueError("Error raised by bedrock service"), of_aws("ThrottlingException")),
    meanwhile(RuntimeError("while handling"), TimeoutError()),
    caused(TimeoutError(), asyncio.CancelledError()),
    meanwhile(of_openai(429), of_openai(400)),
    # A status that tells of no error says nothing.
    named("some.Error", status_code=200, body={"code": 503}),
    caused(named("some.Error", status_code=200), TimeoutError()),
]

UNSIGNED = ssl.SSLCertVerificationError("self-signed")

PERMANENT = [
    *(of_openai(status) for status in (400, 401, 402, 403, 404, 413, 422)),
    of_openai(400, "content_filter"),
    of_openai(429, "insufficient_quota"),
    of_openai(429, "insufficient_quota", kind=OpenAIRateLimitError),
    of_openai(429, headers={"x-should-retry": "false"}),
    openai.ContentFilterFinishReasonError(),
    *(ContextOverflowError(), OutputParserException("no list")),
    openai.APIError("It failed.", REQUEST, body=None),
    *(ValueError(), KeyError("context"), Exception(), OSError(28, "No space left")),
    *(TransformerError("nothing usable"), StoreError("no")),
    caused(TransformerError("nothing usable"), TimeoutError()),
    *(asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(), GeneratorExit()),
    meanwhile(KeyboardInterrupt(), TimeoutError()),
    meanwhile(of_openai(400), of_openai(429)),
    caused(RuntimeError(), of_openai(404)),
    httpx.UnsupportedProtocol("htp://"),
    caused(openai.APIConnectionError(request=REQUEST), httpx.UnsupportedProtocol("htp://")),
    caused(
        openai.APIConnectionError(request=REQUEST), caused(httpx.ConnectError(""), UNSIGNED)
    ),
    *(UNSIGNED, aiohttp.InvalidURL("htp://"), requests.exceptions.InvalidURL()),
    named("some.ConnectionError"),
    named("some.Error", code=Code.MISSING),
    named("some.Error", status_code=True),
    named("some.Error", code=7, status="429 and more"),
    *(of_aws("ValidationException"), of_aws("AccessDeniedException", 403)),
    *(of_grpc(grpc.StatusCode.INVALID_ARGUMENT), of_grpc(grpc.StatusCode.UNAUTHENTICATED)),
    EvilError(),
]


@pytest.mark.parametrize("error", TRANSIENT, ids=repr)
def test_another_attempt_may_help(error):
    assert is_transient(error)


@pytest.mark.parametrize("error", PERMANENT, ids=repr)
def test_another_attempt_would_fail_too(error):
    assert not is_transient(error)


def test_an_error_hidden_with_from_none_does_not_count():
    error = meanwhile(RuntimeError(), TimeoutError())
    assert is_transient(error)
    error.__suppress_context__ = True
    assert not is_transient(error)


def test_errors_that_led_to_each_other_end():
    first, second = RuntimeError(), RuntimeError()
    first.__context__, second.__context__ = second, first
    assert not is_transient(first)
    assert retry_after(first, datetime.now(UTC)) is None


def test_a_chain_is_followed_only_so_far():
    def chain(length):
        error = TimeoutError()
        for _ in range(length):
            error = caused(RuntimeError(), error)
        return error

    assert is_transient(chain(10))
    assert not is_transient(chain(10_000))
