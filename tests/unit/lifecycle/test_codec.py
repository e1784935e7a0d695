"""Metadata reads back exactly, or is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_rag.errors import UnstorableMetadataError
from langchain_rag.lifecycle.codec import canonical, decode, encode, unstorable_text
from langchain_rag.lifecycle.projection import projection

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
zones = st.sampled_from(
    [None, UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Europe/Zurich")]
)
hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | texts
    | st.binary(max_size=8)
    | st.dates()
    | st.datetimes(timezones=zones, allow_imaginary=True)
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3) | st.tuples(inner),
    max_leaves=4,
)
values = st.recursive(
    hashable | st.sets(hashable, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts, inner, max_size=3)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$type", "lc", "__lc_escaped__", "value"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
metadatas = st.dictionaries(texts | st.sampled_from(["$type", "lc"]), values, max_size=4)


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            same(k, k2) and same(v, v2)
            for (k, v), (k2, v2) in zip(one.items(), other.items(), strict=True)
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, set | frozenset):
        return bool(one == other) and sorted(map(repr, map(type, one))) == sorted(
            map(repr, map(type, other))
        )
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, datetime | time):
        return (one.isoformat(), one.fold, repr(one.tzinfo)) == (
            other.isoformat(),
            other.fold,
            repr(other.tzinfo),
        )
    return bool(one == other)


@given(metadatas)
def test_round_trip_through_json(metadata: dict[str, Any]) -> None:
    encoded = encode(metadata, "doc")
    assert same(decode(encoded), metadata)
    travelled = json.loads(json.dumps(encoded, allow_nan=False))
    assert travelled == encoded
    assert same(decode(travelled), metadata)


@given(metadatas)
def test_canonical_does_not_see_the_order_of_keys(metadata: dict[str, Any]) -> None:
    text = canonical(encode(metadata, "doc"))
    assert text.isascii()
    shuffled = dict(reversed(metadata.items()))
    assert canonical(encode(shuffled, "doc")) == text


@given(metadatas)
def test_the_projection_is_flat_json(metadata: dict[str, Any]) -> None:
    flat = projection(metadata)
    assert flat.keys() <= metadata.keys()
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat
    for key, value in flat.items():
        assert type(value) in {str, int, float, bool}
        if type(metadata[key]) in {str, int, float, bool}:
            assert value == metadata[key]


def test_the_projection_of_dates_sorts() -> None:
    given_ = {
        "when": datetime(2026, 11, 30, 7, 46, tzinfo=UTC),
        "day": date(2026, 11, 30),
        "at": time(7, 46),
        "big": 2**63,
        "large": 2**63 - 1,
        "inf": float("inf"),
        "bytes": b"x",
    }
    assert projection(given_) == {
        "when": "2026-11-30T07:46:00+00:00",
        "day": "2026-11-30",
        "at": "07:46:00",
        "large": 2**63 - 1,
    }


def test_nothing_is_shared() -> None:
    metadata = {"a": [1, {"b": [2]}], "c": {1: [3]}}
    encoded = encode(metadata, "doc")
    metadata["a"][1]["b"].append("x")  # type: ignore[index]
    first, second = decode(encoded), decode(encoded)
    assert first == second == {"a": [1, {"b": [2]}], "c": {1: [3]}}
    first["a"][1]["b"].append("y")
    assert decode(encoded) == second


def test_two_metadatas_that_differ_only_in_type_differ() -> None:
    forms = [canonical(encode({"a": value}, "d")) for value in (1, 1.0, True, "1", (1,), [1])]
    assert len(set(forms)) == 6


@pytest.mark.parametrize("offset", [timedelta(seconds=1), timedelta(hours=-23, seconds=-1)])
def test_odd_time_zones(offset: timedelta) -> None:
    for value in (
        datetime(2026, 1, 1, tzinfo=timezone(offset)),
        time(1, tzinfo=timezone(offset)),
        time(1, tzinfo=ZoneInfo("UTC")),
    ):
        read = decode(encode({"a": value}, "d"))["a"]
        assert (read, read.utcoffset()) == (value, value.utcoffset())


@pytest.mark.parametrize(
    "damaged",
    [
        {"$type": "os.system", "value": "ls"},
        {"$type": ["unhashable"]},
        {"$type": "tuple"},
        {"$type": "bytes", "value": "xyz"},
        {"$type": "bytes", "value": 3},
        {"$type": "datetime", "value": "2026"},
        {"$type": "datetime", "value": "nonsense", "zone": None, "fold": 0},
        {"$type": "datetime", "value": "2026-01-01T00:00:00", "zone": "No/Where", "fold": 0},
        {"$type": "datetime", "value": "2026-01-01T00:00:00", "zone": None, "fold": 7},
        {"$type": "time", "value": "1", "zone": None, "fold": 0},
        {"$type": "date", "value": 1},
        {"$type": "timedelta", "value": [1, 2, "x"]},
        {"$type": "timedelta", "value": [10**12]},
        {"$type": "Decimal", "value": "x"},
        {"$type": "UUID", "value": "x"},
        {"$type": "UUID", "value": 1},
        {"$type": "float", "value": "x"},
        {"$type": "set", "value": [[1]]},
        {"$type": "dict", "value": [[1]]},
        {"$type": "dict", "value": 1},
    ],
    ids=str,
)
def test_what_encode_did_not_write_is_a_value_error(damaged: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        decode({"a": damaged})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", None),
        ("", None),
        ("üñ∑\U0001d518", None),
        ("a\x00", "a NUL character at position 1"),
        ("\ud800", "a lone surrogate at position 0"),
        ("é\udfff\x00", "a lone surrogate at position 1"),
    ],
)
def test_unstorable_text(text: str, found: str | None) -> None:
    assert unstorable_text(text) == found


def test_a_refusal_names_the_path_in_ascii() -> None:
    with pytest.raises(UnstorableMetadataError) as caught:
        encode({"a": {"é\ud800": 1}}, "document 'x'")
    assert str(caught.value).isascii()
    split = datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=-1)))
    with pytest.raises(UnstorableMetadataError, match="part of a second"):
        encode({"a": split}, "document 'x'")
    with pytest.raises(UnstorableMetadataError, match=r"'a\[0\]\.b' of document 'x'.*object"):
        encode({"a": [{"b": object()}]}, "document 'x'")
