"""What the transformers that ask a language model have in common.

Each document is one call of the model. The calls of all documents, and of all
transformers side by side, run together, as many at a time as `max_concurrency` says.
"""

from __future__ import annotations

import logging
import random
from abc import abstractmethod
from datetime import UTC, datetime
from inspect import signature
from itertools import count
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
)

from langchain_core.prompts import BasePromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from langchain_rag._flow import Flow, call_as, gather, pause
from langchain_rag._identity import (
    NoIdentityError,
    class_of,
    digest,
    identity,
    identity_of_model,
    identity_of_prompt,
)
from langchain_rag.document_transformers._documents import made_of, name_of, shown
from langchain_rag.document_transformers._groups import Group
from langchain_rag.document_transformers.base import WindowTransformer
from langchain_rag.document_transformers.fingerprint import is_ours
from langchain_rag.document_transformers.llm.calls import (
    Asked,
    GetInput,
    Model,
    Piece,
    Prompt,
    context_of,
    pieces_of,
    text_of,
)
from langchain_rag.document_transformers.llm.memory import Memory, without_ours
from langchain_rag.document_transformers.llm.parsing import printable
from langchain_rag.document_transformers.llm.retries import Retries
from langchain_rag.document_transformers.overseer import Overseer, overseer_of
from langchain_rag.errors import ConfigurationError, TransformerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.documents import Document
    from langchain_core.prompt_values import PromptValue

__all__ = ["LLMDocumentTransformer", "check_positive", "named_constructor"]

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class _NamedConstructor(Protocol[P]):
    """A class method that takes a constructor's arguments, and returns what it is called on."""

    def __get__(self, instance: object, owner: type[T], /) -> Callable[P, T]: ...


def named_constructor(init: Callable[Concatenate[Any, P], None]) -> _NamedConstructor[P]:
    """Return `from_llm` for a class: its constructor, under the name that LangChain uses.

    One class method in the base, with `cls: Callable[P, T]`, would be shorter, but mypy
    refuses right calls of it through `type[...]` and `cls`.

    Args:
        init: The `__init__` of the class.

    Returns:
        A class method that takes the same arguments.
    """
    described = signature(init)
    with_prompt = [*described.parameters].index("prompt")  # `self` stands for none of them

    def from_llm(cls: type[T], /, *args: Any, **kwargs: Any) -> T:
        """Make a transformer for a model; the class describes the arguments."""
        if len(args) == with_prompt and "prompt" not in kwargs:
            # A subclass's own constructor may take it by its name only.
            kwargs["prompt"] = args[-1]
            args = args[:-1]
        return cls(*args, **kwargs)

    vars(from_llm)["__signature__"] = described.replace(return_annotation="Self")
    return cast("_NamedConstructor[P]", classmethod(from_llm))


def check_positive(**numbers: int) -> None:
    """Refuse numbers below 1.

    Args:
        **numbers: What the user gave, by the name of the argument.

    Raises:
        ConfigurationError: One is below 1.
    """
    for name, number in numbers.items():
        if number < 1:
            msg = f"{name} is {number}: give 1 or more."
            raise ConfigurationError(msg)


