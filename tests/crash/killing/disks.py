"""A disk that gets full, by a small file system where this process may mount one."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOMY = 256 * 1024 * 1024
PAGE = 4096


def files_in(folder: Path) -> list[Path]:
    """Return all files below a folder."""
    return [file for file in folder.rglob("*") if file.is_file()]


class MountedDisk:
    """A file system in memory.

    Args:
        folder: Where it is mounted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options: dict[str, Any] = {}

    def used(self, folder: Path) -> int:
        """Return how much of the disk a folder takes, in bytes."""
        pages = (-(-file.stat().st_size // PAGE) for file in files_in(folder))
        return sum(pages) * PAGE

    def resize(self, size: int) -> None:
        """Make it smaller or larger.

        Args:
            size: In bytes; what is in it stays.
        """
        _run("mount", "-o", f"remount,size={size}", str(self.folder))


class LimitedFiles:
    """The largest size of a file of a process, where nothing may be mounted.

    Attributes:
        options: For the call, which then sees a full disk.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options: dict[str, Any] = {}

    def used(self, folder: Path) -> int:
        """Return the size of the largest file of a folder."""
        return max(file.stat().st_size for file in files_in(folder))

    def resize(self, size: int) -> None:
        """Set the largest size of each file, for processes that start afterwards."""
        self.options = {} if size == ROOMY else {"max_file": size}


@contextmanager
def disk(folder: Path, *, mount: bool) -> Iterator[MountedDisk | LimitedFiles]:
    """Make a disk that can get full.

    Args:
        folder: Where.
        mount: Whether to try to mount a file system.
    """
    folder.mkdir(parents=True)
    if not mount or not _mounted(folder):
        yield LimitedFiles(folder)
        return
    try:
        yield MountedDisk(folder)
    finally:
        _run("umount", str(folder))


def _mounted(folder: Path) -> bool:
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={ROOMY}", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
