"""Whether a failed model call is made again, and after how long.

Everything here is a pure decision: who calls it sleeps, and brings the time and the random
numbers. The wait is an exponential backoff with full jitter (Marc Brooker, "Exponential
Backoff and Jitter", AWS Architecture Blog, 2015): a random share of a ceiling that doubles.
Of the jitters compared there it makes the fewest calls, and unlike the decorrelated one it
need not know the wait before.

Why not tenacity, which LangChain brings along: its `wait_random_exponential` is the same line
of arithmetic, but draws from the global generator and reads the state of tenacity's own loop.
Here the loop is a flow, and Retry-After and the choice of errors would be ours all the same.

Example:
    >>> from datetime import UTC, datetime
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> retries = Retries(attempts=3)
    >>> [
    ...     retries.delay(attempt, TimeoutError(), random=lambda: 0.5, now=now)
    ...     for attempt in (1, 2, 3)
    ... ]
    [0.25, 0.5, None]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from langchain_core.exceptions import ModelError

from langchain_rag.document_transformers.llm.model_errors import (
    chain_of,
    headers_of,
    labels_of,
    names_of,
    status_of,
    wait_of,
)
from langchain_rag.errors import ConfigurationError, RAGError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

__all__ = ["Retries", "is_transient", "retry_after"]

# A server that does not know a method, or a version of HTTP, will not learn it.
_TRANSIENT_STATUS: Final = {408, 409, 425, 429, *range(500, 600)} - {501, 505}

_PERMANENT_LABELS: Final = {
    # 429, and stays so until somebody pays
    *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"),
    *("content_filter", "content_policy_violation", "context_length_exceeded"),
}

_TRANSIENT_LABELS: Final = {
    # OpenAI and Anthropic, in a stream that began with 200
    *("overloaded_error", "rate_limit_error", "rate_limit_exceeded", "server_error"),
    # AWS, of which many come with status 400
    *("Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled"),
    *("TooManyRequestsException", "RequestLimitExceeded", "SlowDown", "RequestTimeout"),
    *("ProvisionedThroughputExceededException", "ModelNotReadyException"),
    *("ServiceUnavailable", "ServiceUnavailableException", "ModelTimeoutException"),
    *("InternalServerException", "InternalFailure"),
    # gRPC
    *("RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL"),
}

_TRANSIENT_CLASSES: Final = {
    *("builtins.ConnectionError", "builtins.TimeoutError", "socket.gaierror"),
    *("ssl.SSLEOFError", "http.IncompleteRead"),
    *(f"{httpx}.TransportError" for httpx in ("httpx", "httpx2")),
    *(
        f"{httpcore}.{name}"
        for httpcore in ("httpcore", "httpcore2")
        for name in ("NetworkError", "TimeoutException", "RemoteProtocolError", "ProxyError")
    ),
    *(
        f"{client}.{name}"
        for client in ("openai", "anthropic", "groq", "cerebras", "together")
        for name in ("APIConnectionError", "APITimeoutError")
    ),
    *("anyio.BrokenResourceError", "anyio.EndOfStream"),
    *("requests.ConnectionError", "requests.Timeout", "requests.ChunkedEncodingError"),
    *("urllib3.ProtocolError", "urllib3.TimeoutError", "urllib3.NewConnectionError"),
    *("aiohttp.ClientConnectionError", "aiohttp.ClientPayloadError"),
    *("botocore.ConnectionError", "botocore.HTTPClientError"),
    *("google.TooManyRequests", "google.ServiceUnavailable", "google.InternalServerError"),
    *("google.BadGateway", "google.GatewayTimeout", "google.Aborted", "google.TransportError"),
}

_PERMANENT_CLASSES: Final = {
    # What is below a connection error that no patience mends
    "ssl.SSLCertVerificationError",
    *(
        f"{package}.{name}"
        for package in ("httpx", "httpx2", "httpcore", "httpcore2")
        for name in ("UnsupportedProtocol", "LocalProtocolError")
    ),
    "openai.ContentFilterFinishReasonError",
}


def is_transient(error: BaseException) -> bool:
    """Return whether the same call may well succeed a little later.

    The error and what led to it are asked in turn, the last one raised first, and the first
    that says something decides. A bare `ValueError` says nothing, so that one in which a
    library wraps a throttled call is judged by that call. Where the transport failed, the
    whole chain is asked for a reason that stays, such as a certificate.

    Args:
        error: What the model call raised.

    Returns:
        True for the HTTP statuses 408, 409, 425, 429 and 5xx but 501 and 505, for what
        providers call throttled or overloaded, and for connections that fail, break or take
        too long. False for all else: other statuses, refusals, a quota that is used up, our
        own errors, `asyncio.CancelledError`, `KeyboardInterrupt`.

    Example:
        >>> is_transient(ConnectionResetError()), is_transient(ValueError())
        (True, False)
    """
    for link in chain_of(error):
        verdict = _verdict(link)
        if verdict is not None:
            return verdict
    return False


def _verdict(error: BaseException) -> bool | None:
    """Return what one error says of itself, or None."""
    if not isinstance(error, Exception) or isinstance(error, RAGError):
        return False
    answered = _verdict_of_provider(error)
    return _verdict_of_client(error) if answered is None else answered


def _verdict_of_provider(error: Exception) -> bool | None:
    """Judge by what the provider answered, if it did."""
    labels = labels_of(error)
    if not labels.isdisjoint(_PERMANENT_LABELS):
        return False
    # OpenAI and Anthropic send it, and their own clients obey.
    told = {"true": True, "false": False}.get(headers_of(error).get("x-should-retry", ""))
    if told is not None:
        return told
    if not labels.isdisjoint(_TRANSIENT_LABELS):
        return True
    status = status_of(error)
    return None if status is None else status in _TRANSIENT_STATUS


def _verdict_of_client(error: Exception) -> bool | None:
    """Judge by the class of the error."""
    if isinstance(error, ModelError) and not error.is_retryable:
        return False
    names = names_of(error)
    if isinstance(error, ModelError) or not names.isdisjoint(_TRANSIENT_CLASSES):
        return all(names_of(link).isdisjoint(_PERMANENT_CLASSES) for link in chain_of(error))
    return None if names.isdisjoint(_PERMANENT_CLASSES) else False


def retry_after(error: BaseException, now: datetime) -> float | None:
    """Return how many seconds the provider asks to wait.

    It is read from the headers `retry-after-ms` and `Retry-After` (a number, or a date as in
    RFC 9110, section 5.6.7), and from Google's `RetryInfo`, of the error or of what led to it.

    Args:
        error: What the model call raised.
        now: The time, with a time zone.

    Returns:
        Seconds, 0 for a time that is past. None where nothing readable is said.

    Example:
        >>> from datetime import UTC, datetime
        >>> error = ConnectionError()
        >>> error.headers = {"Retry-After": "Thu, 01 Jan 2026 00:00:07 GMT"}
        >>> retry_after(error, now=datetime(2026, 1, 1, tzinfo=UTC))
        7.0
    """
    for link in chain_of(error):
        seconds = wait_of(link, now)
        if seconds is not None:
            return max(0.0, seconds)
    return None


@dataclass(frozen=True)
class Retries:
    """How often a failed model call is made again, and how long before.

    Args:
        attempts: How often a call is made in all. 1: never again.
        first: Ceiling of the first wait, in seconds. It doubles with every attempt.
        most: What the ceiling never exceeds, in seconds.
        longest_wait: A provider that asks to wait longer than so many seconds is not waited
            for: the call fails.

    Raises:
        ConfigurationError: One of them is out of range.
    """

    attempts: int = 6
    first: float = 0.5
    most: float = 60.0
    longest_wait: float = 300.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            msg = f"attempts is {self.attempts}: give 1 or more. 1 makes each call once."
            raise ConfigurationError(msg)
        # Written so that a NaN is refused too.
        if not 0 <= self.first <= self.most < float("inf"):
            msg = f"first is {self.first} and most {self.most}: give 0 <= first <= most."
            raise ConfigurationError(msg)
        if not 0 <= self.longest_wait < float("inf"):
            msg = f"longest_wait is {self.longest_wait}: give seconds, 0 or more."
            raise ConfigurationError(msg)

    def delay(
        self,
        attempt: int,
        error: BaseException,
        *,
        random: Callable[[], float],
        now: datetime,
    ) -> float | None:
        """Decide what follows a failed attempt.

        Args:
            attempt: How many attempts have failed, this one included: 1 after the first.
            error: What this one raised.
            random: Gives numbers from 0 up to 1, such as `random.random`.
            now: The time, with a time zone.

        Returns:
            Seconds to wait before the next attempt; None to give up and raise `error`. Where
            the provider names a time, never less than that: the jitter comes on top, since
            all who were turned away at once were told the same.
        """
        if attempt >= self.attempts or not is_transient(error):
            return None
        asked = retry_after(error, now) or 0.0
        if asked > self.longest_wait:
            return None
        ceiling = min(self.most, self.first * 2.0 ** min(attempt - 1, 64))
        return asked + random() * ceiling
