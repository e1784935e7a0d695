"""Which output came from which input. Odd transformers are in tests/cases/test_bad_parts."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.runnables import RunnableConfig

from langchain_rag._flow import arun, run
from langchain_rag._reserved import LINEAGE
from langchain_rag.document_transformers.overseer import OVERSEER, Overseer
from langchain_rag.errors import TransformerError
from langchain_rag.lifecycle import lineage
from langchain_rag.testing import Driver


class Custom(BaseDocumentTransformer):
    def __init__(self, body: Callable[[Sequence[Document]], Any]) -> None:
        self.body = body
        self.calls: list[tuple[list[Document], dict[str, Any]]] = []

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        self.calls.append(([d.model_copy(deep=True) for d in documents], kwargs))
        return self.body(documents)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        return self.transform_documents(documents, **kwargs)


class Configured(Custom):
    accepts_config = True


def inputs(*texts: str) -> list[Document]:
    return [Document(t, id=f"id-{t}", metadata={"of": t}) for t in texts]


async def transform(
    driver: Driver, transformer: Any, documents: Any, config: RunnableConfig | None = None
) -> list[list[Document]]:
    flow = lineage.transform(transformer, numbered(documents), Overseer(config))
    outputs = run(flow) if driver.name == "sync" else await arun(flow)
    assert list(outputs) == list(numbered(documents))
    return list(outputs.values())


def numbered(documents: Sequence[Document]) -> dict[int, Document]:
    """Number inputs with gaps, as a batch from which some were left out is."""
    return {3 * position + 2: document for position, document in enumerate(documents)}


def letters(documents: Sequence[Document]) -> list[Document]:
    return [
        Document(letter, metadata=d.metadata) for d in documents for letter in d.page_content
    ]


async def test_each_input_gets_its_outputs(driver: Driver) -> None:
    transformer = Custom(letters)
    given = inputs("ab", "", "cde")
    outputs = await transform(driver, transformer, given)
    assert [[d.page_content for d in group] for group in outputs] == [
        ["a", "b"],
        [],
        ["c", "d", "e"],
    ]
    assert all(d.metadata == {"of": "ab"} for d in outputs[0])
    assert given == inputs("ab", "", "cde")
    ((seen, kwargs),) = transformer.calls
    assert [d.id for d in seen] == ["id-ab", "id-", "id-cde"]
    assert all(LINEAGE in d.metadata for d in seen)
    assert kwargs == {}


async def test_no_input_is_no_call(driver: Driver) -> None:
    transformer = Custom(letters)
    assert await transform(driver, transformer, []) == []
    assert transformer.calls == []


async def test_config_goes_to_those_that_accept_it(driver: Driver) -> None:
    config = RunnableConfig(tags=["x"])
    plain, configured = Custom(letters), Configured(letters)
    await transform(driver, plain, inputs("a", "b"), config)
    await transform(driver, configured, inputs("a", "b"), config)
    await transform(driver, configured, inputs("a", "b"))
    assert plain.calls[0][1] == {}
    for (_, options), own in zip(configured.calls, (config, {}), strict=True):
        carried = options["config"]["configurable"]
        assert isinstance(carried[OVERSEER], Overseer)
        assert options == {"config": {**own, "configurable": carried}}


async def test_outputs_of_unknown_origin_are_asked_for_one_by_one(driver: Driver) -> None:
    def spoil(documents: Sequence[Document]) -> list[Document]:
        outputs = letters(documents)
        for output in outputs:
            output.metadata = {**output.metadata, LINEAGE: "999"}
        return outputs

    transformer = Custom(spoil)
    outputs = await transform(driver, transformer, inputs("ab", "c"))
    assert [len(group) for group in outputs] == [2, 1]
    assert [len(seen) for seen, _ in transformer.calls] == [2, 1, 1]
    assert all(LINEAGE not in d.metadata for group in outputs for d in group)


async def test_one_output_for_all_belongs_to_the_one_it_says(driver: Driver) -> None:
    outputs = await transform(
        driver,
        Custom(lambda documents: [Document("all", metadata=documents[1].metadata)]),
        inputs("a", "b"),
    )
    assert [len(group) for group in outputs] == [0, 1]


@pytest.mark.parametrize("number", [1, 5, 8])
async def test_an_error_names_the_inputs(driver: Driver, number: int) -> None:
    def fail(documents: Sequence[Document]) -> list[Document]:
        msg = "no luck"
        raise OSError(msg)

    with pytest.raises(TransformerError, match=r"Custom raised OSError .*no luck") as caught:
        await transform(driver, Custom(fail), inputs(*"abcdefgh"[:number]))
    assert isinstance(caught.value.__cause__, OSError)
    assert "'id-a'" in str(caught.value)
    assert ("and 3 more" in str(caught.value)) == (number == 8)


async def test_an_error_of_ours_passes_as_it_is(driver: Driver) -> None:
    error = TransformerError("as it is")

    def fail(documents: Sequence[Document]) -> list[Document]:
        raise error

    with pytest.raises(TransformerError) as caught:
        await transform(driver, Custom(fail), inputs("a"))
    assert caught.value is error


def test_what_is_known_of_a_transformer_goes_with_it() -> None:
    transformer = Custom(lambda documents: [Document("x") for _ in documents])
    run(lineage.transform(transformer, numbered(inputs("a", "b")), Overseer()))
    before = len(lineage._drops_metadata)
    assert id(transformer) in lineage._drops_metadata
    del transformer
    gc.collect()
    assert len(lineage._drops_metadata) < before
