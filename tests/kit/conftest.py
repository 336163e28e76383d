from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.tools import Console, todo_tool


@pytest.fixture
def todo(tmp_path: Path) -> Console:
    """The tool on a file of its own."""
    return Console(todo_tool(tmp_path))
