"""The steps of a create, read from the source, beside what is known of each for objects that skip them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pilotage.server
from pilotage.server.writes.onepass import NOTHING_TO_DO

ROOT = Path(pilotage.server.__file__).parent
MODULES = {"steps": ROOT / "writes/steps.py", "store": ROOT / "writes/store.py"}
COLLABORATORS = ("info", "schema", "strategy", "admission", "context", "conversions", "problems")
NO_STEPS = {
    "_first", "_size", "Attributes", "DefinitionNames", "context.admission_of",
    "context.conversions", "context.key", "context.suffix", "context.uid", "conversions.run", "info.details",
    "info.invalid", "offload", "records.decode", "records.encode", "records.to_json", "records.unstored", "shaped",
}  # fmt: skip
"""Calls that change and refuse nothing: values, names, copies, the bytes of the answer."""
STORED = {"insert"}
"""What both ways call to store the bytes."""


def _functions(path: Path) -> dict[str, ast.AST]:
    tree = ast.parse(path.read_text())
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def _imported(path: Path) -> set[str]:
    """The names from other modules of the server."""
    imports = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    ours = (node for node in imports if "pilotage.server" in str(node.module))
    return {alias.asname or alias.name for node in ours for alias in node.names}


def _called(function: ast.AST) -> Iterator[str]:
    """What is called in a function, also by `offload`, which is given the function."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).removeprefix("self.")
            yield name.replace("(context)", "")
            if name == "offload":
                yield ast.unparse(node.args[1])
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
            yield ast.unparse(node.value.orelse)  # a method that is chosen: called under another name


def _steps(path: Path, start: str, seen: set[tuple[Path, str]]) -> Iterator[str]:
    functions, imported = _functions(path), _imported(path)
    seen.add((path, start))
    for name in _called(functions[start]):
        root, _, rest = name.partition(".")
        module, function = (MODULES[root], rest) if root in MODULES else (path, name)
        if (module, function) in seen or name in STORED:
            continue
        if root in MODULES or name in functions:
            yield from [*_steps(module, function, seen)] or [name]
        elif root in imported or (rest and root in COLLABORATORS):
            yield name


def test_each_step_of_a_create_is_known_to_have_nothing_to_do_in_one_pass() -> None:
    create, seen = ROOT / "verbs/create.py", set[tuple[Path, str]]()
    steps = {step for start in ("_read", "_create") for step in _steps(create, start, seen)}
    assert steps - NO_STEPS == NOTHING_TO_DO.keys()
