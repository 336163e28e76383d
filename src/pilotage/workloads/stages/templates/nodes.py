"""The parts of a template that write text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pilotage.meta.values import Value
from pilotage.workloads.stages.templates.operands import Pipeline, Rendering
from pilotage.workloads.stages.templates.problems import RenderError
from pilotage.workloads.stages.templates.values import GoInt, is_true, printed


class Jump(Exception):
    """`break` or `continue`."""


class Node(Value, frozen=True):
    """A part of a template."""

    line: int
    construct: str
    """What messages call it."""
    write: Callable[[Rendering, Any], None]
    """Called with the rendering and dot."""


Body = tuple[Node, ...]


def walk(body: Body, rendering: Rendering, dot: Any) -> None:
    """Write all nodes. A RenderError has the line and the action."""
    for node in body:
        try:
            node.write(rendering, dot)
        except RenderError as error:
            if error.line:
                raise
            raise RenderError(error.message, node.line, node.construct) from None


def text(value: str) -> Callable[[Rendering, Any], None]:
    """Text between actions."""
    return lambda rendering, dot: rendering.parts.append(value)


def action(pipeline: Pipeline) -> Callable[[Rendering, Any], None]:
    """`{{ pipeline }}`"""

    def write(rendering: Rendering, dot: Any) -> None:
        value = pipeline.evaluate(rendering, dot)
        if not pipeline.variables:
            rendering.parts.append("<no value>" if value is None else printed(value))

    return write


def branch(keyword: str, pipeline: Pipeline, body: Body, otherwise: Body) -> Callable[[Rendering, Any], None]:
    """`if`, `with` or `range`, with the nodes of both branches."""

    def write(rendering: Rendering, dot: Any) -> None:
        scope = len(rendering.variables)
        value = pipeline.evaluate(rendering, dot)
        if keyword == "range":
            chosen = () if _range(pipeline, body, rendering, value) else otherwise
        else:
            chosen = body if is_true(value) else otherwise
        walk(chosen, rendering, value if chosen is body and keyword == "with" else dot)
        del rendering.variables[scope:]

    return write


def _range(pipeline: Pipeline, body: Body, rendering: Rendering, value: Any) -> bool:
    """Write the body for each item; whether there is one."""
    scope, found = len(rendering.variables), False
    for key, item in _pairs(value):
        found = True
        for name, each in zip(reversed(pipeline.variables), (item, key), strict=False):
            rendering.set(name, each, is_new=False)
        try:
            walk(body, rendering, item)
        except Jump as jump:
            if jump.args[0] == "break":
                break
        finally:
            del rendering.variables[scope:]
    return found


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """What `range` iterates over: indexes or sorted keys, with the items."""
    if isinstance(value, dict):
        return sorted(value.items())
    if isinstance(value, list):
        return ((GoInt(index), item) for index, item in enumerate(value))
    if isinstance(value, GoInt):
        return ((GoInt(index), GoInt(index)) for index in range(value))
    if value is None:
        return ()
    raise RenderError(f"range can't iterate over {printed(value)[:100]}")


def template(name: str, pipeline: Pipeline | None, bodies: Mapping[str, Body]) -> Callable[[Rendering, Any], None]:
    """`{{ template "name" pipeline }}`"""

    def write(rendering: Rendering, dot: Any) -> None:
        if name not in bodies:
            raise RenderError(f'template "{name}" not defined')
        value = None if pipeline is None else pipeline.evaluate(rendering, dot)
        variables, rendering.variables = rendering.variables, [("$", value)]
        walk(bodies[name], rendering, value)
        rendering.variables = variables

    return write


def jump(keyword: str) -> Callable[[Rendering, Any], None]:
    """`break` or `continue`."""

    def write(rendering: Rendering, dot: Any) -> None:
        raise Jump(keyword)

    return write
