"""What the expressions of a program are: kinds, objects of a kind, clients. The program is read, not run."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Iterable
from functools import reduce
from typing import Any

from pilotage.cli.program.modules import is_resource
from pilotage.cli.rbac.program import Function, ProgramDefinition, ProgramSource, named_value
from pilotage.cli.rbac.values import (
    ClientValue,
    Instance,
    Kinds,
    Many,
    Names,
    ObjectsOf,
    Python,
    SubresourceValue,
    Value,
    either,
)
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import MetadataOnly, Unstructured

_SAME_CLIENT = ("in_namespace", "dry_run", "with_field_owner", "with_field_validation", "as_user")
_ANSWERS = ("get", "find", "create", "update", "update_status", "patch", "patch_status", "apply")
"""Methods of a client that return an object of the kind that they are given."""
_COPIES = ("deepcopy", "copy", "copy_of", "replace")
_DEEPEST = 8
"""The maximum depth of nested calls of functions without an annotation."""


class Inference:
    """Evaluates expressions of one program."""

    def __init__(self, program: ProgramSource) -> None:
        self._program = program
        self._attributes: dict[type, Names] = {}
        self._depth = 0

    def names_of(self, definition: ProgramDefinition) -> Names:
        """The parameters of a function."""
        node = definition.node
        assert isinstance(node, Function)
        parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names: Names = {}
        if definition.owner is not None and parameters:
            names[parameters[0].arg] = Instance(definition.owner)
        for each in parameters:
            value = self.annotated(each.annotation, definition) or _by_name(each.arg)
            if each.arg not in names and value is not None:
                names[each.arg] = value
        return names

    def annotated(self, annotation: ast.expr | None, definition: ProgramDefinition) -> Value | None:
        """The value that an annotation describes."""
        if annotation is None:
            return None
        try:
            text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
            hint = eval(str(text), vars(definition.source.module))  # noqa: S307 - of the module that was imported
        except Exception:  # of a name that exists for type checkers only
            return None
        return self._of_hint(hint)

    def value(self, node: ast.expr | None, names: Names, definition: ProgramDefinition) -> Value | None:
        """What an expression is; None if it is nothing of interest, or not known."""
        match node:
            case ast.Name(id=name):
                return names[name] if name in names else self._constant(node, definition)
            case ast.Attribute():
                return self._attribute(node, names, definition)
            case ast.Await(value=inner) | ast.NamedExpr(value=inner) | ast.Starred(value=inner):
                return self.value(inner, names, definition)
            case ast.IfExp(body=body, orelse=other):
                return either(self.value(body, names, definition), self.value(other, names, definition))
            case ast.BoolOp(values=values):
                return self._any(values, names, definition)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                item = self._any(items, names, definition)
                return Many(item) if isinstance(item, Kinds | ObjectsOf) else None
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) | ast.SetComp(elt=item):
                return self._comprehension(item, node.generators, names, definition)
            case ast.Subscript(value=inner):
                base = self.value(inner, names, definition)
                return base.item if isinstance(base, Many) else base if isinstance(base, Kinds) else None
            case ast.Call():
                return self._call(node, names, definition)
        return None

    def bound(self, names: Names, target: ast.expr, value: Value | None) -> None:
        """An assignment."""
        if isinstance(target, ast.Name):
            names.pop(target.id, None)
            if value is not None:
                names[target.id] = value

    def _any(self, nodes: Iterable[ast.expr], names: Names, definition: ProgramDefinition) -> Value | None:
        return reduce(either, (self.value(node, names, definition) for node in nodes), None)

    def _comprehension(
        self, item: ast.expr, generators: list[ast.comprehension], names: Names, definition: ProgramDefinition
    ) -> Value | None:
        inner = dict(names)
        for each in generators:
            iterated = self.value(each.iter, inner, definition)
            self.bound(inner, each.target, iterated.item if isinstance(iterated, Many) else None)
        found = self.value(item, inner, definition)
        return Many(found) if isinstance(found, Kinds | ObjectsOf) else None

    def _constant(self, node: ast.expr, definition: ProgramDefinition) -> Value | None:
        return _of_python(named_value(node, definition.source.module))

    def _attribute(self, node: ast.Attribute, names: Names, definition: ProgramDefinition) -> Value | None:
        base = self.value(node.value, names, definition)
        if isinstance(base, Instance):
            known = self._attributes_of(base.cls).get(node.attr)
            return known if known is not None else _by_name(node.attr)
        if isinstance(base, Python):
            return self._constant(node, definition)
        if node.attr == "client":  # a manager's client reads from its cache, a cluster's client does not
            return ClientValue(live=_last_name(node.value) == "cluster")
        return _by_name(node.attr)

    def _attributes_of(self, cls: type) -> Names:
        """The attributes that the methods of a class set, and those that it declares."""
        known = self._attributes.get(cls)
        if known is not None:
            return known
        found = self._attributes[cls] = {}
        for method in self._program.methods(cls):
            names = self.names_of(method)
            assert isinstance(method.node, Function)
            first = method.node.args.args[0].arg if method.node.args.args else ""
            for node in ast.walk(method.node):
                for target, value in _assignments(node):
                    if isinstance(target, ast.Attribute) and _last_name(target.value) == first:
                        evaluated = either(found.get(target.attr), self.value(value, names, method))
                        if evaluated is not None:
                            found[target.attr] = evaluated
        for name, hint in _hints(cls).items():
            if name not in found and (hinted := self._of_hint(hint)) is not None:
                found[name] = hinted
        return found

    def _call(self, node: ast.Call, names: Names, definition: ProgramDefinition) -> Value | None:
        function = self.value(node.func, names, definition)
        first = self.value(node.args[0], names, definition) if node.args else None
        if isinstance(function, Kinds):
            return ObjectsOf(function.kinds)
        if isinstance(function, Python):
            return self._python_call(function.value, node, first)
        if not isinstance(node.func, ast.Attribute):
            return None
        base = self.value(node.func.value, names, definition)
        method = node.func.attr
        if isinstance(base, Instance):
            return self._result(getattr(base.cls, method, None), base.cls)
        if method == "subresource" and node.args and isinstance(node.args[0], ast.Constant):
            return SubresourceValue(str(node.args[0].value))
        if isinstance(base, ClientValue) and method in _SAME_CLIENT:
            return base
        if method == "list" and isinstance(first, Kinds):
            return Many(ObjectsOf(first.kinds))
        if method in _ANSWERS and isinstance(first, Kinds | ObjectsOf) and not isinstance(base, SubresourceValue):
            return ObjectsOf(first.kinds)
        return None

    def _python_call(self, called: Any, node: ast.Call, first: Value | None) -> Value | None:
        name = getattr(called, "__name__", "")
        texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if called is GroupVersionKind and len(texts) == 3:
            return Kinds((GroupVersionKind(*texts),))
        if name == "of" and getattr(called, "__self__", None) is GroupVersionKind and len(texts) == 2:
            return Kinds((GroupVersionKind.of(*texts),))
        if name in ("metadata_only", "MetadataOnly") and isinstance(first, Kinds):
            return first
        if called is Unstructured or name == "from_document":
            return _of_document(node.args[0] if node.args else None)
        if name in _COPIES and isinstance(first, ObjectsOf):
            return first
        if inspect.isclass(called):
            return Instance(called) if self._program.definition(called) is not None else None
        return self._result(called, None)

    def _result(self, function: Any, cls: type | None) -> Value | None:
        """What a function of the program returns: by its annotation, else by its return statements."""
        found = self._program.definition(function) if function is not None else None
        if found is None or not isinstance(found.node, Function):
            return None
        if found.node.returns is not None:
            return self.annotated(found.node.returns, found)
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        try:
            definition = ProgramDefinition(found.source, found.node, cls)
            names = self.names_of(definition)
            returned: Value | None = None
            for node in ast.walk(found.node):
                for target, value in _assignments(node):
                    self.bound(names, target, self.value(value, names, definition))
                if isinstance(node, ast.Return):
                    returned = either(returned, self.value(node.value, names, definition))
            return returned
        finally:
            self._depth -= 1

    def _of_hint(self, hint: Any) -> Value | None:
        from pilotage.client.client import Client

        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return reduce(either, map(self._of_hint, arguments), None)
        if origin is type and arguments:
            inner = self._of_hint(arguments[0])
            return Kinds(inner.kinds) if isinstance(inner, ObjectsOf) else None
        if origin is not None and arguments:
            inner = self._of_hint(arguments[-1])
            return Many(inner) if isinstance(inner, Kinds | ObjectsOf) and _is_iterable(origin) else None
        if is_resource(hint):
            return ObjectsOf((hint,))
        if isinstance(hint, type) and issubclass(hint, Client):
            return ClientValue(live=False)
        if isinstance(hint, type) and self._program.definition(hint) is not None:
            return Instance(hint)
        return None


def _of_python(value: Any) -> Value | None:
    if is_resource(value) or isinstance(value, GroupVersionKind | MetadataOnly):
        return Kinds((value,))
    if is_resource(type(value)):
        return ObjectsOf((type(value),))
    if isinstance(value, tuple | list) and value:
        items = [_of_python(each) for each in value]
        kinds = [each.kinds[0] for each in items if isinstance(each, Kinds)]
        return Many(Kinds(tuple(kinds))) if len(kinds) == len(items) else None
    return Python(value) if inspect.ismodule(value) or callable(value) else None


def _of_document(node: ast.expr | None) -> Value | None:
    """The kind of an object that is written as a document: `{"apiVersion": "v1", "kind": "Pod", …}`."""
    if not isinstance(node, ast.Dict):
        return None
    pairs = zip(node.keys, node.values, strict=True)
    found = {
        key.value: value.value
        for key, value in pairs
        if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
    }
    version, kind = found.get("apiVersion"), found.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    return ObjectsOf((GroupVersionKind.of(version, kind),))


def _by_name(name: str) -> Value | None:
    """The value that the name alone suggests, where nothing else is known."""
    if name == "api_reader":
        return ClientValue(live=True)
    return ClientValue(live=False) if name == "client" else None


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _assignments(node: ast.AST) -> list[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    return [(node.target, node.value)] if isinstance(node, ast.AnnAssign | ast.NamedExpr) else []


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except Exception:  # of names that exist for type checkers only
        return {}


def _is_iterable(origin: Any) -> bool:
    return isinstance(origin, type) and hasattr(origin, "__iter__") and not issubclass(origin, dict)
