"""A command that reads starts fast: it loads neither the kinds of the program, nor what they are built on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pilotage.kit.arguments import COMMANDS
from pilotage.kit.arguments.planning import LOOP, plan
from pilotage.kit.arguments.reads import GetArguments
from pilotage.kit.routes import light

from .tools import todo_tool

HEAVY = {
    *("asyncio", "dataclasses", "email", "inspect", "logging", "msgspec", "pathlib", "shutil", "ssl", "threading"),
    *("typing", "urllib", "yaml", "inventory.kinds", "pilotage.meta.models", "pilotage.server.registry"),
}
MOST_MODULES = 96
"""Beyond those of the interpreter itself: each takes a fifth of a millisecond."""
PROGRAM = """
import _thread, sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
from inventory import tool
code = tool.run(sys.argv[2:])
print(_thread._count(), *(set(sys.modules) - before))
sys.exit(code)
"""
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "inventory"


def run(folder: Path, *words: str) -> tuple[list[str], set[str]]:
    """The output of a command of the example, and the modules that it has loaded. It starts no thread."""
    command = [sys.executable, "-c", PROGRAM, str(EXAMPLE), *words, "--storage", f"sqlite:{folder}/inventory.db"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    *lines, last = ran.stdout.splitlines()
    threads, *modules = last.split()
    assert threads == "0"
    return lines, set(modules)


def test_get_loads_neither_the_kinds_nor_an_event_loop_and_starts_no_thread(tmp_path: Path) -> None:
    run(tmp_path, "apply", "-f", str(EXAMPLE / "samples"))
    for words in (["get", "items"], ["get", "items,categories", "-o", "wide", "-A"], ["get", "item", "phone-456"]):
        lines, modules = run(tmp_path, *words)
        assert "phone-456" in " ".join(lines)
        assert modules & HEAVY == set()
        assert len(modules) <= MOST_MODULES


def test_a_read_that_takes_more_loads_neither_an_event_loop_nor_the_registry(tmp_path: Path) -> None:
    run(tmp_path, "apply", "-f", str(EXAMPLE / "samples"))
    _, modules = run(tmp_path, "get", "items", "-l", "brand=dell")
    assert modules & {"asyncio", "dataclasses", "logging", "ssl", "yaml", "pilotage.server.registry"} == set()


def test_a_tool_reads_without_an_event_loop_unless_it_watches(tmp_path: Path) -> None:
    tool = todo_tool(tmp_path)
    command = COMMANDS["get"]
    options = command.typed(tool.parser().parse_args(["get", "todos", "--watch"]))
    assert isinstance(options, GetArguments)
    assert plan(command, options, tool.facts(options)).routes == (LOOP,)
    options.watch = False
    assert light.performed(plan(command, options, tool.facts(options)), tool, options) == 0
    options.storage = "memory:"
    assert plan(command, options, tool.facts(options)).routes == (LOOP,)


def modules_after(folder: Path, program: str) -> set[str]:
    """The modules that a program has loaded at its end."""
    (folder / "program.py").write_text(f"{program}\nimport sys; print(*sys.modules)\n", encoding="utf-8")
    environment = {**os.environ, "TODO_STORAGE": f"sqlite:{folder}/todo.db"}
    command = [sys.executable, str(folder / "program.py")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return set(ran.stdout.split())


def test_a_tool_in_one_file_loads_neither_an_event_loop_nor_a_cache_for_a_read(tmp_path: Path) -> None:
    program = (ROOT / "examples" / "todo.py").read_text(encoding="utf-8").partition("if __name__")[0]
    assert "manager: pt.Manager" in program
    create = "['create', 'todo', 'milk', '--set', 'spec.text=a', '--no-reconcile']"
    modules_after(tmp_path, f"{program}assert tool.run({create}) == 0")
    modules = modules_after(tmp_path, f"{program}assert tool.run(['get', 'todos']) == 0")
    are_evaluated = sys.version_info < (3, 14)  # annotations, when a function is defined
    assert ("pilotage.manager.manager" in modules) == are_evaluated
    assert modules & {"asyncio", "ssl", "pilotage.cache.cache", "pilotage.controller.controller"} == set()


def test_the_names_of_annotations_load_no_event_loop(tmp_path: Path) -> None:
    names = ("Client", "Cluster", "Event", "EventRecorder", "Finalizers", "Handler", "Manager", "Request", "Result")
    program = "import pilotage as pt\n" + "\n".join(f"pt.{name}" for name in names)
    assert modules_after(tmp_path, program) & {"asyncio", "ssl", "pilotage.cache.cache"} == set()
