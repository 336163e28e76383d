"""Another user than the superuser, to whom permissions do not apply."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - asyncio loads it on use, and the other user may not read Python's folder
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_superuser(path: str) -> Iterator[None]:
    """Become another user for a moment, who may read the folder of `path`, if this is the superuser."""
    if os.geteuid() != 0:
        yield
        return
    nobody = 65534
    folder = Path(path).parent
    opened: list[tuple[Path, int]] = []
    for parent in folder.parents:
        mode = parent.stat().st_mode & 0o7777
        if mode & 0o011 != 0o011:
            opened.append((parent, mode))
            parent.chmod(mode | 0o011)
    folder_mode = folder.stat().st_mode & 0o7777
    folder.chmod(folder_mode | 0o055)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)
        folder.chmod(folder_mode)
        for parent, mode in opened:
            parent.chmod(mode)
