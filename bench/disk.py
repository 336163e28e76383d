"""What the disk can do, printed beside the rates of durable writes."""

from __future__ import annotations

import os
import time
from pathlib import Path

SECONDS = 0.5
PAGE = b"\0" * 4096


def synced(folder: Path) -> float:
    """How often a second a page is appended to a file in this folder, and is on the disk."""
    file = folder / "synced"
    handle = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            os.write(handle, PAGE)
            os.fdatasync(handle)
            count += 1
        return count / (time.perf_counter() - began)
    finally:
        os.close(handle)
        file.unlink()
