"""A command that reads starts fast: it loads neither an event loop nor an API server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .tools import todo_tool

HEAVY = {"asyncio", "dataclasses", "inspect", "logging", "ssl", "yaml", "pilotage.manager", "pilotage.server.registry"}
PROGRAM = """
import sys
sys.modules["typing_extensions"] = None  # msgspec loads it where it is installed, and inspect with it
sys.path.insert(0, sys.argv[1])
from inventory import tool
code = tool.run(["get", "items", "--storage", sys.argv[2]])
print(*sys.modules)
sys.exit(code)
"""
EXAMPLE = Path(__file__).parents[3] / "examples" / "inventory"


def run(storage: str) -> list[str]:
    """The output of `get` of the example, and then the modules that it has loaded."""
    command = [sys.executable, "-c", PROGRAM, str(EXAMPLE), storage]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_get_loads_neither_an_event_loop_nor_the_registry(tmp_path: Path) -> None:
    storage = f"sqlite:{tmp_path / 'inventory.db'}"
    run(storage)  # installs the kinds
    modules = set(run(storage)[-1].split())
    assert modules & HEAVY == set()
    assert len(modules) <= 260


def test_a_tool_reads_without_an_event_loop_unless_it_watches(tmp_path: Path) -> None:
    tool = todo_tool(tmp_path)
    options = tool.parser().parse_args(["get", "todos", "--watch"])
    command = tool._commands["get"]
    assert tool.perform_now(command, options) is None
    options.watch = False
    assert tool.perform_now(command, options) == 0
    options.storage = "memory:"
    assert tool.perform_now(command, options) is None
