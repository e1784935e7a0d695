"""Which output of a transformer came from which input.

LangChain's transformers take many documents and return many, and say nothing of who came
from whom. So each input is a copy with a tag in its metadata, the whole batch is handed over
at once (a model then sees all its calls together), and the tag is read back. A transformer
that drops metadata is called with one input at a time instead, which leaves no doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.runnables import RunnableConfig

from langchain_rag._flow import Flow, call
from langchain_rag._reserved import LINEAGE
from langchain_rag.errors import TransformerError

Outputs: TypeAlias = list[list[Document]]
"""For each input its outputs, in order; each without the tag."""

# Transformers seen to drop metadata: they are not handed a batch a second time. By their
# address, since some of LangChain's are pydantic models, which have no hash.
_drops_metadata: WeakValueDictionary[int, BaseDocumentTransformer] = WeakValueDictionary()


def transform(
    transformer: BaseDocumentTransformer,
    inputs: Sequence[Document],
    config: RunnableConfig | None,
) -> Flow[Outputs]:
    """Run a transformer over a batch.

    Args:
        transformer: LangChain's, ours, or a user's.
        inputs: Documents with ids, which errors name. They are not changed.
        config: Callbacks, tags and concurrency, for transformers that accept them.

    Returns:
        The outputs of each input.

    Raises:
        TransformerError: It raised, or returned what are no documents.
    """
    if not inputs:
        return []
    if len(inputs) > 1 and id(transformer) not in _drops_metadata:
        outputs = yield from _call(transformer, inputs, config)
        grouped = _group(outputs, len(inputs))
        if grouped is not None:
            return grouped
        _drops_metadata[id(transformer)] = transformer
    result: Outputs = []
    for source in inputs:
        outputs = yield from _call(transformer, [source], config)
        result.append([_inherit(source, output) for output in outputs])
    return result


def _call(
    transformer: BaseDocumentTransformer,
    inputs: Sequence[Document],
    config: RunnableConfig | None,
) -> Flow[list[Document]]:
    # Deep copies: a transformer may write into them, and may have to be called again.
    tagged = [
        Document(
            id=source.id,
            page_content=source.page_content,
            metadata={**deepcopy(source.metadata), LINEAGE: str(number)},
        )
        for number, source in enumerate(inputs)
    ]
    options: dict[str, Any] = {}
    if config and getattr(transformer, "accepts_config", False):
        options["config"] = config
    try:
        # A transformer may answer with a generator, so its body runs in here too.
        outputs: list[Any] = list(
            (
                yield from call(
                    transformer.transform_documents,
                    transformer.atransform_documents,
                    tagged,
                    **options,
                )
            )
        )
    except TransformerError:
        raise
    except Exception as error:
        message = (
            f"{type(transformer).__name__} raised {type(error).__name__} for {_names(inputs)}: "
            f"{error}. What was stored before is as it was; make the call again once the "
            "cause is gone."
        )
        raise TransformerError(message) from error
    for output in outputs:
        if not isinstance(output, Document):
            message = (
                f"{type(transformer).__name__} returned a {type(output).__name__} for "
                f"{_names(inputs)}. A transformer must return Documents."
            )
            raise TransformerError(message)
    return outputs


def _group(outputs: list[Document], inputs: int) -> Outputs | None:
    """Give each input its outputs; None when an output has lost its tag."""
    grouped: Outputs = [[] for _ in range(inputs)]
    numbers = {str(number): number for number in range(inputs)}
    for output in outputs:
        number = numbers.get(output.metadata.get(LINEAGE, ""))
        if number is None:
            return None
        grouped[number].append(_untagged(output, output.metadata))
    return grouped


def _inherit(source: Document, output: Document) -> Document:
    """Give an output of a lone input the metadata that the transformer dropped."""
    if LINEAGE in output.metadata:
        return _untagged(output, output.metadata)
    return _untagged(output, {**source.metadata, **output.metadata})


def _untagged(output: Document, metadata: dict[str, Any]) -> Document:
    # A new object: a transformer may return one object twice, or keep hold of it.
    kept = {key: value for key, value in metadata.items() if key != LINEAGE}
    return Document(page_content=output.page_content, metadata=kept)


def _names(inputs: Sequence[Document]) -> str:
    shown = ", ".join(repr(source.id) for source in inputs[:5])
    more = f" and {len(inputs) - 5} more" if len(inputs) > 5 else ""
    return f"{shown}{more}"
