"""Several writers at a time leave an index of all that they wrote."""

import subprocess
import sys
import threading

import pytest

from langchain_rag.storage import SQLDocStore, create_engine
from tests.postgres import text_of
from tests.unit.storage.kinds import KINDS
from tests.unit.storage.test_full_text import PREFIX, chunks, key_of

FILES = [kind for kind in KINDS if kind.id in ("sync-file", "sync-postgres")]


def found(store, query, k=1000):
    return {
        key.removeprefix(PREFIX) for key, _ in store.lexical_search(query, k, prefix=PREFIX)
    }


def side_by_side(*works):
    errors = []

    def guarded(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("kind", FILES, indirect=True)
def test_all_that_first_writers_write_is_found(make_engine, db_url):
    """None of them finds an index, and one builds it."""
    plain = SQLDocStore(make_engine(db_url))
    plain.mset(chunks({f"old{n}": "word" for n in range(30)}))

    def writer(name):
        store = SQLDocStore(make_engine(db_url), full_text="simple")

        def write():
            for turn in range(4):
                store.mset(chunks({f"{name}-{turn}-{n}": f"word {name}" for n in range(5)}))
                store.mset(chunks({"shared": f"word {name}"}))
            store.mdelete([key_of(f"{name}-0-0")])

        return write

    side_by_side(*(writer(name) for name in ("a", "b", "c", "d")))
    store = SQLDocStore(make_engine(db_url), full_text="simple")
    assert len(found(store, "word")) == 30 + 4 * 19 + 1
    [shared] = plain.mget([key_of("shared")])
    assert shared is not None
    last = shared.page_content.split()[1]
    assert "shared" in found(store, last)
    # Built anew it says the same: every count was kept.
    before = store.lexical_search("word a b", 500, prefix=PREFIX)
    SQLDocStore(make_engine(db_url), full_text="english").lexical_search("x", 1, prefix=PREFIX)
    assert store.lexical_search("word a b", 500, prefix=PREFIX) == before


@pytest.mark.parametrize("kind", FILES, indirect=True)
def test_a_writer_without_an_index_beside_those_that_build_it(make_engine, db_url):
    plain = SQLDocStore(make_engine(db_url))
    keeping = [SQLDocStore(make_engine(db_url), full_text="simple") for _ in range(2)]

    def write_plainly():
        for n in range(12):
            plain.mset(chunks({f"plain{n}": "word"}))

    def search():
        for _ in range(6):
            keeping[0].lexical_search("word", 4, prefix=PREFIX)

    def write():
        for n in range(12):
            keeping[1].mset(chunks({f"kept{n}": "word"}))

    side_by_side(write_plainly, search, write)
    expected = {f"{name}{n}" for name in ("plain", "kept") for n in range(12)}
    for store in keeping:
        assert found(store, "word") == expected


@pytest.mark.full
@pytest.mark.parametrize("kind", FILES, indirect=True)
def test_two_processes_write_into_one_index(make_engine, db_url):
    code = (
        "import sys; from langchain_core.documents import Document; "
        "from langchain_rag.storage import SQLDocStore, create_engine; "
        "chunk = Document('word', metadata={'fan_out': 1, 'metadata': {}}); "
        "engine = create_engine(sys.argv[1]); "
        "store = SQLDocStore(engine, full_text='simple'); "
        "[store.mset([(f'{sys.argv[2]}{n}', chunk)]) for n in range(20)]; "
        "engine.dispose()"
    )
    command = [sys.executable, "-c", code, text_of(db_url)]
    running = [subprocess.Popen([*command, key_of(name)]) for name in "pq"]
    assert [process.wait(60) for process in running] == [0, 0]
    store = SQLDocStore(create_engine(db_url), full_text="simple")
    try:
        assert found(store, "word") == {f"{name}{n}" for name in "pq" for n in range(20)}
    finally:
        store.engine.dispose()
