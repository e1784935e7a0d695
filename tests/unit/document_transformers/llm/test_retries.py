"""After how long a failed model call is made again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import requests
from hypothesis import example, given
from hypothesis import strategies as st

from langchain_rag.document_transformers.llm.retries import Retries, retry_after
from langchain_rag.errors import ConfigurationError
from tests.unit.document_transformers.llm.model_errors import (
    EvilError,
    caused,
    named,
    of_aws,
    of_openai,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "53.5s"}

OF_GENAI = {
    "error": {"details": [{"@type": "type.googleapis.com/google.rpc.Help"}, RETRY_INFO]}
}
HALF = named("google.protobuf.Duration", seconds=2, nanos=500_000_000)
OF_API_CORE = [named("google.rpc.Help"), named("google.rpc.RetryInfo", retry_delay=HALF)]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"RETRY-AFTER": "0"}, 0.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After-Ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After-Ms": "soon", "Retry-After": "9"}, 9.0),
        ({"Retry-After": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"Retry-After": format_datetime(NOW - timedelta(days=1), usegmt=True)}, 0.0),
        # The two old forms of a date that RFC 9110 has a recipient accept.
        ({"Retry-After": "Monday, 30-Nov-26 12:00:05 GMT"}, 5.0),
        ({"Retry-After": "Mon Nov 30 12:00:05 2026"}, 5.0),
        ({"Retry-After": "Mon, 30 Nov 2026 14:00:05 +0200"}, 5.0),
        ({"Retry-After": "9" * 400}, float("inf")),
        *(
            ({"Retry-After": text}, None)
            for text in ("", "soon", "nan", "inf", "1_0", "1e3", "٣")
        ),
        ({"Retry-After": "Mon, 99 Nov 2026 12:00:05 GMT"}, None),
        ({"X-Other": "3"}, None),
    ],
)
@pytest.mark.parametrize(
    "carry",
    [
        lambda headers: named("some.Error", headers=headers),
        lambda headers: named("some.Error", response=named("some.Response", headers=headers)),
        lambda headers: caused(RuntimeError(), named("some.Error", headers=headers)),
        lambda headers: of_aws("Throttling", headers=headers),
    ],
    ids=["own", "response", "cause", "aws"],
)
def test_the_wait_is_read(headers, seconds, carry):
    assert retry_after(carry(headers), NOW) == seconds


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (of_openai(429, headers={"Retry-After": "4"}), 4.0),
        (requests.HTTPError(response=requests.Response()), None),
        (named("google.genai.errors.ClientError", details=OF_GENAI), 53.5),
        (named("google.api_core.exceptions.TooManyRequests", details=OF_API_CORE), 2.5),
        (named("some.Error", details=[3, None, {"retryDelay": 5}]), None),
        (named("some.Error", headers=[("Retry-After", "3")]), None),
        (EvilError(), None),
    ],
)
def test_the_wait_is_read_from_what_libraries_raise(error, seconds):
    assert retry_after(error, NOW) == seconds


@given(st.text())
@example("Mon, 30 Nov 99999999999999999999 12:00:05 GMT")
@example("Fri, 31 Dec 9999 23:59:59 -2359")
def test_no_header_raises(text):
    seconds = retry_after(named("some.Error", headers={"Retry-After": text}), NOW)
    assert seconds is None or seconds >= 0


def delay(retries, attempt, error, random=0.5):
    return retries.delay(attempt, error, random=lambda: random, now=NOW)


def asks(seconds):
    return of_openai(429, headers={"Retry-After": str(seconds)})


def test_the_ceiling_doubles_up_to_the_most():
    retries = Retries(attempts=9, first=1, most=10)
    waits = [delay(retries, attempt, TimeoutError(), random=1.0) for attempt in range(1, 10)]
    assert waits == [1, 2, 4, 8, 10, 10, 10, 10, None]


def test_the_jitter_is_full():
    assert delay(Retries(), 3, TimeoutError(), random=0.0) == 0
    assert delay(Retries(), 3, TimeoutError(), random=0.25) == 0.5


def test_one_attempt_is_never_followed_by_another():
    assert delay(Retries(attempts=1), 1, TimeoutError()) is None


def test_what_does_not_heal_is_not_tried_again():
    assert delay(Retries(), 1, of_openai(400)) is None
    assert delay(Retries(), 1, of_openai(429, "insufficient_quota")) is None


def test_a_provider_that_asks_for_too_long_is_not_waited_for():
    assert delay(Retries(), 1, asks(300)) == 300.25
    assert delay(Retries(), 1, asks(300.5)) is None
    assert delay(Retries(longest_wait=5), 1, asks(6)) is None
    assert delay(Retries(), 1, asks("9" * 400)) is None


def test_those_who_are_told_the_same_come_back_apart():
    assert {delay(Retries(), 1, asks(3), random=part) for part in (0, 0.5)} == {3.0, 3.25}


@given(
    attempts=st.integers(1, 2000),
    attempt=st.integers(1, 2000),
    first=st.floats(0, 1e6),
    more=st.floats(0, 1e6),
    longest=st.floats(0, 1e6),
    asked=st.none() | st.floats(-10, 2e6).map(lambda number: round(number, 3)),
    random=st.floats(0, 1, exclude_max=True),
)
def test_a_wait_is_within_its_bounds(attempts, attempt, first, more, longest, asked, random):
    retries = Retries(attempts=attempts, first=first, most=first + more, longest_wait=longest)
    error = TimeoutError() if asked is None else asks(f"{asked:.3f}")
    least = max(0.0, asked or 0.0)
    wait = delay(retries, attempt, error, random)
    if attempt >= attempts or least > longest:
        assert wait is None
    else:
        assert wait is not None
        assert least <= wait <= least + retries.most


@pytest.mark.parametrize(
    "arguments",
    [
        {"attempts": 0},
        {"first": -1},
        {"first": float("nan")},
        {"first": 2, "most": 1},
        {"most": float("inf")},
        {"longest_wait": -1},
        {"longest_wait": float("nan")},
        {"longest_wait": float("inf")},
    ],
)
def test_what_makes_no_sense_is_refused(arguments):
    with pytest.raises(ConfigurationError, match=next(iter(arguments))):
        Retries(**arguments)
