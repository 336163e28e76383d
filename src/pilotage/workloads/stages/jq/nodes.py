"""The tree of a jq expression."""

from __future__ import annotations

from typing import Any

from pilotage.meta.values import Value


class Node(Value, frozen=True):
    """A part of an expression, which has any number of outputs for one input."""


class Identity(Node, frozen=True):
    """`.`"""


class Recurse(Node, frozen=True):
    """`..`: the input and all values within it."""


class Literal(Node, frozen=True):
    """A number, a string, `null`, `true`, `false`."""

    value: Any


class Field(Node, frozen=True):
    """`.name`, `."name"` or `.["name"]` of the target."""

    target: Node
    name: str


class Index(Node, frozen=True):
    """`target[key]`, with a key that is an expression over the input."""

    target: Node
    key: Node


class Slice(Node, frozen=True):
    """`target[first:last]`."""

    target: Node
    first: Node | None
    last: Node | None


class Iterate(Node, frozen=True):
    """`target[]`."""

    target: Node


class Optional(Node, frozen=True):
    """`target?`: errors end the outputs."""

    target: Node


class Array(Node, frozen=True):
    """`[items]`."""

    items: Node | None


class Object(Node, frozen=True):
    """`{key: value}`; both are expressions over the input."""

    entries: tuple[tuple[Node, Node], ...]


class Pipe(Node, frozen=True):
    """`first | second`."""

    first: Node
    second: Node


class Comma(Node, frozen=True):
    """`first, second`."""

    first: Node
    second: Node


class Binary(Node, frozen=True):
    """`left operator right`, for arithmetic and comparison."""

    operator: str
    left: Node
    right: Node


class Logic(Node, frozen=True):
    """`left and right`, `left or right`."""

    operator: str
    left: Node
    right: Node


class Alternative(Node, frozen=True):
    """`first // second`: the outputs of `first` that are neither null nor false; without any, those of `second`."""

    first: Node
    second: Node


class Conditional(Node, frozen=True):
    """`if condition then chosen else otherwise end`."""

    condition: Node
    chosen: Node
    otherwise: Node


class Call(Node, frozen=True):
    """`name(argument; …)`."""

    name: str
    arguments: tuple[Node, ...]
