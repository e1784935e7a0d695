"""Compares what is stored with what earlier versions have stored."""

from __future__ import annotations

_MEANING = (
    "This value is in the stores of users. As it is now, what they have stored would not be "
    "found, or not be read: documents would be imported, and answers and vectors paid for, "
    "again. Restore the value. A deliberate change needs a migration, and a line in "
    "CHANGELOG.md; then write the new value here."
)


def pinned(found: object, stored: object) -> None:
    """Fail, and say what it means, where a value is not what earlier versions have stored."""
    assert found == stored, f"{_MEANING}\nIt is now:\n{found}"
