"""A command loads what it needs, and nothing before it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pilotage.cli import COMMANDS

HEAVY = {"asyncio", "ssl", "msgspec", "yaml", "apsw", "re2", "cryptography", "cel_expr_python"}
HEAVY |= {"google.protobuf", "hpack", "pynvml"}
API = """
import pilotage as pt

class ThingSpec(pt.Model):
    size: int = 1

@pt.resource(group="example.com", version="v1")
class Thing(pt.Resource):
    spec: ThingSpec
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules in memory when the command ends."""
    program = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        "from pilotage.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["run", "--help"], ["serve", "--help"], ["device", "serve", "--help"]]
)
def test_help_loads_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    assert loaded(tmp_path, *arguments) & HEAVY == set()


def test_the_package_can_be_run_as_a_module(tmp_path: Path) -> None:
    for module in ("pilotage", "pilotage.cli"):
        command = [sys.executable, "-m", module, "run", "missing.py"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert (ran.returncode, ran.stdout) == (1, ""), module
        assert ran.stderr.startswith("pilotage: "), module


def test_help_loads_few_modules(tmp_path: Path) -> None:
    """Their number stands for the time: on a quiet machine it is about 40 ms more than that of the interpreter."""
    modules = loaded(tmp_path, "--help")
    assert len([name for name in modules if name.startswith("pilotage")]) <= 52
    assert len(modules) <= 155


def test_a_command_loads_no_other_command(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "run", "--help")
    assert [name for name in COMMANDS if f"pilotage.cli.{name}" in modules] == ["run"]


def test_projects_are_written_without_loading_an_api_server(tmp_path: Path) -> None:
    assert loaded(tmp_path, "init", "--name", "books") & (HEAVY - {"msgspec"}) == set()
    assert loaded(tmp_path, "create", "api", "Book") & (HEAVY - {"msgspec"}) == set()


def test_crd_loads_neither_cluster_nor_client_nor_server(tmp_path: Path) -> None:
    (tmp_path / "api.py").write_text(API)
    modules = loaded(tmp_path, "crd", "api.py")
    assert "pilotage.schema.generate.crd" in modules
    assert {
        name for name in modules if name.startswith(("pilotage.cluster", "pilotage.client", "pilotage.server"))
    } == set()
    assert modules & {"apsw", "ssl"} == set()
