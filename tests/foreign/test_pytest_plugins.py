"""Our pytest plugin beside other plugins that run async tests: each runs only its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .test_clients import folder_of

pytestmark = pytest.mark.foreign

GREETINGS = Path(__file__).parents[2] / "examples" / "test_greetings.py"
OTHERS = """
import asyncio
import pytest
from pilotage.testing.loop import VirtualLoop


@pytest.fixture
async def value():
    return asyncio.get_running_loop()


async def test_of_another_plugin(value) -> None:
    assert asyncio.get_running_loop() is value
    assert not isinstance(value, VirtualLoop)
"""


@pytest.mark.parametrize(
    "options",
    [
        ["-p", "no:anyio", "-o", "asyncio_mode=auto"],
        ["-p", "no:asyncio", "-o", "anyio_mode=auto"],
    ],
    ids=["pytest-asyncio", "anyio"],
)
def test_async_tests_with_our_fixtures_are_ours_and_all_others_are_theirs(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "conftest.py").write_text("import pytest\n@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n")
    (tmp_path / "test_greetings.py").write_text(GREETINGS.read_text())
    (tmp_path / "test_others.py").write_text(OTHERS)
    (plugins,) = folder_of("environment.py").glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pilotage.testing.plugin", *options]
    environment = os.environ | {"PYTHONPATH": str(plugins)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "6 passed" in ran.stdout, ran.stdout + ran.stderr
