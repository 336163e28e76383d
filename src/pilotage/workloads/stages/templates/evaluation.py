"""The text that a template gives for a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pilotage.workloads.stages.templates import nodes
from pilotage.workloads.stages.templates.functions import Function
from pilotage.workloads.stages.templates.govalues import MISSING, GoInt, go_type, is_true, printed
from pilotage.workloads.stages.templates.limits import RenderError, Steps, check_length
from pilotage.workloads.stages.templates.parser import Trees

_MAX_CALLS = 20
"""Templates within templates."""
_NO_ARGUMENT: Any = object()


class _Jump(Exception):
    """`break` or `continue`."""

    def __init__(self, keyword: str) -> None:
        self.keyword = keyword


class Evaluation:
    """One rendering of a template. `functions` are in order: the first mapping that has a name decides."""

    def __init__(self, trees: Trees, functions: tuple[Mapping[str, Function], ...], data: Any) -> None:
        self._trees = trees
        self._functions = functions
        self._variables: list[tuple[str, Any]] = [("$", data)]
        self._parts: list[str] = []
        self._length = 0
        self._calls = 0
        self._steps = Steps()

    def text(self) -> str:
        """The text. Raises RenderError."""
        self._walk(self._trees[""], self._variables[0][1])
        return "".join(self._parts)

    def _walk(self, body: tuple[nodes.Node, ...], dot: Any) -> None:
        for node in body:
            self._steps.take()
            try:
                _WALK[type(node)](self, node, dot)
            except RenderError as error:
                if error.line:
                    raise
                raise RenderError(error.message, node.line, node.construct) from None

    def _write(self, text: str) -> None:
        self._length += len(text)
        check_length(self._length)
        self._parts.append(text)

    def _text(self, node: nodes.Text, dot: Any) -> None:
        self._write(node.text)

    def _action(self, node: nodes.Action, dot: Any) -> None:
        value = self._pipeline(node.pipeline, dot)
        if not node.pipeline.variables:
            self._write(printed(value))

    def _branch(self, node: nodes.Branch, dot: Any) -> None:
        scope = len(self._variables)
        value = self._pipeline(node.pipeline, dot)
        if node.keyword == "range":
            self._range(node, dot, value)
        elif is_true(value):
            self._walk(node.body, value if node.keyword == "with" else dot)
        else:
            self._walk(node.otherwise, dot)
        del self._variables[scope:]

    def _range(self, node: nodes.Branch, dot: Any, value: Any) -> None:
        scope, names = len(self._variables), node.pipeline.variables
        if isinstance(value, GoInt) and len(names) > 1:
            raise RenderError(f"can't use {int(value)} to iterate over more than one variable")
        count = 0
        for key, item in _pairs(value):
            count += 1
            self._steps.take()
            if names:
                self._assign_item(node.pipeline, key, item)
            jump = self._iteration(node.body, item)
            del self._variables[scope:]
            if jump == "break":
                break
        if not count:
            self._walk(node.otherwise, dot)

    def _assign_item(self, pipeline: nodes.Pipeline, key: Any, item: Any) -> None:
        *keys, last = pipeline.variables
        if pipeline.assigns:
            for name, value in [(name, key) for name in keys] + [(last, item)]:
                self._set(name, value)
            return
        scope = len(self._variables) - len(pipeline.variables)
        self._variables[scope:] = [(name, key) for name in keys] + [(last, item)]

    def _iteration(self, body: tuple[nodes.Node, ...], item: Any) -> str:
        try:
            self._walk(body, item)
        except _Jump as jump:
            return jump.keyword
        return ""

    def _template(self, node: nodes.Template, dot: Any) -> None:
        body = self._trees.get(node.name)
        if body is None:
            raise RenderError(f'template "{node.name}" not defined')
        if self._calls >= _MAX_CALLS:
            raise RenderError(f"more than {_MAX_CALLS} templates within templates")
        value = MISSING if node.pipeline is None else self._pipeline(node.pipeline, dot)
        variables, self._variables = self._variables, [("$", value)]
        self._calls += 1
        self._walk(body, value)
        self._calls -= 1
        self._variables = variables

    def _jump(self, node: nodes.Jump, dot: Any) -> None:
        raise _Jump(node.keyword)

    def _pipeline(self, pipeline: nodes.Pipeline, dot: Any) -> Any:
        value = _NO_ARGUMENT
        for command in pipeline.commands:
            value = self._command(command, dot, value)
            if value is None:
                value = MISSING  # a nil interface is no value to the next command
        for name in pipeline.variables:
            if pipeline.assigns:
                self._set(name, value)
            else:
                self._variables.append((name, value))
        return value

    def _set(self, name: str, value: Any) -> None:
        for index in range(len(self._variables) - 1, -1, -1):
            if self._variables[index][0] == name:
                self._variables[index] = (name, value)
                return

    def _command(self, command: nodes.Command, dot: Any, final: Any) -> Any:
        first, *arguments = command.operands
        if isinstance(first, nodes.Function):
            return self._call(first.name, arguments, dot, final)
        if arguments or final is not _NO_ARGUMENT:
            raise RenderError("can't give argument to non-function")
        if isinstance(first, nodes.Nil):
            raise RenderError("nil is not a command")
        return self._operand(first, dot)

    def _operand(self, operand: nodes.Operand, dot: Any) -> Any:
        return _OPERANDS[type(operand)](self, operand, dot)

    def _variable(self, operand: nodes.Variable, dot: Any) -> Any:
        for name, value in reversed(self._variables):
            if name == operand.name:
                return _field(value, operand.names)
        raise RenderError(f"undefined variable: {operand.name}")

    def _chain(self, operand: nodes.Chain, dot: Any) -> Any:
        return _field(self._operand(operand.operand, dot), operand.names)

    def _call(self, name: str, operands: list[nodes.Operand], dot: Any, final: Any) -> Any:
        self._steps.take()
        if name in ("and", "or"):
            return self._logic(name, operands, dot, final)
        arguments = [self._operand(operand, dot) for operand in operands]
        if final is not _NO_ARGUMENT:
            arguments.append(final)
        for functions in self._functions:
            if name in functions:
                break
        else:
            raise RenderError(f'function "{name}" is not defined')
        result = functions[name].call(name, arguments)
        self._steps.check(result)
        return result

    def _logic(self, name: str, operands: list[nodes.Operand], dot: Any, final: Any) -> Any:
        if not operands and final is _NO_ARGUMENT:
            raise RenderError(f"wrong number of args for {name}: want at least 1 got 0")
        value: Any = MISSING
        for operand in operands:
            value = self._operand(operand, dot)
            if is_true(value) == (name == "or"):
                return value
        return value if final is _NO_ARGUMENT else final


def _field(value: Any, names: tuple[str, ...]) -> Any:
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


def _pairs(value: Any) -> Iterator[tuple[Any, Any]]:
    """What `range` iterates over: indexes or sorted keys, with the items."""
    if isinstance(value, dict):
        return iter(sorted(value.items()))
    if isinstance(value, list):
        return ((GoInt(index), item) for index, item in enumerate(value))
    if isinstance(value, GoInt):
        return ((MISSING, GoInt(index)) for index in range(value))
    if value is MISSING:
        return iter(())
    raise RenderError(f"range can't iterate over {printed(value)[:100]}")


_WALK: dict[type[nodes.Node], Callable[[Evaluation, Any, Any], None]] = {
    nodes.Text: Evaluation._text,
    nodes.Action: Evaluation._action,
    nodes.Branch: Evaluation._branch,
    nodes.Template: Evaluation._template,
    nodes.Jump: Evaluation._jump,
}
_OPERANDS: dict[type[nodes.Operand], Callable[[Evaluation, Any, Any], Any]] = {
    nodes.Dot: lambda evaluation, operand, dot: dot,
    nodes.Nil: lambda evaluation, operand, dot: None,
    nodes.Constant: lambda evaluation, operand, dot: operand.value,
    nodes.Fields: lambda evaluation, operand, dot: _field(dot, operand.names),
    nodes.Variable: Evaluation._variable,
    nodes.Chain: Evaluation._chain,
    nodes.Function: lambda evaluation, operand, dot: evaluation._call(operand.name, [], dot, _NO_ARGUMENT),
    nodes.Pipeline: lambda evaluation, operand, dot: evaluation._pipeline(operand, dot),
}
