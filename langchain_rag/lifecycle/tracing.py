"""One LangChain run for each document, above the runs of the model calls made for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    CallbackManager,
    CallbackManagerForChainRun,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)

from langchain_rag._flow import Flow, call
from langchain_rag.document_transformers.llm.usage import ModelUsage
from langchain_rag.lifecycle.sources import SourceDocument

_NAME = "import_document"


class Runs:
    """The runs of the documents of a batch.

    Attributes:
        configs: For each document what its model calls use in place of the batch's callbacks;
            empty where nobody listens.
    """

    def __init__(self) -> None:
        self.configs: list[RunnableConfig] = []
        self._runs: list[CallbackManagerForChainRun] = []
        self._aruns: list[AsyncCallbackManagerForChainRun] = []

    def start(self, batch: Sequence[SourceDocument], config: RunnableConfig) -> None:
        """Begin a run for each document.

        Args:
            batch: The documents.
            config: The caller's.
        """
        manager = get_callback_manager_for_config(config)
        if _listens(manager):
            for source in batch:
                run = manager.on_chain_start({}, _inputs(source), name=_NAME)
                self._runs.append(run)
                self.configs.append(RunnableConfig(callbacks=run.get_child()))

    async def astart(self, batch: Sequence[SourceDocument], config: RunnableConfig) -> None:
        """Begin a run for each document; see `start`."""
        manager = get_async_callback_manager_for_config(config)
        if _listens(manager):
            for source in batch:
                run = await manager.on_chain_start({}, _inputs(source), name=_NAME)
                self._aruns.append(run)
                self.configs.append(RunnableConfig(callbacks=run.get_child()))

    def ended(self, errors: Mapping[int, BaseException]) -> Flow[None]:
        """End the runs.

        Args:
            errors: What failed, by the number of the document.
        """

        def end() -> None:
            for number, run in enumerate(self._runs):
                if number in errors:
                    run.on_chain_error(errors[number])
                else:
                    run.on_chain_end({})

        async def aend() -> None:
            for number, run in enumerate(self._aruns):
                if number in errors:
                    await run.on_chain_error(errors[number])
                else:
                    await run.on_chain_end({})

        if self.configs:
            yield from call(end, aend)

    def failed(self, error: BaseException) -> Flow[None]:
        """End all runs with an error.

        Args:
            error: What failed.
        """
        yield from self.ended(dict.fromkeys(range(len(self.configs)), error))


def started(batch: Sequence[SourceDocument], config: RunnableConfig) -> Flow[Runs]:
    """Begin a run for each document, if anybody listens.

    Args:
        batch: The documents.
        config: The caller's.

    Returns:
        The runs.
    """
    runs = Runs()
    yield from call(runs.start, runs.astart, batch, config)
    return runs


def _listens(manager: CallbackManager | AsyncCallbackManager) -> bool:
    # What only counts has no use for a run.
    return not all(isinstance(handler, ModelUsage) for handler in manager.handlers)


def _inputs(source: SourceDocument) -> dict[str, Any]:
    return {"document_id": source.document_id, "source": source.source_id}