class LLMDocumentTransformer(WindowTransformer):
    """Base of the transformers that ask a language model about each document.

    Blank documents are passed over: they cost no call and have no results.

    A call that fails in passing (too many requests, a server that is down, a connection that
    breaks) is made again, later and later, as `retries` says; a server's Retry-After is
    honoured. That comes on top of what the model's own class does (`max_retries`).

    Attributes:
        retries: When to try again what failed in passing; set it on the transformer to
            change it.

    Args:
        llm: A chat model, a completion model, or either with arguments bound.
        prompt: A prompt template, or the text of one; None for the class's own.
        get_input: Makes the prompt's variables from a document.
        version: Identity that you vouch for, where the model or `get_input` has none.
        max_attempts: How often to ask where an answer has nothing usable in it.

    Raises:
        ConfigurationError: `max_attempts` is below 1, or the prompt needs a variable that
            nothing gives.
    """

    window_size: int = 32
    retries: Retries = Retries()
    _default_prompt: ClassVar[str]
    _inputs: ClassVar[tuple[str, ...]] = ("context",)
    """Variables that a prompt gets of a document where there is no `get_input`."""

    def __init__(
        self,
        llm: Model,
        prompt: Prompt | None = None,
        *,
        get_input: GetInput | None = None,
        version: str | None = None,
        max_attempts: int = 2,
    ) -> None:
        check_positive(max_attempts=max_attempts)
        if not isinstance(cast("object", llm), Runnable):
            msg = (
                f"llm is a {type(llm).__name__}: give a model, for example"
                " init_chat_model('openai:gpt-5-mini')."
            )
            raise ConfigurationError(msg)
        prompt = self._default_prompt if prompt is None else prompt
        self.llm = llm
        self.prompt: BasePromptTemplate[Any] = (
            PromptTemplate.from_template(prompt) if isinstance(prompt, str) else prompt
        )
        self.get_input: GetInput = get_input or context_of
        self.version = version
        self.reads_metadata = get_input is not None or not is_ours(self)
        self.max_attempts = max_attempts
        if get_input is None:
            self._check(dict.fromkeys(self._inputs, "") | self._variables())

    @abstractmethod
    def _pieces(self, answer: Any, asked: Asked) -> list[Piece]:
        """Return what is usable in an answer, perhaps nothing."""

    def _variables(self) -> dict[str, Any]:
        """Return the prompt's variables that are the same for every document."""
        return {}

    def _parameters(self) -> dict[str, Any]:
        """Return what the results depend on besides prompt, model and input."""
        return {name: identity(value) for name, value in self._variables().items()}

    @property
    def fingerprint(self) -> str | None:
        """Identity of class, prompt, model, `get_input`, parameters and `version`.

        None where one of them has no dependable identity and there is no `version`.
        """
        if self.version is None and not is_ours(self):
            return None
        try:
            return digest(
                {
                    "class": class_of(self),
                    "prompt": self._vouched(identity_of_prompt, self.prompt),
                    "model": self._vouched(identity_of_model, self.llm),
                    "get_input": self._vouched(identity, self.get_input),
                    "parameters": self._parameters(),
                    "version": self.version,
                }
            )
        except NoIdentityError:
            return None

    @property
    def fingerprint_of_answers(self) -> str | None:
        """Identity of what the model answers; by it a variation cache knows the answers.

        The `fingerprint`, where a transformer does nothing but ask.
        """
        return self.fingerprint

    def _vouched(self, identify: Callable[[Any], Any], part: object) -> Any:
        try:
            return identify(part)
        except NoIdentityError:
            if self.version is None:
                raise
            return {"vouched for": class_of(part)}

    def _transform_window(
        self, documents: Sequence[Document], config: RunnableConfig | None
    ) -> Flow[list[Group]]:
        pending = [
            self._asked(position, document)
            for position, document in enumerate(documents)
            if document.page_content.strip()
        ]
        found = yield from self._found(pending, config)
        made: list[Group] = [[] for _ in documents]
        for asked, pieces in zip(pending, found, strict=True):
            made[asked.position] = [self._made(piece, asked) for piece in pieces]
        return made

    def _found(
        self, pending: Sequence[Asked], config: RunnableConfig | None
    ) -> Flow[list[list[Piece]]]:
        """Ask what is not known from earlier, all at once.

        Args:
            pending: What to ask; each has a position of its own.
            config: The caller's config.

        Returns:
            What was found in each answer. Nothing where that failed, and the overseer noted it.
        """
        memory = Memory(type(self).__name__, self.fingerprint_of_answers, config)
        overseer = overseer_of(config)
        known = yield from memory.recall(pending)
        overseer.found(len(known))
        new = [asked for asked in pending if asked.position not in known]
        own = self._config(config)
        flows = [self._attempt(asked, own, memory, overseer) for asked in new]
        results = yield from self._side_by_side(new, flows)
        for asked, pieces in zip(new, pieces_of(self, new, results), strict=True):
            known[asked.position] = pieces
        return [known[asked.position] for asked in pending]

    def _side_by_side(
        self,
        asked: Sequence[Asked],  # noqa: ARG002 - for those to whom the order matters
        flows: Sequence[Flow[list[Piece]]],
    ) -> Flow[list[list[Piece] | Exception]]:
        """Run the flows that ask, and return their results in the same order."""
        return (yield from gather(flows))

    def _attempt(
        self, asked: Asked, config: RunnableConfig, memory: Memory, overseer: Overseer
    ) -> Flow[list[Piece]]:
        """Ask about one document, unless the overseer wants to know only what it would take."""
        if overseer.dry_run:
            overseer.left_out(asked.prompt)
            return self._expected(asked)
        try:
            config = overseer.config_for(asked.document, config)
            return (yield from self._ask(asked, config, memory))
        except Exception as error:
            if not overseer.note(asked.document, _named(self, error)):
                raise
            return []

    def _expected(self, asked: Asked) -> list[Piece]:
        """Return as many pieces as an answer is likely to have, for a dry run."""
        return [Piece(self.kind or type(self).__name__, asked.document.page_content)]

    def _ask(self, asked: Asked, config: RunnableConfig, memory: Memory) -> Flow[list[Piece]]:
        """Ask about one document until an answer has something usable in it."""
        answer: Any = None
        for attempt in range(self.max_attempts):
            answer = yield from self._answer(asked, config, attempt)
            if pieces := self._pieces(answer, asked):
                yield from memory.remember(asked, pieces)
                return pieces
        raise self._unusable(asked, answer)

    def _answer(
        self,
        asked: Asked,
        config: RunnableConfig,
        attempt: int,  # noqa: ARG002 - for those that ask differently the second time
    ) -> Flow[Any]:
        """Ask once."""
        answer = yield from self._call(self.llm, asked.prompt, asked, config)
        return text_of(answer)

    def _call(
        self,
        model: Runnable[Any, Any],
        prompt: PromptValue,
        asked: Asked,
        config: RunnableConfig,
        *,
        refuses: Callable[[Exception], bool] = lambda _: False,
    ) -> Flow[Any]:
        """Call a model, again and again while it fails in passing.

        Args:
            model: What to call.
            prompt: What to ask.
            asked: What it is about.
            config: For the call.
            refuses: Tells failures that will not pass.

        Returns:
            The answer.
        """
        for attempt in count(1):
            try:
                return (
                    yield from call_as("counted", model.invoke, model.ainvoke, prompt, config)
                )
            except Exception as error:
                seconds = self.retries.delay(
                    attempt,
                    error,
                    random=random.random,
                    now=datetime.now(UTC),
                )
                if seconds is None or refuses(error):
                    raise
                _log.warning(
                    "%s: %s for document %s; trying again in %.1f s.",
                    type(self).__name__,
                    type(error).__name__,
                    name_of(asked.document),
                    seconds,
                )
                yield from pause(seconds)
        raise AssertionError  # pragma: no cover - `count` does not end

    def _config(self, config: RunnableConfig | None) -> RunnableConfig:
        own = ensure_config(without_ours(config or {}))
        # One id cannot name several runs.
        own.pop("run_id", None)
        own.setdefault("run_name", type(self).__name__)
        return own

    def _asked(self, position: int, document: Document) -> Asked:
        inputs = self._variables() | dict(self.get_input(shown(document)))
        inputs = {
            name: printable(value) if isinstance(value, str) else value
            for name, value in inputs.items()
        }
        self._check(inputs)
        return Asked(position, document, inputs, self.prompt)

    def _check(self, inputs: Mapping[str, Any]) -> None:
        missing = sorted(set(self.prompt.input_variables) - inputs.keys())
        if missing:
            msg = (
                f"The prompt of {type(self).__name__} needs {missing}, and is given"
                f" {sorted(inputs)}: change the prompt, or return them from get_input."
            )
            raise ConfigurationError(msg)

    def _made(self, piece: Piece, asked: Asked) -> Document:
        return made_of(
            asked.document,
            piece.text,
            asked.document.metadata,
            transformer=type(self).__name__,
            kind=piece.kind,
        )

    def _unusable(self, asked: Asked, answer: Any) -> TransformerError:
        msg = (
            f"{type(self).__name__}: nothing usable in the model's answer for document"
            f" {name_of(asked.document)}, asked {self.max_attempts} times."
            f" The answer begins {str(answer)[:80]!r}. Change the prompt or the model, or"
            " leave the document out."
        )
        return TransformerError(msg)


def _named(transformer: LLMDocumentTransformer, error: Exception) -> Exception:
    """Return an error that says which transformer it is of."""
    if isinstance(error, TransformerError):
        return error
    named = TransformerError(f"{type(transformer).__name__}: the model call failed: {error!r}")
    named.__cause__ = error
    return named
