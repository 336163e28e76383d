"""Type checking of the expressions of a ValidatingAdmissionPolicy against the schemas of the kinds that it is for."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pilotage.schema.cel import environment as environments
from pilotage.schema.cel.admission.expressions import AUTHORIZER, CHECK, NAMESPACE, REQUEST
from pilotage.schema.cel.ast import Expr, read_expr
from pilotage.schema.cel.costs.estimate import HasFields, WrongTypes, checked_type
from pilotage.schema.cel.declared import DeclaredValue
from pilotage.schema.cel.expression import CompileError, check, compiled
from pilotage.schema.cel.types import DYN, CELType, parse
from pilotage.schema.structural.node import Resolve, Schema, Tree

_VARIABLES = ".variables"
_TYPES: Mapping[str, Schema] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "timestamp": {"type": "string", "format": "date-time"},
    "dyn": {"x-kubernetes-int-or-string": True},
}


def declared_kind(schema: Schema, resolve: Resolve | None, name: str) -> DeclaredValue:
    """The objects of a schema as expressions see them; `name` is unique among the variables of an expression."""
    return DeclaredValue(Tree(resolve).node(schema), step=f".{name}")


class TypeChecker:
    """Checks expressions about objects of one kind. Parameters are of a kind, too, or can be anything."""

    def __init__(self, kind: DeclaredValue, params: DeclaredValue | None = None, *, has_params: bool = False) -> None:
        self._kind = kind
        request, namespace = (
            declared_kind(_schema(fields), None, name)
            for name, fields in (("request", REQUEST), ("namespaceObject", NAMESPACE))
        )
        self._variables = _Variables({})
        self._types = {
            "object": kind.type,
            "oldObject": kind.type,
            "request": request.type,
            "namespaceObject": namespace.type,
            "authorizer": DYN,
            "variables": CELType(_VARIABLES),
        }
        if has_params:
            self._types["params"] = params.type if params is not None else DYN
        roots = [root.objects for root in (kind, request, namespace, params) if root is not None]
        self._objects: Mapping[str, HasFields] = ChainMap[str, HasFields]({_VARIABLES: self._variables}, *roots)  # type: ignore[arg-type]  # they are only read

    def add_variable(self, name: str, text: str) -> None:
        """Declare a variable of the policy. If its expression is wrong, or returns an object, it has any type."""
        found = DYN
        try:
            kind, problems = self._checked(self._tree(text))
            if not problems and not kind.is_object:
                found = kind
        except CompileError:
            pass
        self._variables.fields[name] = _Typed(found)

    def problem(self, text: str) -> str:
        """What is wrong with an expression, as the compiler reports it; empty if nothing is."""
        try:
            tree = self._tree(text)
            check(tree, text, self._checked(tree)[1])
        except CompileError as error:
            return str(error)
        return ""

    def _tree(self, text: str) -> Expr:
        return read_expr(compiled(self._environment, text).serialize())

    def _checked(self, tree: Expr) -> tuple[CELType, list[WrongTypes]]:
        return checked_type(tree, self._types, self._objects, self._kind)

    @cached_property
    def _environment(self) -> Any:
        names = dict.fromkeys(self._types, "dyn")
        return environments.declaring(
            frozenset((names | {"authorizer": AUTHORIZER, "authorizer.requestResource": CHECK}).items())
        )


@dataclass(frozen=True, slots=True)
class _Typed:
    type: CELType


@dataclass(frozen=True, slots=True)
class _Variables:
    """What a policy composes, as the fields of an object."""

    fields: dict[str, _Typed]


def _schema(fields: Mapping[str, Any]) -> Schema:
    """The schema of an object with fields of these types."""
    properties = {
        name: _schema(kind) if isinstance(kind, dict) else _typed(parse(kind)) for name, kind in fields.items()
    }
    return {"type": "object", "properties": properties}


def _typed(kind: CELType) -> Schema:
    if kind.name == "list":
        return {"type": "array", "items": _typed(kind.parameters[0])}
    if kind.name == "map":
        return {"type": "object", "additionalProperties": _typed(kind.parameters[1])}
    return _TYPES[kind.name]
