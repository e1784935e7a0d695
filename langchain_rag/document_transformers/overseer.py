"""What an import learns of its transformers' work, and decides about it.

An overseer travels in the config, as the variation cache does, so that it reaches transformers
at any depth, and none has to be changed for it. Which input of the import a document stems
from is read from its lineage tag, which goes through every transformer unchanged.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.messages.utils import count_tokens_approximately

from langchain_rag._reserved import LINEAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.documents import Document
    from langchain_core.prompt_values import PromptValue
    from langchain_core.runnables import RunnableConfig

__all__ = ["OVERSEER", "Overseer", "overseer_of"]

OVERSEER: Final = "langchain_rag_overseer"
"""Key of `config["configurable"]` whose value is the overseer."""


class Overseer:
    """Follows one batch through one transformer.

    Args:
        config: The caller's, for transformers that accept one.
        tolerant: Whether what fails for one document is noted, and the others go on.
        dry_run: Whether models are not asked, and what asking them would take is counted.
        configs: For each input what its calls use in place of the batch's callbacks and
            tags; empty for the same everywhere.

    Attributes:
        troubles: What failed, by the number of the input.
        cache_hits: Answers that were found in the variation cache.
        calls: Calls that a dry run left out.
        tokens: About how many tokens their prompts have.
    """

    def __init__(
        self,
        config: RunnableConfig | None = None,
        *,
        tolerant: bool = False,
        dry_run: bool = False,
        configs: Sequence[RunnableConfig] = (),
    ) -> None:
        self.tolerant = tolerant
        self.dry_run = dry_run
        self.troubles: defaultdict[int, list[Exception]] = defaultdict(list)
        self.cache_hits = 0
        self.calls = 0
        self.tokens = 0
        self._config = config or {}
        self._configs = configs
        self._lock = threading.Lock()

    @property
    def config(self) -> RunnableConfig:
        """The caller's config, which carries the overseer."""
        configurable: dict[str, Any] = self._config.get("configurable") or {}
        carrying = self._config.copy()
        carrying["configurable"] = {**configurable, OVERSEER: self}
        return carrying

    def note(self, document: Document, error: Exception) -> bool:
        """Note that a document could not be transformed.

        Args:
            document: What was transformed; an input, or something that was made of one.
            error: What failed.

        Returns:
            Whether that will do; where not, the error has to be raised.
        """
        number = _number(document)
        if not self.tolerant or number is None:
            return False
        self.trouble(number, error)
        return True

    def trouble(self, number: int, error: Exception) -> None:
        """Note that an input could not be transformed.

        Args:
            number: Its number.
            error: What failed.
        """
        with self._lock:
            self.troubles[number].append(error)

    def found(self, answers: int) -> None:
        """Count answers of the cache.

        Args:
            answers: How many.
        """
        with self._lock:
            self.cache_hits += answers

    def left_out(self, prompt: PromptValue) -> None:
        """Count a call that a dry run leaves out.

        Args:
            prompt: What the model would be asked.
        """
        with self._lock:
            self.calls += 1
            self.tokens += count_tokens_approximately(prompt.to_messages())

    def config_for(self, document: Document, config: RunnableConfig) -> RunnableConfig:
        """Return the config of a call about a document.

        Args:
            document: What the call is about.
            config: That of the batch.
        """
        number = _number(document)
        if number is None or number >= len(self._configs):
            return config
        own = config.copy()
        own.update(self._configs[number])
        return own


def overseer_of(config: RunnableConfig | None) -> Overseer:
    """Return the overseer of a batch; one that decides nothing where there is none.

    Args:
        config: The caller's config.
    """
    configurable: dict[str, Any] = (config or {}).get("configurable") or {}
    found = configurable.get(OVERSEER)
    return found if isinstance(found, Overseer) else Overseer()


def _number(document: Document) -> int | None:
    tag = cast("object", document.metadata.get(LINEAGE))
    return int(tag) if isinstance(tag, str) and tag.isdecimal() else None
