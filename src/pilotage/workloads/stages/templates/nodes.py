"""The tree of a Go template."""

from __future__ import annotations

from typing import Any

from pilotage.meta.values import Value


class Operand(Value, frozen=True):
    """A part of a command."""


class Dot(Operand, frozen=True):
    """`.`"""


class Nil(Operand, frozen=True):
    """`nil`"""


class Constant(Operand, frozen=True):
    """A string, a number, `true` or `false`."""

    value: Any


class Fields(Operand, frozen=True):
    """`.a.b`"""

    names: tuple[str, ...]


class Variable(Operand, frozen=True):
    """`$x.a.b`"""

    name: str
    names: tuple[str, ...]


class Chain(Operand, frozen=True):
    """`(pipeline).a.b`, also of a constant or a function."""

    operand: Operand
    names: tuple[str, ...]


class Function(Operand, frozen=True):
    """The name of a function."""

    name: str


class Command(Value, frozen=True):
    """An operand with arguments."""

    operands: tuple[Operand, ...]


class Pipeline(Operand, frozen=True):
    """`$x, $y := command | command`; in parentheses it is an operand."""

    variables: tuple[str, ...]
    assigns: bool
    """Whether the variables exist already: `=`."""
    commands: tuple[Command, ...]


class Node(Value, frozen=True):
    """A part of a template."""

    line: int
    construct: str
    """What messages call it."""


class Text(Node, frozen=True):
    """Text between actions."""

    text: str


class Action(Node, frozen=True):
    """`{{ pipeline }}`"""

    pipeline: Pipeline


class Branch(Node, frozen=True):
    """`if`, `with` or `range`, with the nodes of both branches."""

    keyword: str
    pipeline: Pipeline
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


class Template(Node, frozen=True):
    """`{{ template "name" pipeline }}`"""

    name: str
    pipeline: Pipeline | None


class Jump(Node, frozen=True):
    """`break` or `continue`."""

    keyword: str
