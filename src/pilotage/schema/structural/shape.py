"""The shape of a schema as a msgspec type: whether a document needs no work, checked by C code.

Most documents fit their shape: nothing in them has to be dropped or defaulted, and nothing is wrong with them. For all
others the pruner, the defaulter and the validator do the work. A shape never accepts what these would change or
refuse; it may refuse what they accept.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal, Optional

import msgspec

from pilotage.schema.structural.lists import list_check
from pilotage.schema.structural.node import META_FIELDS, Node
from pilotage.schema.structural.paths import Path, Problem, Problems, TooManyProblemsError
from pilotage.schema.structural.validate import NON_VALIDATING, Validator, check_value
from pilotage.schema.structural.values import valid_range
from pilotage.schema.structural.walk import Walk, compile_walk

MAXIMUM_OBJECTS = 200
"""The most objects in a schema that has a shape: each becomes a class, which takes a kilobyte and 0.1 ms."""
_NOT_NULL = bool | int | float | str | list[Any] | dict[str, Any]
_INNER = frozenset(("properties", "additionalProperties", "items", "required"))
_STRUCTURE = NON_VALIDATING | _INNER | {"type", "nullable"}
_EXPRESSED = {
    "string": frozenset(("minLength", "maxLength")),
    "integer": frozenset(("minimum", "maximum", "format")),
    "array": frozenset(("minItems", "maxItems")),
}
"""By type, the keywords that its msgspec type includes."""
_INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]


class Shape:
    """Checks the values of one schema."""

    def __init__(self, made: Any, rest: Walk[Problem] | None, *, floats: bool) -> None:
        self._type = made
        self._rest = rest
        self.floats = floats
        """Whether there may be a float in a complete value."""

    def is_complete(self, value: Any) -> bool:
        """Whether nothing has to be dropped or defaulted."""
        try:
            msgspec.convert(value, self._type)
        except msgspec.ValidationError:
            return False
        return True

    def is_valid(self, value: Any) -> bool:
        """Whether nothing has to be dropped or defaulted, and the value is valid, without duplicate items in lists."""
        if not self.is_complete(value):
            return False
        if self._rest is None:
            return True
        try:
            self._rest(value, None, Problems(most=1))
        except TooManyProblemsError:
            return False
        return True


class _InexpressibleError(Exception):
    """There is no such type in msgspec."""


def compile_shape(node: Node) -> Shape | None:
    """The shape of a node in the schema of a CRD; None if msgspec's types cannot express it."""
    types = _Types()
    try:
        made = types.type_of(node)
        with suppress(msgspec.ValidationError):
            msgspec.convert(None, made)  # msgspec checks a type when it is first used
    except (_InexpressibleError, TypeError, ValueError):
        return None
    return Shape(made, compile_walk(node, _remaining_check), floats=types.floats)


class _Types:
    """Creates the types of one schema."""

    def __init__(self) -> None:
        self._objects = 0
        self.floats = False

    def type_of(self, node: Node) -> Any:
        made = self._not_null(node)
        return Optional[made] if node.nullable else made  # noqa: UP045 - also of a Literal

    def _not_null(self, node: Node) -> Any:
        if node.embedded and not node.root:
            raise _InexpressibleError
        if node.int_or_string:
            return Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | str
        match node.type:
            case "string":
                return _string(node)
            case "integer":
                low, high = valid_range(node)
                return Annotated[int, msgspec.Meta(ge=low, le=high)]
            case "number":
                self.floats = True
                return float
            case "boolean":
                return bool
            case "array" if node.items is not None and not node.preserves:
                minimum, maximum = node.schema.get("minItems"), node.schema.get("maxItems")
                return Annotated[
                    list[self.type_of(node.items)],  # type: ignore[misc]
                    msgspec.Meta(min_length=minimum, max_length=maximum),
                ]
            case "object":
                return self._object(node)
            case "" if node.preserves and not (node.properties or node.additional or node.items):
                self.floats = True
                return _NOT_NULL
        raise _InexpressibleError

    def _object(self, node: Node) -> Any:
        if node.schema.get("required") and not node.properties:
            raise _InexpressibleError
        if node.additional is not None:
            if node.properties:
                raise _InexpressibleError
            return dict[str, self.type_of(node.additional)]  # type: ignore[misc]
        if node.preserves:
            self.floats = True
            if not node.properties:
                return dict[str, Any]
        needed, optional = self._fields(node)
        self._objects += 1
        if self._objects > MAXIMUM_OBJECTS:
            raise _InexpressibleError
        names = {f"field_{index}": name for index, name in enumerate(needed | optional)}
        return msgspec.defstruct(
            "Shape",
            [
                (field, needed[name]) if name in needed else (field, optional[name], None)
                for field, name in names.items()
            ],
            rename=names,
            forbid_unknown_fields=not node.preserves,
            gc=False,
        )

    def _fields(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        """The fields that an object must have after defaulting, and the others."""
        children, required = dict(node.properties), set(node.schema.get("required") or ())
        needed: dict[str, Any] = {}
        optional: dict[str, Any] = {}
        if node.root:  # the server checks these itself
            needed = {"apiVersion": str, "kind": str, "metadata": Any}
            required -= META_FIELDS
            heads = [children.pop(name) for name in META_FIELDS if name in children]
            if any(not head.schema.keys() <= {"type", "description"} for head in heads):
                raise _InexpressibleError
        if not required <= children.keys():
            raise _InexpressibleError
        for name, child in children.items():
            fields = needed if name in required or child.default is not None else optional
            fields[name] = self.type_of(child)
        return needed, optional


def _string(node: Node) -> Any:
    allowed = node.schema.get("enum")
    if allowed and all(type(each) is str for each in allowed):
        return Literal[tuple(allowed)]
    minimum, maximum = node.schema.get("minLength"), node.schema.get("maxLength")
    return Annotated[str, msgspec.Meta(min_length=minimum, max_length=maximum)]


def _remaining_check(node: Node) -> Walk[Problem] | None:
    """All that the type of a node does not include; None if that is nothing."""
    keywords, items = _rest_check(node), list_check(node)
    if keywords is None or items is None:
        return keywords or items

    def check(value: Any, path: Path, out: list[Problem]) -> None:
        keywords(value, path, out)
        items(value, path, out)

    return check


def _rest_check(node: Node) -> Walk[Problem] | None:
    """Checks the keywords that the type of a node does not include; None if there are none."""
    if _is_expressed(node):
        return None
    own = {keyword: value for keyword, value in node.schema.items() if keyword not in _INNER}
    table = Validator().compile(Node(own, node.tree))
    of_string = table.get(str)
    if node.type == "string" and not node.nullable and of_string is not None:  # the shape knows the type already
        return lambda value, path, out: of_string(value, path, None, out)

    def check(value: Any, path: Path, out: list[Problem]) -> None:
        check_value(table, value, path, None, out)

    return check


def _is_expressed(node: Node) -> bool:
    """Whether the type of a node includes all constraints of its schema on a value itself."""
    keywords = {keyword for keyword in node.schema.keys() - _STRUCTURE if not keyword.startswith("x-kubernetes-")}
    if node.int_or_string and node.schema.get("anyOf") == _INTEGER_OR_STRING:
        keywords.discard("anyOf")
    if keywords == {"enum"} and node.type == "string" and not node.nullable:
        return all(type(each) is str for each in node.schema["enum"])
    return keywords <= _EXPRESSED.get(node.type, frozenset())
