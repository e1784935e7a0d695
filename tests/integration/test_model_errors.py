"""Errors of a model as `langchain_openai` raises them, from a real HTTP server."""

from __future__ import annotations

import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from langchain_rag import RAGVectorStore
from langchain_rag.document_transformers import ByteStoreVariationCache, SummarizeTransformer
from langchain_rag.document_transformers.llm.model_errors import chain_of, names_of
from langchain_rag.document_transformers.llm.retries import Retries, is_transient, retry_after
from langchain_rag.errors import TransformerError
from langchain_rag.testing import CountingEmbeddings, audit
from tests.model_server import ModelServer, Reset, Stall, Status, refusal

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = format_datetime(NOW + timedelta(seconds=7), usegmt=True)


def model(url, **kwargs):
    kwargs = {"timeout": 10, **kwargs}
    return ChatOpenAI(
        model="scripted", base_url=url, api_key=SecretStr("none"), max_retries=0, **kwargs
    )


async def error_of(driver, llm, prompt="Why?"):
    try:
        await driver(llm, "invoke", prompt)
    except Exception as error:
        return error
    pytest.fail("The model answered.")


def names(error):
    return set().union(*map(names_of, chain_of(error)))


@pytest.mark.parametrize(
    ("answer", "transient", "wait"),
    [
        (Status(429, {"Retry-After": "3"}, "rate_limit_exceeded"), True, 3.0),
        (Status(429, {"retry-after-ms": "250", "Retry-After": "1"}), True, 0.25),
        (Status(429, {"RETRY-AFTER": LATER}), True, 7.0),
        (Status(429, {"Retry-After": "soon"}), True, None),
        (Status(429, {"Retry-After": "3"}, "insufficient_quota"), False, 3.0),
        (Status(503, {"Retry-After": "0"}), True, 0.0),
        (Status(500), True, None),
        (Status(529), True, None),
        (Status(408), True, None),
        (Status(409), True, None),
        (Status(400), False, None),
        (Status(401), False, None),
        (Status(403), False, None),
        (Status(404), False, None),
        (Status(422), False, None),
        (Status(500, {"x-should-retry": "false"}), False, None),
        (refusal(), False, None),
    ],
    ids=lambda value: f"{value.status}-{value.code}" if isinstance(value, Status) else None,
)
async def test_a_status_is_judged(driver, answer, transient, wait):
    with ModelServer(lambda body, earlier: answer) as server:
        error = await error_of(driver, model(server.url))
    assert error.status_code == answer.status
    assert error.code == answer.code
    assert is_transient(error) is transient
    assert retry_after(error, NOW) == wait
    assert len(server.requests) == 1


async def test_a_connection_that_is_reset_half_way_is_transient(driver):
    with ModelServer(lambda body, earlier: Reset()) as server:
        error = await error_of(driver, model(server.url))
    # The answer began, so it is no connection that was refused; and it is a reset, not an end.
    assert names(error) >= {"builtins.ConnectionResetError", "openai.APIConnectionError"}
    assert is_transient(error)
    assert retry_after(error, NOW) is None
    assert len(server.requests) == 1


async def test_a_call_that_takes_too_long_is_transient(driver):
    with ModelServer(lambda body, earlier: Stall()) as server:
        begin = time.monotonic()
        error = await error_of(driver, model(server.url, timeout=0.2))
    assert time.monotonic() - begin < 10, "the server waited for its stall"
    assert "openai.APITimeoutError" in names(error)
    assert is_transient(error)


async def test_a_server_that_is_not_there_is_transient(driver):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    error = await error_of(driver, model(f"http://127.0.0.1:{port}/v1"))
    assert "openai.APIConnectionError" in names(error)
    assert is_transient(error)


async def test_an_address_that_is_none_is_not(driver):
    error = await error_of(driver, model("htp://127.0.0.1/v1"))
    assert "openai.APIConnectionError" in names(error)
    assert not is_transient(error)


async def test_the_script_sees_how_often_a_prompt_was_asked(driver):
    def script(body, earlier):
        return Status(429, {"Retry-After": "1"}) if earlier == 0 else f"{earlier} before"

    with ModelServer(script) as server:
        llm = model(server.url)
        for prompt in ("a", "b"):
            assert is_transient(await error_of(driver, llm, prompt))
            assert (await driver(llm, "invoke", prompt)).content == "1 before"
        assert [(one.prompt, one.earlier) for one in server.requests] == [
            *(("a", 0), ("a", 1)),
            *(("b", 0), ("b", 1)),
        ]
        assert [one.body["model"] for one in server.of("a")] == ["scripted", "scripted"]
    times = [one.at for one in server.requests]
    assert times == sorted(times)


async def test_after_a_reset_the_same_client_goes_on(driver):
    with ModelServer(lambda body, earlier: "well" if earlier else Reset()) as server:
        llm = model(server.url)
        await error_of(driver, llm)
        assert (await driver(llm, "invoke", "Why?")).content == "well"


def test_calls_are_answered_side_by_side():
    together = threading.Barrier(4)

    def script(body, earlier):
        together.wait(timeout=10)
        return "all here"

    with ModelServer(script) as server:
        answers = model(server.url).batch(list("abcd"))
    assert [answer.content for answer in answers] == ["all here"] * 4
    assert server.most == 4


