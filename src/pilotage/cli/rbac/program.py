"""The source of a program: the modules it is written in, and the functions and classes that its target reaches."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class ModuleSource:
    """A module with its syntax tree."""

    module: ModuleType
    file: Path
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class ProgramDefinition:
    """A function or a class of the program."""

    source: ModuleSource
    node: Function | ast.ClassDef
    owner: type | None = None
    """The class of a method."""


class ProgramSource:
    """The modules of a program, by name."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        found = [_source(module) for module in modules]
        self._sources = {source.module.__name__: source for source in found if source is not None}
        self._nodes = {
            (name, qualname): node for name, source in self._sources.items() for qualname, node in _named(source.tree)
        }

    def definition(self, value: Any) -> ProgramDefinition | None:
        """The source of a function or a class; None if it is not of this program."""
        value = inspect.unwrap(value) if inspect.isfunction(value) else getattr(value, "__func__", value)
        module, name = str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", ""))
        node = self._nodes.get((module, name))
        return ProgramDefinition(self._sources[module], node) if node is not None else None

    def reached(self, parts: Iterable[Any]) -> list[ProgramDefinition]:
        """All functions that these functions and classes lead to, by what their source refers to.

        A class leads to all its methods, because the runtime calls some of them. The statements of the modules lead to
        what they refer to, without those under `if __name__ == "__main__":`.
        """
        waiting: list[Any] = [
            part if inspect.isroutine(part) or inspect.isclass(part) else type(part) for part in parts
        ]
        for source in self._sources.values():
            waiting += [value for each in _statements(source.tree) for value in _references(each, source.module)]
        found: dict[int, ProgramDefinition] = {}
        while waiting:
            for each in self._with_methods(waiting.pop()):
                if id(each.node) not in found:
                    found[id(each.node)] = each
                    waiting += _references(each.node, each.source.module)
        return sorted(found.values(), key=lambda each: (str(each.source.file), each.node.lineno))

    def all(self) -> list[ProgramDefinition]:
        """All functions and methods."""
        values = [value for source in self._sources.values() for value in vars(source.module).values()]
        found = {id(each.node): each for value in values for each in self._with_methods(value)}
        return list(found.values())

    def methods(self, cls: type) -> Iterator[ProgramDefinition]:
        """The methods of a class and of those that it is derived from, as far as they are of this program."""
        for each in cls.__mro__:
            definition = self.definition(each)
            if definition is not None and isinstance(definition.node, ast.ClassDef):
                for node in definition.node.body:
                    if isinstance(node, Function):
                        yield ProgramDefinition(definition.source, node, cls)

    def _with_methods(self, value: Any) -> Iterator[ProgramDefinition]:
        if inspect.isclass(value):
            yield from self.methods(value)
        elif (definition := self.definition(value)) is not None and isinstance(definition.node, Function):
            yield definition


def _source(module: ModuleType) -> ModuleSource | None:
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    return ModuleSource(module, path, ast.parse(path.read_bytes(), filename=file))


def _named(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{prefix}{child.name}", child
            inner = f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else f"{prefix}{child.name}.<locals>."
            yield from _named(child, inner)
        else:
            yield from _named(child, prefix)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if not definition and not (isinstance(node, ast.If) and "__main__" in ast.dump(node.test)):
            yield node


def _references(node: ast.AST, module: ModuleType) -> Iterator[Any]:
    """The functions and classes that a piece of source names."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            value = named_value(each, module)
            if inspect.isroutine(value) or inspect.isclass(value):
                yield value


def named_value(node: ast.expr, module: ModuleType) -> Any:
    """What a dotted name stands for in a module; None if it cannot be known without running the program."""
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute):
        base = named_value(node.value, module)
        if inspect.ismodule(base) or inspect.isclass(base):
            return getattr(base, node.attr, None)
    return None
