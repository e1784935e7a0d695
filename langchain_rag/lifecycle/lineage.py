"""Which output of a transformer came from which input.

LangChain's transformers take many documents and return many, and say nothing of who came
from whom. So each input is a copy with a tag in its metadata, the whole batch is handed over
at once (a model then sees all its calls together), and the tag is read back. A transformer
that drops metadata is called with one input at a time instead, which leaves no doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.runnables import RunnableConfig

from langchain_rag._documents import copied, document_of
from langchain_rag._flow import Flow, call
from langchain_rag._reserved import LINEAGE
from langchain_rag.document_transformers.base import flow_of
from langchain_rag.document_transformers.overseer import Overseer
from langchain_rag.errors import TransformerError

Numbered: TypeAlias = Mapping[int, Document]
"""The inputs of a transformer by their numbers, which the tags bear."""

Outputs: TypeAlias = dict[int, list[Document]]
"""The outputs of each input by its number, in order and without the tag."""

# Transformers seen to drop metadata: they are not handed a batch a second time. By their
# address, since some of LangChain's are pydantic models, which have no hash.
_drops_metadata: WeakValueDictionary[int, BaseDocumentTransformer] = WeakValueDictionary()


def transform(
    transformer: BaseDocumentTransformer,
    inputs: Numbered,
    overseer: Overseer,
) -> Flow[Outputs]:
    """Run a transformer over a batch.

    Args:
        transformer: LangChain's, ours, or a user's.
        inputs: Documents with ids, which errors name. They are not changed.
        overseer: Carries the config, for transformers that accept one, and notes what fails
            for one input, where it is tolerant.

    Returns:
        The outputs of each input.

    Raises:
        TransformerError: It raised, or returned what are no documents.
    """
    if not inputs:
        return {}
    config = overseer.config
    if len(inputs) > 1 and id(transformer) not in _drops_metadata:
        try:
            outputs = yield from _call(transformer, inputs, config)
        except TransformerError:
            # One of them may be to blame, and the transformer does not say which.
            if not overseer.tolerant:
                raise
        else:
            grouped = _group(outputs, inputs)
            if grouped is not None:
                return grouped
            _drops_metadata[id(transformer)] = transformer
    result: Outputs = {}
    for number, source in inputs.items():
        try:
            outputs = yield from _call(transformer, {number: source}, config)
        except TransformerError as error:
            if not overseer.tolerant:
                raise
            overseer.trouble(number, error)
            outputs = []
        result[number] = [_inherit(source, output) for output in outputs]
    return result


def _call(
    transformer: BaseDocumentTransformer, inputs: Numbered, config: RunnableConfig
) -> Flow[list[Document]]:
    # Deep copies: a transformer may write into them, and may have to be called again.
    tagged = [
        document_of(
            source.page_content,
            {**copied(source.metadata), LINEAGE: str(number)},
            source.id,
        )
        for number, source in inputs.items()
    ]
    options: dict[str, Any] = {}
    if getattr(transformer, "accepts_config", False):
        options["config"] = config
    try:
        # A transformer may answer with a generator, so its body runs in here too.
        outputs: list[Any] = list((yield from _outputs(transformer, tagged, options)))
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


def _outputs(
    transformer: BaseDocumentTransformer, tagged: list[Document], options: dict[str, Any]
) -> Flow[Iterable[Document]]:
    flow = flow_of(transformer, tagged, options.get("config"))
    if flow is not None:
        # Its calls then share one pool with those of the other batches.
        return (yield from flow)
    return (
        yield from call(
            transformer.transform_documents,
            transformer.atransform_documents,
            tagged,
            **options,
        )
    )


def _group(outputs: list[Document], inputs: Numbered) -> Outputs | None:
    """Give each input its outputs; None when an output has lost its tag."""
    grouped: Outputs = {number: [] for number in inputs}
    tags = {str(number): number for number in inputs}
    for output in outputs:
        number = tags.get(output.metadata.get(LINEAGE, ""))
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
    return document_of(output.page_content, kept)


def _names(inputs: Numbered) -> str:
    ids = [repr(source.id) for source in inputs.values()]
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return f"{', '.join(ids[:5])}{more}"
