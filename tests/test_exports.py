"""The root of the package: what it exports is what it says, and importing it is cheap."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pilotage

STUB = Path(pilotage.__file__).with_name("__init__.pyi")


def test_every_name_is_there() -> None:
    for name in pilotage.__all__:
        assert getattr(pilotage, name) is not None


def test_the_names_are_those_that_type_checkers_read() -> None:
    tree = ast.parse(STUB.read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert pilotage.__all__ == sorted(str(alias.asname) for node in imports for alias in node.names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Manger'"):
        pilotage.Manger  # type: ignore[attr-defined]  # noqa: B018


def test_dir_lists_the_names() -> None:
    assert set(pilotage.__all__) < set(dir(pilotage))


def cpu_seconds(code: str) -> float:
    """User and system time of a fresh interpreter that runs `code`: best of five."""
    best = 1e9
    for _ in range(5):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        best = min(best, used)
    return best


def test_importing_costs_at_most_60_ms_more_than_asyncio_and_msgspec() -> None:
    base = cpu_seconds("import asyncio, msgspec")
    assert cpu_seconds("import asyncio, msgspec, pilotage") <= base + 0.060


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, pilotage; print(sorted({'ssl', 'apsw', 'yaml', 're2'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