def test_an_error_in_the_script_is_not_lost():
    def script(body, earlier):
        msg = "no such script"
        raise LookupError(msg)

    with (
        pytest.raises(LookupError, match="no such script"),
        ModelServer(script) as server,
        pytest.raises(Exception, match="500"),
    ):
        model(server.url).invoke("Why?")


def test_no_thread_outlives_the_server():
    def threads():
        theirs = ("serve_forever", "process_request_thread")
        return [
            one for one in threading.enumerate() if any(name in one.name for name in theirs)
        ]

    with ModelServer(lambda body, earlier: "well") as server:
        model(server.url).invoke("Why?")
        # One that accepts, and one for the connection that the client keeps.
        assert len(threads()) == 2
    assert not threads()


# --- through a whole rag.index() ---------------------------------------------------------


PAGES = [Document(f"page {n:02}", metadata={"source": f"s{n % 2}"}) for n in range(6)]


def store(url, retries=None, **kwargs):
    summaries = SummarizeTransformer.from_llm(model(url, **kwargs), prompt="{context}")
    summaries.retries = (
        Retries(attempts=3, first=0.01, most=0.02) if retries is None else retries
    )
    rag, _ = RAGVectorStore.from_vs_in_memory(
        InMemoryVectorStore(CountingEmbeddings()),
        chunk_transformer=summaries,
        variation_cache=ByteStoreVariationCache(InMemoryByteStore()),
    )
    return rag


def failing_first(answer, page="page 03", times=1):
    """A script in which one page fails for a while."""

    def script(body, earlier):
        text = body["messages"][-1]["content"]
        return answer if page in text and earlier < times else f"On {text}."

    return script


async def test_case_4_04_retry_after_is_honoured_through_an_import(driver):
    busy = Status(429, {"Retry-After": "1"}, "rate_limit_exceeded")
    with ModelServer(failing_first(busy)) as server:
        rag = store(server.url)
        report = await driver(rag, "index", PAGES)
        first, second = server.of("page 03")
        # Not before it was told to, and not much later. The others did not wait for it.
        assert 1.0 <= second.at - first.at < 5
        others = [one.at for one in server.requests if "page 03" not in one.prompt]
        assert len(others) == 5
        assert max(others) < second.at
    assert (report.num_added, report.failed) == (6, [])
    assert report.llm_calls == 7
    # As the server says of each answer.
    assert (report.input_tokens, report.output_tokens) == (6, 6)
    assert audit(rag) == []


@pytest.mark.parametrize(
    "fault",
    [Reset(), Stall(), Status(500), Status(503, {"Retry-After": "0"})],
    ids=["reset", "timeout", "500", "503"],
)
async def test_case_4_04_an_import_goes_on_after_a_failure_that_passes(driver, fault):
    with ModelServer(failing_first(fault, times=2)) as server:
        rag = store(server.url, timeout=0.5)
        report = await driver(rag, "index", PAGES)
        assert len(server.of("page 03")) == 3
    assert len(server.requests) == 8
    assert (report.num_added, report.failed, report.llm_calls) == (6, [], 8)
    assert len(rag.vectorstore.store) == 6
    assert audit(rag) == []


@pytest.mark.parametrize("on_error", ["raise", "skip", "copy"])
@pytest.mark.parametrize(
    ("fault", "says", "attempts"),
    [
        (Reset(), "Connection error", 3),
        (Stall(), "timed out", 3),
        (Status(429, {"Retry-After": "0"}, "rate_limit_exceeded"), "code: 429", 3),
        (Status(429, {"Retry-After": "3600"}, "rate_limit_exceeded"), "code: 429", 1),
        (Status(429, {}, "insufficient_quota"), "code: 429", 1),
        (refusal(), "content filter", 1),
    ],
    ids=["reset", "timeout", "busy", "busy for an hour", "quota", "refused"],
)
async def test_case_4_04_a_failure_that_stays(driver, on_error, fault, says, attempts):
    if on_error != "skip" and isinstance(fault, Status) and fault.code != "content_filter":
        pytest.skip("the same as for the others, and each takes a server of its own")
    with ModelServer(failing_first(fault, times=99)) as server:
        rag = store(server.url, timeout=0.3)
        if on_error == "raise":
            with pytest.raises(TransformerError, match="for document") as caught:
                await driver(rag, "index", PAGES)
            reason = str(caught.value) + repr(caught.value.__cause__)
            assert len(rag.vectorstore.store) == 0
        else:
            report = await driver(rag, "index", PAGES, on_error=on_error)
            (failure,) = report.failed
            reason = failure.reason
            assert report.num_added == (6 if on_error == "copy" else 5)
            texts = {row["text"] for row in rag.vectorstore.store.values()}
            assert ("page 03" in texts) is (on_error == "copy")
        assert says in reason
        assert len(server.of("page 03")) == attempts
        # Once it has passed, the same call does what is left, and asks for no more.
        server.script = failing_first("", times=0)
        answered = len({one.prompt for one in server.requests}) - 1
        before = len(server.requests)
        report = await driver(rag, "index", PAGES)
        assert report.failed == []
        assert len(server.requests) - before <= 6 - answered
        assert len(server.of("page 03")) == attempts + 1
    assert sorted(row["text"] for row in rag.vectorstore.store.values()) == sorted(
        f"SUMMARY:\nOn page {n:02}." for n in range(6)
    )
    assert audit(rag) == []
