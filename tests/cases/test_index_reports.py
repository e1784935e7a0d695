"""`rag.index()`: what it says of itself, before, while and after."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
    CallbackManager,
)
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.stores import InMemoryByteStore
from typing_extensions import override

from langchain_rag.document_transformers import CopyDocumentTransformer, SummarizeTransformer
from langchain_rag.embedding_cache import ByteStoreEmbeddingCache
from langchain_rag.errors import CleanupRefusedError, TransformerError
from langchain_rag.lifecycle.index_report import IndexReport
from langchain_rag.testing import Driver, InjectedCrash, ScriptedChatModel, contents
from tests.cases.indexed import ROWS, Setting, answer, numbered, page, paragraphs, place


@pytest.fixture
def setting(driver: Driver) -> Setting:
    return Setting(driver)


class Telling(ScriptedChatModel):
    """A model that says how many tokens it took."""

    @override
    def _result(self, prompt: str) -> ChatResult:
        text = super()._result(prompt).generations[0].text
        usage: Any = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
        message = AIMessage(text, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])


# --- the report --------------------------------------------------------------------------


async def test_the_report_counts_calls_tokens_and_rows(driver: Driver) -> None:
    setting = Setting(driver)
    setting.llm = Telling(answer=answer)
    setting.options["variation_cache"] = setting.cache
    report = await setting.index([page(paragraphs("a", "b")), page(paragraphs("c"), "t")])
    assert (report.llm_calls, report.cache_hits) == (3, 0)
    assert (report.input_tokens, report.output_tokens) == (30, 9)
    assert (report.rows_written, report.rows_deleted, report.embeddings) == (9, 0, 9)
    assert not report.dry_run
    lines = str(report).splitlines()
    assert lines[0].startswith("2 added in ")
    assert lines[1] == (
        "3 LLM calls, 30 tokens in, 9 out, 0 answers from the cache, 9 texts embedded, "
        "0 vectors from the cache, 9 rows written"
    )
    # From the cache, since the new document says the same.
    report = await setting.index([page(paragraphs("a", "b"), "u")])
    assert (report.llm_calls, report.cache_hits) == (0, 2)
    assert (report.input_tokens, report.output_tokens) == (None, None)


async def test_calls_that_are_made_again_count_too(setting: Setting) -> None:
    failed: set[str] = set()

    def flaky(prompt: str) -> bool:
        first = prompt not in failed
        failed.add(prompt)
        if first:
            raise ConnectionResetError
        return False

    setting.llm.fail_when = flaky
    report = await setting.index([page(paragraphs("a", "b"))])
    assert (setting.llm.calls, report.llm_calls, report.num_failed) == (4, 4, 0)


async def test_the_report_says_how_long_each_phase_took(setting: Setting) -> None:
    setting.llm.delay = 0.02
    report = await setting.index([page(paragraphs("a", "b"))])
    assert report.seconds.keys() == {
        *("loading", "reading", "cutting", "varying", "writing", "cleaning", "total"),
    }
    assert all(seconds >= 0 for seconds in report.seconds.values())
    assert report.seconds["total"] >= report.seconds["varying"] >= 0.02
    assert report.seconds["total"] < 10


async def test_the_report_counts_what_was_really_embedded(driver: Driver) -> None:
    setting = Setting(driver)
    cache = ByteStoreEmbeddingCache(InMemoryByteStore())
    setting.world.embeddings.fingerprint = "counting"  # type: ignore[attr-defined]
    setting.options["embedding_cache"] = cache
    report = await setting.index([page(paragraphs("a", "b"))])
    # "And why is it so?" of both chunks is one text.
    assert len(setting.world.embeddings.documents) == report.embeddings == 5
    assert report.rows_written == 6
    setting.forget()
    report = await setting.index([page(paragraphs("a", "b"), tag="new")])
    assert setting.world.embeddings.documents == []
    assert (report.embeddings, report.rows_written) == (0, 6)
    assert report.embedding_cache_hits >= 5


# --- a dry run ---------------------------------------------------------------------------


def numbers(report: IndexReport) -> dict[str, Any]:
    names = ("added", "updated", "unchanged", "deleted", "duplicates", "cleanup_left_out")
    costs = ("llm_calls", "cache_hits", "rows_written", "rows_deleted")
    found: dict[str, Any] = {name: getattr(report, name) for name in (*names, *costs)}
    found |= {
        name: sorted(found[name]) for name in ("added", "updated", "unchanged", "deleted")
    }
    failed = [(f.document_id, f.source_id, f.chunk, f.reason) for f in report.failed]
    return found | {"failed": failed} | report.as_dict()


@pytest.mark.parametrize("with_records", [True, False])
@pytest.mark.parametrize("cleanup", ["scoped_full", "full", None])
async def test_a_dry_run_says_what_the_run_will_do(
    driver: Driver, with_records: bool, cleanup: str | None
) -> None:
    setting = Setting(driver, variation_cache=None)
    setting.options["variation_cache"] = setting.cache
    if not with_records:
        setting.options["record_manager"] = None
    summaries = SummarizeTransformer.from_llm(setting.llm, version="1")
    setting.options["chunk_transformer"] = (
        summaries + setting.questions() + CopyDocumentTransformer()
    )
    await setting.index(
        [
            page(paragraphs(*numbered(5)), "edited"),
            page(paragraphs("tagged"), "tagged", tag="old"),
            page("same", "same"),
            page("shrinks", "shrinks"),
            page("goes", "shrinks"),
            page("other", "other"),
        ]
    )
    documents = [
        page(paragraphs("00", "new", "02", "03"), "edited"),
        page(paragraphs("tagged"), "tagged", tag="new"),
        page("same", "same"),
        page("same", "same"),
        page("shrinks", "shrinks"),
        page(paragraphs("04", "fresh"), "fresh"),
    ]
    stats = await driver(setting.cache, "stats")
    saved = setting.world.save()
    setting.forget()
    events: list[Any] = []
    dry = await setting.index(documents, cleanup=cleanup, dry_run=True, progress=events.append)
    assert dry.dry_run
    assert str(dry).startswith("dry run, nothing was done: ")
    assert setting.spent() == (0, 0, 0, 0)
    assert setting.world.plan.calls == []
    assert setting.world.save() == saved
    after = await driver(setting.cache, "stats")
    assert (after.entries, after.newest) == (stats.entries, stats.newest)
    assert (dry.input_tokens or 0) > 0
    real = await setting.index(documents, cleanup=cleanup)
    assert numbers(dry) == numbers(real)
    # Of the six new chunks one was answered before, under another document.
    assert (real.llm_calls, real.cache_hits) == (4, 2)
    assert setting.llm.calls == 4
    assert dry.embeddings == real.rows_written
    outcomes = [event.outcome for event in events]
    assert outcomes.count("deleted") == real.num_deleted


async def test_a_dry_run_on_nothing(setting: Setting) -> None:
    documents = [page(paragraphs("a", "b")), page("c", "t")]
    dry = await setting.index(documents, dry_run=True)
    assert contents(setting.start()) == ({}, {})
    assert setting.records() == {}
    assert setting.spent() == (0, 0, 0, 0)
    assert numbers(dry) == numbers(await setting.index(documents))
    assert numbers(await setting.index(documents, dry_run=True))["num_skipped"] == 2


async def test_a_dry_run_takes_no_note_of_what_was_added_by_hand(setting: Setting) -> None:
    documents = [page("by hand", "a", "hand")]
    await setting.driver(setting.start(), "add_documents", documents)
    dry = await setting.index(documents, dry_run=True)
    assert (dry.unchanged, setting.records()) == (["hand"], {})
    await setting.index(documents)
    assert setting.records() == {"hand": "a"}


async def test_a_dry_run_with_force(setting: Setting) -> None:
    documents = [page(paragraphs("a", "b"))]
    setting.options["variation_cache"] = setting.cache
    await setting.index(documents)
    dry = await setting.index(documents, dry_run=True, force=True)
    assert dry.llm_calls == 2
    assert numbers(dry) == numbers(await setting.index(documents, force=True))


async def test_a_dry_run_lists_unfit_documents_and_refusals(setting: Setting) -> None:
    await setting.index([page("1", "a"), page("2", "a"), page("3", "a")])
    bad = page("1", "b")
    bad.metadata["when"] = object()
    documents = [page("1", "a"), bad]
    dry = await setting.index(documents, dry_run=True, on_error="skip", max_deletes=1)
    assert "delete 2 documents" in str(dry.cleanup_left_out)
    with pytest.raises(CleanupRefusedError):
        await setting.index([], dry_run=True, cleanup="full")
    dry = await setting.index(documents, dry_run=True, on_error="skip")
    assert (dry.num_failed, dry.num_deleted) == (1, 2)
    assert numbers(dry) == numbers(await setting.index(documents, on_error="skip"))


async def test_a_dry_run_after_an_interruption_leaves_it_as_it_is(setting: Setting) -> None:
    rag = setting.start()
    setting.world.plan.arm(3, "inside", InjectedCrash)
    with pytest.raises(InjectedCrash):
        await setting.driver(rag, "index", [page(paragraphs("a", "b"))])
    saved = setting.world.save()
    setting.forget()
    rag = setting.start()
    dry = await setting.driver(rag, "index", [page(paragraphs("a", "b"))], dry_run=True)
    assert setting.world.save() == saved
    assert numbers(dry) == numbers(await setting.index([page(paragraphs("a", "b"))]))


# --- progress ----------------------------------------------------------------------------


async def test_events_tell_of_each_document(setting: Setting) -> None:
    await setting.index([page("1", "a"), page("2", "a"), page("3", "b")])
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    documents = [page("1", "a"), page("new", "b"), page("bad", "c"), page("4", "d")]
    events: list[Any] = []
    report = await setting.index(documents, on_error="skip", progress=events.append)
    found = {(e.outcome, e.document_id, e.source_id) for e in events}
    assert found == {
        ("unchanged", place("a", 0), "a"),
        ("updated", place("b"), "b"),
        ("failed", place("c"), "c"),
        ("added", place("d"), "d"),
        ("deleted", place("a", 1), None),
    }
    assert [event.done for event in events] == [1, 2, 3, 4, 4]
    assert {event.total for event in events} == {4}
    (failed,) = (event for event in events if event.outcome == "failed")
    assert failed.reason == report.failed[0].reason
    assert {event.reason for event in events if event is not failed} == {None}


async def test_progress_reaches_the_total_with_duplicates(setting: Setting) -> None:
    events: list[Any] = []
    documents = [page("1", "a"), page("1", "a"), page("2", "a")]
    await setting.index(documents, progress=events.append)
    assert (events[-1].done, events[-1].total) == (3, 3)


async def test_nobody_knows_the_total_of_a_generator(setting: Setting) -> None:
    events: list[Any] = []
    await setting.index((page(str(n), "a") for n in range(3)), progress=events.append)
    assert [event.total for event in events] == [None] * 3


async def test_a_bar(setting: Setting, capsys: pytest.CaptureFixture[str]) -> None:
    await setting.index([page("1", "a"), page("2", "a")], progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2/2" in err
    assert "doc" in err
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    documents = (page(text, "a") for text in ["bad"])
    await setting.index(documents, progress=True, on_error="skip")
    assert "failed=1" in capsys.readouterr().err
    await setting.index([page("1", "a")], progress=False)
    assert capsys.readouterr() == ("", "")


async def test_a_listener_that_raises_ends_the_run(setting: Setting) -> None:
    def listen(event: Any) -> None:
        message = "not interested"
        raise LookupError(message)

    with pytest.raises(LookupError, match="not interested"):
        await setting.index([page("1", "a")], progress=listen)
    assert await setting.index([page("1", "a")])
    assert await setting.is_clean()


# --- callbacks ---------------------------------------------------------------------------


class Runs(BaseCallbackHandler):
    """Keeps what is told of runs; the children by their parent."""

    def __init__(self) -> None:
        self.documents: dict[UUID, dict[str, Any]] = {}
        self.parents: dict[UUID, UUID | None] = {}
        self.models: dict[UUID, str] = {}
        self.tags: dict[UUID, list[str]] = {}
        self.metadata: list[dict[str, Any]] = []
        self.ended: set[UUID] = set()
        self.errors: dict[UUID, BaseException] = {}

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: Any = None,
        **kw: Any,
    ) -> None:
        self.parents[run_id] = parent_run_id
        if kw.get("name") == "import_document":
            assert run_id not in self.documents
            self.documents[run_id] = dict(inputs)
            self.tags[run_id] = kw.get("tags") or []

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        assert run_id not in self.ended
        self.ended.add(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        assert run_id not in self.ended
        self.ended.add(run_id)
        self.errors[run_id] = error

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: UUID,
        parent_run_id: Any = None,
        **kw: Any,
    ) -> None:
        self.parents[run_id] = parent_run_id
        self.models[run_id] = str(messages)
        self.tags[run_id] = kw.get("tags") or []
        self.metadata.append(kw.get("metadata") or {})

    def document_of(self, run_id: UUID) -> UUID:
        while run_id not in self.documents:
            parent = self.parents[run_id]
            assert parent is not None
            run_id = parent
        return run_id

    def calls_by_document(self) -> dict[str, int]:
        found = {document["document_id"]: 0 for document in self.documents.values()}
        for run_id in self.models:
            found[self.documents[self.document_of(run_id)]["document_id"]] += 1
        return found


class AsyncRuns(AsyncCallbackHandler):
    """The same, told asynchronously."""

    def __init__(self) -> None:
        self.runs = Runs()

    async def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0)
        self.runs.on_chain_start(*args, **kwargs)

    async def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        self.runs.on_chain_end(*args, **kwargs)

    async def on_chain_error(self, *args: Any, **kwargs: Any) -> None:
        self.runs.on_chain_error(*args, **kwargs)

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.runs.on_chat_model_start(*args, **kwargs)


@pytest.fixture(params=["handler", "async handler"])
def handler(request: pytest.FixtureRequest, driver: Driver) -> Any:
    if request.param == "async handler":
        if driver.name == "sync":
            pytest.skip("index() has no use for an asynchronous handler")
        return AsyncRuns()
    return Runs()


@pytest.fixture
def runs(handler: Any) -> Runs:
    found: Runs = getattr(handler, "runs", handler)
    return found


async def test_one_run_for_each_document_above_its_model_calls(
    setting: Setting, handler: Any, runs: Runs
) -> None:
    documents = [page(paragraphs(*numbered(n + 1)), f"s{n}") for n in range(4)]
    config = {"callbacks": [handler], "tags": ["mine"], "metadata": {"who": "me"}}
    await setting.index(documents, batch_size=2, config=config)
    assert sorted(map(str, runs.documents.values())) == sorted(
        str({"document_id": place(f"s{n}"), "source": f"s{n}"}) for n in range(4)
    )
    assert runs.calls_by_document() == {place(f"s{n}"): n + 1 for n in range(4)}
    for run_id, prompt in runs.models.items():
        names = {name for name in numbered(4) if f"   {name}" in prompt}
        document = runs.documents[runs.document_of(run_id)]
        assert max(names) <= f"0{document['source'][1:]}"
    assert runs.documents.keys() <= runs.ended
    assert runs.errors == {}
    assert all(tags.count("mine") == 1 for tags in runs.tags.values())
    assert {metadata.get("who") for metadata in runs.metadata} == {"me"}
    # What is unchanged has no run.
    before = len(runs.documents)
    await setting.index(documents, config=config)
    assert len(runs.documents) == before


async def test_a_run_that_fails_says_so(setting: Setting, handler: Any, runs: Runs) -> None:
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    documents = [page("good", "a"), page("bad", "b"), page("fine", "c")]
    config = {"callbacks": [handler]}
    await setting.index(documents, on_error="skip", config=config)
    failed = [
        runs.documents[run_id]["source"] for run_id in runs.errors if run_id in runs.documents
    ]
    assert failed == ["b"]
    assert runs.documents.keys() <= runs.ended
    with pytest.raises(TransformerError):
        await setting.index([page("bad", "b")], config=config)
    assert runs.documents.keys() <= runs.ended


async def test_a_run_of_copies_ends_without_an_error(
    setting: Setting, handler: Any, runs: Runs
) -> None:
    setting.llm.fail_when = lambda prompt: "bad" in prompt
    await setting.index([page("bad", "b")], on_error="copy", config={"callbacks": [handler]})
    assert len(runs.documents) == 1
    assert not runs.errors.keys() & runs.documents.keys()
    assert runs.documents.keys() <= runs.ended


async def test_an_interrupted_run_ends_too(setting: Setting) -> None:
    """Else whoever traces it shows it as running for ever."""
    runs = Runs()
    setting.options["max_concurrency"] = 1

    def interrupt(prompt: str) -> str:
        if setting.driver.name == "sync":
            raise InjectedCrash
        task.cancel()
        return answer(prompt)

    setting.llm.answer = interrupt
    documents = [page(paragraphs("a", "b"))]
    index = setting.driver(setting.start(), "index", documents, config={"callbacks": [runs]})
    task = asyncio.ensure_future(index)
    with pytest.raises((InjectedCrash, asyncio.CancelledError)):
        await task
    assert len(runs.documents) == 1
    assert runs.documents.keys() <= runs.ended
    assert runs.documents.keys() == runs.errors.keys() & runs.documents.keys()


async def test_callbacks_may_be_a_manager(setting: Setting) -> None:
    """As inside of another runnable; it is not changed, and its run is the parent."""
    runs = Runs()
    manager = (CallbackManager if setting.driver.name == "sync" else AsyncCallbackManager)(
        [runs], inheritable_handlers=[runs], parent_run_id=(parent := uuid4())
    )
    config: Any = {"callbacks": manager}
    report = await setting.index([page(paragraphs("a", "b"))], config=config)
    assert (report.llm_calls, len(runs.models), len(runs.documents)) == (2, 2, 1)
    assert [runs.parents[run_id] for run_id in runs.documents] == [parent]
    assert config == {"callbacks": manager}
    assert manager.handlers == manager.inheritable_handlers == [runs]


async def test_within_a_runnable_its_run_is_the_parent(setting: Setting) -> None:
    runs = Runs()
    rag = setting.start()
    documents = [page(paragraphs("a"))]

    def chain(_: Any, config: RunnableConfig) -> Any:
        return rag.index(documents, config=config)

    async def achain(_: Any, config: RunnableConfig) -> Any:
        return await rag.aindex(documents, config=config)

    outer = RunnableLambda(chain, achain, name="outer")
    report = await setting.driver(outer, "invoke", None, {"callbacks": [runs]})
    assert (report.num_added, report.llm_calls) == (1, 1)
    (document,) = runs.documents
    assert runs.parents[document] is not None
    assert runs.calls_by_document() == {place("s"): 1}


async def test_a_run_id_names_no_run_of_ours(setting: Setting) -> None:
    """One id cannot name several runs."""
    runs = Runs()
    config: Any = {"callbacks": [runs], "run_id": uuid4(), "run_name": "mine"}
    await setting.index([page("1", "a"), page("2", "b")], config=config)
    assert len(runs.documents.keys() | runs.models.keys()) == 4
    assert config["run_id"] not in runs.documents.keys() | runs.models.keys()


async def test_two_runs_at_a_time_are_counted_apart() -> None:
    setting = Setting(Driver("async"))
    setting.llm.delay = 0.005
    setting.world.embeddings.fingerprint = "counting"  # type: ignore[attr-defined]
    setting.options["embedding_cache"] = ByteStoreEmbeddingCache(InMemoryByteStore())
    rag = setting.start()
    one, two = await asyncio.gather(
        rag.aindex([page(paragraphs(*numbered(5)), "a")], batch_size=1),
        rag.aindex([page(paragraphs("x", "y"), "b"), page("z", "c")], batch_size=1),
    )
    assert (one.llm_calls, two.llm_calls) == (5, 3)
    assert (one.rows_written, two.rows_written) == (5 * ROWS, 3 * ROWS)
    assert one.embeddings + one.embedding_cache_hits >= 11
    assert one.embeddings + two.embeddings == len(setting.world.embeddings.documents)
    assert (one.num_added, two.num_added) == (1, 2)
