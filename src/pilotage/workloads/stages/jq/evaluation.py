"""The outputs of an expression for a document.

Numbers of a document are floats, as gojq gets them from JSON; numbers of the expression and lengths are integers
(`Whole`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from pilotage.workloads.stages.jq import nodes
from pilotage.workloads.stages.jq.conversions import items
from pilotage.workloads.stages.jq.functions import FUNCTIONS
from pilotage.workloads.stages.jq.limits import DataError, Steps
from pilotage.workloads.stages.jq.nodes import Node
from pilotage.workloads.stages.jq.operators import BINARY, from_document, is_true, kind


def outputs(node: Node, value: Any, steps: Steps) -> Iterator[Any]:
    """What the expression gives for a value. Raises DataError and LimitExceeded."""
    return _RUN[type(node)](node, value, steps)


def field(value: Any, name: str) -> Any:
    """`value.name`. Raises DataError."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise DataError(f"expected an object but got: {kind(value)}")
    return from_document(value.get(name))


def element(value: Any, key: Any) -> Any:
    """`value[key]`. Raises DataError."""
    if isinstance(key, str):
        return field(value, key)
    if isinstance(key, int | float) and not isinstance(key, bool):
        if value is None:
            return None
        if not isinstance(value, list | str):
            raise DataError(f"expected an array but got: {kind(value)}")
        index = _index(key)
        index += len(value) if index < 0 else 0
        return from_document(value[index]) if 0 <= index < len(value) else None
    raise DataError(f"cannot index {kind(value)} with {kind(key)}")


def _index(number: float) -> int:
    if math.isnan(number):
        return -(2**62)
    return math.floor(max(min(number, 2**62), -(2**62)))


def _identity(node: nodes.Identity, value: Any, steps: Steps) -> Iterator[Any]:
    steps.take()
    yield value


def _recurse(node: nodes.Recurse, value: Any, steps: Steps) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        steps.take()
        current = waiting.pop()
        yield from_document(current)
        if isinstance(current, dict | list):
            waiting += reversed(items(current))


def _literal(node: nodes.Literal, value: Any, steps: Steps) -> Iterator[Any]:
    steps.take()
    yield node.value


def _field(node: nodes.Field, value: Any, steps: Steps) -> Iterator[Any]:
    for target in outputs(node.target, value, steps):
        steps.take()
        yield field(target, node.name)


def _indexed(node: nodes.Index, value: Any, steps: Steps) -> Iterator[Any]:
    for target in outputs(node.target, value, steps):
        for key in outputs(node.key, value, steps):
            steps.take()
            yield element(target, key)


def _slice(node: nodes.Slice, value: Any, steps: Steps) -> Iterator[Any]:
    for target in outputs(node.target, value, steps):
        for last in outputs(node.last, value, steps) if node.last else (None,):
            for first in outputs(node.first, value, steps) if node.first else (None,):
                steps.take()
                yield _part(target, first, last)


def _part(value: Any, first: Any, last: Any) -> Any:
    if any(kind(bound) not in ("null", "number") for bound in (first, last)):
        raise DataError("the bounds of a slice must be numbers")
    if value is None:
        return None
    if not isinstance(value, str | list):
        raise DataError(f"cannot slice {kind(value)}")
    begin = None if first is None else _index(first)
    end = None if last is None else _index(math.ceil(last) if math.isfinite(last) else last)
    return value[begin:end]


def _iterate(node: nodes.Iterate, value: Any, steps: Steps) -> Iterator[Any]:
    for target in outputs(node.target, value, steps):
        for item in items(target):
            steps.take()
            yield from_document(item)


def _optional(node: nodes.Optional, value: Any, steps: Steps) -> Iterator[Any]:
    try:
        yield from outputs(node.target, value, steps)
    except DataError:
        return


def _array(node: nodes.Array, value: Any, steps: Steps) -> Iterator[Any]:
    found = list(outputs(node.items, value, steps)) if node.items else []
    steps.take()
    yield found


def _object(node: nodes.Object, value: Any, steps: Steps) -> Iterator[Any]:
    pairs: list[list[tuple[Any, Any]]] = []
    for key_node, value_node in node.entries:
        keys = list(outputs(key_node, value, steps))
        values = list(outputs(value_node, value, steps))
        pairs.append([(key, each) for key in keys for each in values])
    for combination in product(*pairs):
        steps.take(1 + len(combination))
        if any(not isinstance(key, str) for key, _ in combination):
            raise DataError("the key of an object must be a string")
        yield dict(combination)


def _pipe(node: nodes.Pipe, value: Any, steps: Steps) -> Iterator[Any]:
    for each in outputs(node.first, value, steps):
        yield from outputs(node.second, each, steps)


def _comma(node: nodes.Comma, value: Any, steps: Steps) -> Iterator[Any]:
    yield from outputs(node.first, value, steps)
    yield from outputs(node.second, value, steps)


def _binary(node: nodes.Binary, value: Any, steps: Steps) -> Iterator[Any]:
    operate = BINARY[node.operator]
    for right in outputs(node.right, value, steps):
        for left in outputs(node.left, value, steps):
            steps.take(_cost(left, right))
            yield operate(left, right)


def _cost(left: Any, right: Any) -> int:
    """The steps of an operation. The difference of two arrays compares each item with each."""
    sizes = [len(value) >> 4 if isinstance(value, str | list | dict) else 0 for value in (left, right)]
    return 1 + sum(sizes) + sizes[0] * sizes[1] * 16


def _logic(node: nodes.Logic, value: Any, steps: Steps) -> Iterator[Any]:
    decisive = node.operator == "or"
    for left in outputs(node.left, value, steps):
        if is_true(left) == decisive:
            yield decisive
        else:
            for right in outputs(node.right, value, steps):
                yield is_true(right)


def _alternative(node: nodes.Alternative, value: Any, steps: Steps) -> Iterator[Any]:
    found = False
    for each in outputs(node.first, value, steps):
        if is_true(each):
            found = True
            yield each
    if not found:
        yield from outputs(node.second, value, steps)


def _conditional(node: nodes.Conditional, value: Any, steps: Steps) -> Iterator[Any]:
    for condition in outputs(node.condition, value, steps):
        yield from outputs(node.chosen if is_true(condition) else node.otherwise, value, steps)


def _call(node: nodes.Call, value: Any, steps: Steps) -> Iterator[Any]:
    steps.take()
    arguments = [_argument(each, steps) for each in node.arguments]
    return FUNCTIONS[node.name, len(arguments)](value, steps, *arguments)


def _argument(node: Node, steps: Steps) -> Callable[[Any], Iterator[Any]]:
    return lambda value: outputs(node, value, steps)


_RUN: dict[type[Node], Callable[[Any, Any, Steps], Iterator[Any]]] = {
    nodes.Identity: _identity,
    nodes.Recurse: _recurse,
    nodes.Literal: _literal,
    nodes.Field: _field,
    nodes.Index: _indexed,
    nodes.Slice: _slice,
    nodes.Iterate: _iterate,
    nodes.Optional: _optional,
    nodes.Array: _array,
    nodes.Object: _object,
    nodes.Pipe: _pipe,
    nodes.Comma: _comma,
    nodes.Binary: _binary,
    nodes.Logic: _logic,
    nodes.Alternative: _alternative,
    nodes.Conditional: _conditional,
    nodes.Call: _call,
}
