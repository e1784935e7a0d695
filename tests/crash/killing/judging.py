"""What must hold after a call was interrupted, and after it was made again."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tests.crash.killing import calls, corpus

if TYPE_CHECKING:
    from collections.abc import Mapping

Seen = dict[str, Any]
"""What `looking.look` returned."""

Calls = list[list[str]]
"""Texts of each call of the embeddings; `corpus.KEPT` after a call whose vectors were kept."""

IN_FLIGHT = 2 * corpus.CONCURRENCY
"""Calls that a store has begun and not yet kept the answers of: as many as it makes at a time,
and as many that have just been answered."""

AHEAD = 3
"""Batches that are under way at a time."""

TOO_MANY = "more than can be in flight"

COMPARED = ("rows", "records", "found", "index", "claims")


def at_once(before: Seen, now: Seen, after: Seen) -> list[str]:
    """Say what is wrong when the interrupted call has left the stores as they are.

    I1 and I3 hold, and of every document the whole old or the whole new version is there.

    Args:
        before: What was there before the call.
        now: What is there.
        after: What is there after the call when nothing interrupts it.
    """
    problems = list(now["at_once"])
    old, new, found = _by_document(before), _by_document(after), _by_document(now)
    for document_id in old.keys() | new.keys():
        versions = old.get(document_id, set()), new.get(document_id, set())
        if not any(version <= found.get(document_id, set()) for version in versions):
            problems.append(f"I2: document {document_id!r} is not whole")
    return problems


def afterwards(now: Seen, wanted: Seen, left: Seen | None = None) -> list[str]:
    """Say what is wrong after the same call went through.

    Args:
        now: What is there.
        wanted: What is there when nothing ever interrupts.
        left: What the interrupted call left, where its process is dead. Its claims bind
            nobody; those on documents that it had stored stay until these change.
    """
    if left is not None:
        claims = [claim for claim in now["claims"] if claim not in left["claims"]]
        now = {**now, "claims": claims}
    problems = list(now["settled"])
    problems += [
        f"{room}: {_difference(now[room], wanted[room])}"
        for room in COMPARED
        if now[room] != wanted[room]
    ]
    return problems


def payments(
    phase: str, first: list[str], second: list[str], now: Seen, after: Seen
) -> list[str]:
    """Say what is wrong with the calls of the model.

    Calls in flight are those that had begun, and whose answers were not kept yet, when the
    process died; they are of the batches that were under way. No other call may be paid
    twice, and none of those three times.

    Args:
        phase: Of the call.
        first: What the interrupted call asked about.
        second: What the second one did.
        now: What was there in between.
        after: What is there after the call when nothing interrupts it.
    """
    problems: list[str] = []
    wanted = Counter[str](after["asked"])
    made = Counter(first) + Counter(second)
    if missing := wanted - made:
        problems.append(f"never asked about: {sorted(missing)}")
    twice = made - wanted
    problems += [f"asked {made[one]} times: {one}" for one in twice if twice[one] > wanted[one]]
    if (number := sum(twice.values())) > IN_FLIGHT:
        problems.append(f"{number} calls were paid twice, {TOO_MANY}")
    numbers = {corpus.number_in(one) for one in twice}
    batches = {batch_of(phase, number) for number in numbers}
    if len(batches) > AHEAD:
        problems.append(f"calls of {len(batches)} batches were paid twice: {sorted(batches)}")
    stored = _stored(now, after) & numbers
    problems += [f"document {one} was stored, and its calls were paid twice" for one in stored]
    return problems


def embeddings(
    phase: str, first: Calls, second: Calls, now: Seen, after: Seen, *, died: bool
) -> list[str]:
    """Say what is wrong with the calls of the embeddings.

    What a call was about may be embedded again where its batch was not committed, and the cache
    has not kept its vectors; nothing else may. One batch at a time is written, with one call
    of the embeddings, and the turn ends with the commit. So a process that dies leaves one
    such call. One that goes on after a batch has failed writes those before it that are
    under way, and gives up those after it: it leaves one call for each batch under way,
    each of an earlier batch than the call before.

    Args:
        phase: Of the call.
        first: Calls of the interrupted call, and what was kept.
        second: Those of the second one.
        now: What was there in between.
        after: What is there after the call when nothing interrupts it.
        died: Whether the process died at once.
    """
    twice = _texts_in(first) + _texts_in(second) - _texts_in(after["embedded"])
    more = twice - _texts_in(_not_kept(phase, first, 1 if died else AHEAD))
    problems = [f"{more.total()} texts embedded again, {TOO_MANY}: {sorted(more)[:3]}"]
    stored = _stored(now, after) & {corpus.number_in(text) for text in twice}
    return [
        *(problems if more else []),
        *(f"document {number} was stored, and embedded again" for number in sorted(stored)),
    ]


def _not_kept(phase: str, calls_: Calls, most: int) -> Calls:
    """Return those of the last calls that may not have been committed, nor kept."""
    found: Calls = []
    batch = -1
    followed = [pair for pair in pairwise([*calls_, None]) if pair[0] != corpus.KEPT]
    for call, following in reversed(followed[-most:]):
        if call is None or batch_of(phase, corpus.number_in(call[0])) <= batch:
            break
        batch = batch_of(phase, corpus.number_in(call[0]))
        if following != corpus.KEPT:
            found.append(call)
    return found


def _texts_in(calls_: Calls) -> Counter[str]:
    return Counter(text for call in calls_ for text in call)


def batch_of(phase: str, number: int) -> int:
    """Return in which batch of a call a document is."""
    documents = calls.documents_of(phase)
    numbers = [document.metadata["number"] for document in documents]
    return numbers.index(number) // corpus.BATCH_SIZE


def _by_document(seen: Seen) -> Mapping[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for document_id, chunk, variation in seen["found"]:
        found[document_id].add((chunk, variation))
    return found


def _stored(now: Seen, after: Seen) -> set[int]:
    """Return the numbers of the documents that are stored as they are in the end."""
    return {
        number
        for document_id, number in _numbers(after).items()
        if (manifest := _manifest(now, document_id)) is not None
        and manifest == _manifest(after, document_id)
    }


def _numbers(seen: Seen) -> dict[str, int]:
    """Return the numbers of documents by their ids."""
    return {row[0]: corpus.number_in(row[1]) for row in seen["found"]}


def _manifest(seen: Seen, document_id: str) -> Any:
    for key, (_, metadata) in seen["records"].items():
        if key.startswith("manifests/") and metadata.get("document_id") == document_id:
            return metadata
    return None


def _difference(now: Any, wanted: Any) -> str:
    if isinstance(now, dict):
        lost = sorted(wanted.keys() - now.keys())
        extra = sorted(now.keys() - wanted.keys())
        other = [key for key in now.keys() & wanted.keys() if now[key] != wanted[key]]
        return f"{len(lost)} lost {lost[:2]}, {len(extra)} extra {extra[:2]}, other {other[:2]}"
    lost = [one for one in wanted if one not in now]
    extra = [one for one in now if one not in wanted]
    return f"{len(lost)} lost {lost[:2]}, {len(extra)} extra {extra[:2]}"
