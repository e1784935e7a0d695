"""A vector as bytes: a head, then the numbers; no I/O.

Most models answer with float32 numbers, which take half the room. They are kept so where
every number survives it exactly, and as float64 otherwise: what is read is what was kept.
"""

from __future__ import annotations

import math
import struct
import sys
import zlib
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, cast

if TYPE_CHECKING:
    import numpy as np

_VERSION: Final = 1
_HEAD: Final = struct.Struct("<BBII")
"""Version, bytes of a number, how many numbers, checksum of the seal and the numbers."""

_CODES: Final[dict[int, Literal["f", "d"]]] = {4: "f", 8: "d"}


def pack(vector: Sequence[float], seal: bytes) -> bytes:
    """Return a vector as bytes.

    Args:
        vector: Its numbers; any that are equal to Python floats will do.
        seal: What the bytes belong to, such as their key: under another one they are damaged.

    Raises:
        ValueError: If there are none, or one of them is not a finite number.
    """
    import numpy as np  # noqa: PLC0415 - a tenth of a second, for those who keep vectors

    doubles = _doubles(vector)
    with np.errstate(over="ignore", under="ignore"):  # then it does not survive, and is seen
        singles = doubles.astype("<f4")
    width, numbers = (4, singles) if np.array_equal(singles, doubles) else (8, doubles)
    data = numbers.tobytes()
    return _HEAD.pack(_VERSION, width, len(doubles), _checksum(data, seal)) + data


def unpack(stored: object, seal: bytes) -> list[float]:
    """Return the numbers of a vector.

    Args:
        stored: Whatever a store gave back.
        seal: The one that `pack` was given.

    Raises:
        ValueError: If it is not what `pack` made.
    """
    if not isinstance(stored, bytes):
        msg = f"it is a {type(stored).__name__}"
        raise ValueError(msg)  # noqa: TRY004 - the one error for all that is damaged
    if len(stored) < _HEAD.size:
        msg = "it is too short"
        raise ValueError(msg)
    version, width, length, checksum = _HEAD.unpack_from(stored)
    data = stored[_HEAD.size :]
    if version != _VERSION or width not in _CODES:
        msg = f"it is no vector of version {_VERSION}"
        raise ValueError(msg)
    if not length or len(data) != length * width or checksum != _checksum(data, seal):
        msg = "it is cut off or was changed"
        raise ValueError(msg)
    numbers = _little_endian(array(_CODES[width], data)).tolist()
    if not _finite(numbers):
        msg = "it has numbers that are none"
        raise ValueError(msg)
    return numbers


def _doubles(vector: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    import numpy as np  # noqa: PLC0415 - as above

    try:
        doubles = np.array(list(vector), dtype="<f8")
        same = (
            doubles.ndim == 1
            and not isinstance(cast("object", vector), bytes | bytearray | memoryview)
            and doubles.tolist() == list(vector)
        )
    except (TypeError, ValueError, OverflowError) as error:
        msg = "it is not a list of numbers"
        raise ValueError(msg) from error
    if not len(doubles):
        msg = "it is empty"
        raise ValueError(msg)
    if not same or not np.isfinite(doubles).all():
        msg = "it has numbers that are none, infinite, or too large for a float"
        raise ValueError(msg)
    return doubles


def _finite(numbers: Sequence[float]) -> bool:
    # What is infinite or none makes a sum so; the other way round a large sum may be infinite.
    return math.isfinite(sum(numbers)) or all(map(math.isfinite, numbers))


def _little_endian(numbers: array[float]) -> array[float]:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers


def _checksum(data: bytes, seal: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(seal))
