"""An interrupt while a statement of a database in memory runs."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from sqlalchemy import event

from langchain_rag.storage import SQLDocStore, create_engine


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_database_outlives_it(error: type[BaseException]) -> None:
    engine = create_engine("sqlite://")
    store = SQLDocStore(engine)
    store.mset([("before", Document("kept"))])

    def interrupt(*_: object) -> None:
        raise error

    event.listen(engine, "before_cursor_execute", interrupt)
    with pytest.raises(error):
        store.mset([("meanwhile", Document("lost"))])
    event.remove(engine, "before_cursor_execute", interrupt)
    assert list(store.yield_keys()) == ["before"]
    store.mset([("after", Document("kept too"))])
    assert sorted(store.yield_keys()) == ["after", "before"]
    engine.dispose()
