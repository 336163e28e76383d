"""Golden files: texts that are compared whole. `PILOTAGE_GOLDEN=write` writes them again."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def check(name: str, text: str) -> None:
    """Compare a text with the golden file of that name."""
    path = FOLDER / name
    if os.environ.get("PILOTAGE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"there is no golden file {name}; make it with PILOTAGE_GOLDEN=write"
    assert text == path.read_text(encoding="utf-8"), f"{name} differs; look, then PILOTAGE_GOLDEN=write"
