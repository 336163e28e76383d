"""The parts of a template that have a value: operands, commands and pipelines, as functions of a rendering and dot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pilotage.meta.values import Value
from pilotage.workloads.stages.templates.problems import RenderError
from pilotage.workloads.stages.templates.values import go_type, is_true

_NOTHING: Any = object()
"""No argument from the command before."""


class Rendering:
    """One rendering of a template: its functions, its variables, and the text so far."""

    def __init__(self, data: Any, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.variables: list[tuple[str, Any]] = [("$", data)]
        self.parts: list[str] = []
        self._functions = functions

    def set(self, name: str, value: Any, *, is_new: bool) -> None:
        """Declare a variable, or change the innermost one of this name."""
        places = (at for at in reversed(range(len(self.variables))) if self.variables[at][0] == name)
        at = len(self.variables) if is_new else next(places)
        self.variables[at : at + 1] = [(name, value)]

    def call(self, name: str, arguments: list[Any]) -> Any:
        """The result of a function. Raises RenderError."""
        try:
            return self._functions[name](*arguments)
        except (TypeError, ValueError, AttributeError):
            given = ", ".join(map(go_type, arguments)) or "none"
            raise RenderError(f"wrong arguments for {name}: {given}") from None


Evaluate = Callable[[Rendering, Any], Any]
"""Called with the rendering and dot. Raises RenderError."""


class Operand(Value, frozen=True):
    """A part of a command."""

    evaluate: Evaluate
    function: str = ""
    """The name, if it is a function."""
    is_constant: bool = False
    """Whether it is a literal or dot, which cannot follow another command."""


class Pipeline(Value, frozen=True):
    """`$x, $y := command | command`"""

    variables: tuple[str, ...]
    is_new: bool
    """Whether the variables are declared: `:=`."""
    commands: tuple[tuple[Operand, ...], ...]

    def evaluate(self, rendering: Rendering, dot: Any) -> Any:
        """The value of the last command. Sets the variables."""
        value = _NOTHING
        for command in self.commands:
            value = _result(command, rendering, dot, value)
        for name in self.variables:
            rendering.set(name, value, is_new=self.is_new)
        return value


def constant(value: Any) -> Operand:
    """A literal."""
    return Operand(lambda rendering, dot: value, is_constant=True)


DOT = Operand(lambda rendering, dot: dot, is_constant=True)
"""`.`"""


def variable(name: str) -> Operand:
    """`$name`"""
    return Operand(
        lambda rendering, dot: next(value for known, value in reversed(rendering.variables) if known == name)
    )


def called(name: str) -> Operand:
    """The name of a function; without arguments, its result."""
    return Operand(lambda rendering, dot: _call(name, (), rendering, dot, _NOTHING), function=name)


def fields(target: Operand, names: list[str]) -> Operand:
    """`target.a.b`"""
    return Operand(lambda rendering, dot: _field(target.evaluate(rendering, dot), names))


def _field(value: Any, names: list[str]) -> Any:
    """The field of a field of a value. A key that does not exist, and its fields, are no value."""
    for name in names:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise RenderError(f"can't evaluate field {name} in type {go_type(value)}")
        value = value.get(name)
    return value


def _result(command: tuple[Operand, ...], rendering: Rendering, dot: Any, final: Any) -> Any:
    first, *arguments = command
    if first.function:
        return _call(first.function, tuple(arguments), rendering, dot, final)
    if arguments or final is not _NOTHING:
        raise RenderError("can't give argument to non-function")
    return first.evaluate(rendering, dot)


def _call(name: str, operands: tuple[Operand, ...], rendering: Rendering, dot: Any, final: Any) -> Any:
    if name in ("and", "or"):
        return _logic(name, operands, rendering, dot, final)
    arguments = [operand.evaluate(rendering, dot) for operand in operands]
    return rendering.call(name, arguments if final is _NOTHING else [*arguments, final])


def _logic(name: str, operands: tuple[Operand, ...], rendering: Rendering, dot: Any, final: Any) -> Any:
    """Arguments after the one that decides are not evaluated."""
    value: Any = None
    for operand in operands:
        value = operand.evaluate(rendering, dot)
        if is_true(value) == (name == "or"):
            return value
    return value if final is _NOTHING else final
