"""The parts of a template that have a value: operands, commands and pipelines, as functions of a rendering and dot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pilotage.meta.values import Value
from pilotage.workloads.stages.templates.limits import RenderError
from pilotage.workloads.stages.templates.rendering import Rendering
from pilotage.workloads.stages.templates.values import MISSING, go_type, is_true

Evaluate = Callable[[Rendering, Any], Any]
"""Called with the rendering and dot. Raises RenderError."""
_NOTHING: Any = object()
"""No argument from the command before."""


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
            if value is None:
                value = MISSING  # a nil interface is no value to the next command
        for name in self.variables:
            rendering.set(name, value, is_new=self.is_new)
        return value


def constant(value: Any) -> Operand:
    """A literal."""
    return Operand(lambda rendering, dot: value, is_constant=True)


DOT = Operand(lambda rendering, dot: dot, is_constant=True)
"""`.`"""


def _nil(rendering: Rendering, dot: Any) -> Any:
    return None


NIL = Operand(_nil, is_constant=True)
"""`nil`"""


def variable(name: str) -> Operand:
    """`$name`"""
    return Operand(lambda rendering, dot: rendering.variable(name))


def called(name: str) -> Operand:
    """The name of a function; without arguments, its result."""
    return Operand(lambda rendering, dot: _call(name, (), rendering, dot, _NOTHING), function=name)


def fields(target: Operand, names: list[str]) -> Operand:
    """`target.a.b`"""
    return Operand(lambda rendering, dot: _field(target.evaluate(rendering, dot), names))


def _field(value: Any, names: list[str]) -> Any:
    """The field of a field of a value. A key that does not exist, and its fields, are no value."""
    for name in names:
        if value is MISSING:
            return MISSING
        if value is None:
            raise RenderError(f"nil pointer evaluating interface {{}}.{name}")
        if not isinstance(value, dict):
            raise RenderError(f"can't evaluate field {name} in type {go_type(value)}")
        value = value.get(name, MISSING)
    return value


def _result(command: tuple[Operand, ...], rendering: Rendering, dot: Any, final: Any) -> Any:
    first, *arguments = command
    if first.function:
        return _call(first.function, tuple(arguments), rendering, dot, final)
    if arguments or final is not _NOTHING:
        raise RenderError("can't give argument to non-function")
    value = first.evaluate(rendering, dot)
    if first is NIL:
        raise RenderError("nil is not a command")
    return value


def _call(name: str, operands: tuple[Operand, ...], rendering: Rendering, dot: Any, final: Any) -> Any:
    if name in ("and", "or"):
        return _logic(name, operands, rendering, dot, final)
    arguments = [operand.evaluate(rendering, dot) for operand in operands]
    return rendering.call(name, arguments if final is _NOTHING else [*arguments, final])


def _logic(name: str, operands: tuple[Operand, ...], rendering: Rendering, dot: Any, final: Any) -> Any:
    """Arguments after the one that decides are not evaluated."""
    rendering.steps.take()
    if not operands and final is _NOTHING:
        raise RenderError(f"wrong number of args for {name}: want at least 1 got 0")
    value: Any = MISSING
    for operand in operands:
        value = operand.evaluate(rendering, dot)
        if is_true(value) == (name == "or"):
            return value
    return value if final is _NOTHING else final
