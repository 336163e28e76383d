"""The calls of a program that need permissions, found in its source: `client.create(ConfigMap(…))` and its like."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pilotage.cli.rbac.inference import Inference
from pilotage.cli.rbac.program import Function, ProgramDefinition, ProgramSource
from pilotage.cli.rbac.values import ClientValue, Kinds, Names, ObjectsOf, Python, SubresourceValue, Value
from pilotage.cli.rbac.walk import Walk
from pilotage.meta.forms import Kind, gvk_of

READ = ("get", "list", "watch")

_LIVE = {"get": ("get",), "find": ("get",), "list": ("list",), "watch": ("watch",)}
_CACHED = {"get": READ, "find": READ, "list": READ, "watch": ("watch",), "informer_for": READ, "informers_for": READ}
_WRITES = {
    "create": ("create",),
    "update": ("update",),
    "patch": ("patch",),
    "apply": ("create", "patch"),
    "delete": ("delete",),
    "delete_all_of": ("deletecollection",),
}
_STATUS = {"update_status": "update", "patch_status": "patch"}
_OUTCOMES = {"create_or_patch": (*READ, "create", "patch"), "create_or_update": (*READ, "create", "update")}
_ANSWERED_WHOLE = ("", "status", "finalize", "approval")


@dataclass(frozen=True, slots=True)
class APICall:
    """A call, and the verbs that it needs on a kind or one of its subresources."""

    kind: Kind
    verbs: tuple[str, ...]
    text: str
    """How it is shown: `client.create(ConfigMap)`."""
    place: str
    subresource: str = ""


@dataclass(slots=True)
class APICalls:
    """All that was found."""

    calls: list[APICall] = field(default_factory=list)
    definitions: list[APICall] = field(default_factory=list)
    """Kinds whose CRDs the program installs."""
    migrations: list[APICall] = field(default_factory=list)
    """Kinds whose stored objects the program migrates."""
    recorders: list[tuple[str, str]] = field(default_factory=list)
    """API versions of events, and the places that make a recorder of them."""
    leases: list[tuple[str, str]] = field(default_factory=list)
    """Names of leases that the program holds itself, and the places; empty if the name is not a constant."""
    unknown: list[str] = field(default_factory=list)
    """Calls of a client whose kind is not known."""


def find_calls(program: ProgramSource, definitions: Iterable[ProgramDefinition]) -> APICalls:
    """The calls in these functions."""
    found = APICalls()
    inference = Inference(program)
    for definition in definitions:
        if isinstance(definition.node, Function):
            Walk(inference, definition, _Notes(inference, definition, found).call).function()
    return found


class _Notes:
    """Collects the calls of one function."""

    def __init__(self, inference: Inference, definition: ProgramDefinition, found: APICalls) -> None:
        self._inference = inference
        self._definition = definition
        self._found = found

    def _value(self, node: ast.expr | None, names: Names) -> Value | None:
        return self._inference.value(node, names, self._definition)

    def call(self, node: ast.Call, names: Names) -> None:
        function = self._value(node.func, names)
        if isinstance(function, Python):
            self._collect_function(getattr(function.value, "__name__", ""), function.value, node, names)
        elif isinstance(node.func, ast.Attribute):
            self._collect_method(node.func.attr, node.func.value, node, names)

    def _collect_function(self, name: str, function: Any, node: ast.Call, names: Names) -> None:
        """A function of the library."""
        if not str(getattr(function, "__module__", "")).startswith("pilotage."):
            return
        if name in _OUTCOMES:
            self._collect_outcome(name, node, names)
            self._collect_finalizers(self._argument(node, -1, "owner", names), f"owner of {name}", node)
        elif name == "set_controller_reference":
            self._collect_finalizers(self._argument(node, 0, "owner", names), name, node)
        elif name in ("add_finalizer", "remove_finalizer"):
            self._collect_finalizers(self._argument(node, 0, "object_", names), name, node)
        elif name == "migrate_storage_version":
            self._found.migrations += self._calls(self._argument(node, 1, "kind", names), (), name, node)

    def _collect_method(self, name: str, base: ast.expr, node: ast.Call, names: Names) -> None:
        receiver = self._value(base, names)
        first = self._argument(node, 0, "kind" if name in _CACHED else "obj", names)
        if isinstance(receiver, SubresourceValue):
            self._collect_subresource(name, receiver.name, first, node)
        elif name == "event_recorder_for":
            version = _text(_keyword(node, "api_version"))
            self._found.recorders.append((version or "v1", self._place(node)))
        elif name == "run_while_leading":
            self._found.leases.append((_text(node.args[0] if node.args else None), self._place(node)))
        elif name == "install":
            for each in node.args:
                self._found.definitions += self._calls(self._value(each, names), (), "install", node)
        elif name == "finalize" and isinstance(first, ObjectsOf):
            self._collect_finalizers(first, "finalize", node)
        elif name in _CACHED or name in _WRITES or name in _STATUS:
            self._collect_client(name, receiver, first, node)

    def _collect_client(self, name: str, receiver: Value | None, first: Value | None, node: ast.Call) -> None:
        if not isinstance(first, Kinds | ObjectsOf):
            if isinstance(receiver, ClientValue) and (node.args or node.keywords):
                first_text = ast.unparse(node.args[0]) if node.args else "…"
                self._found.unknown.append(f"{self._place(node)}: {ast.unparse(node.func)}({first_text}, …)")
            return
        if name in _STATUS:
            self._found.calls += self._calls(first, (_STATUS[name],), name, node, "status")
            return
        live = isinstance(receiver, ClientValue) and receiver.live
        verbs = _WRITES.get(name) or (_LIVE.get(name) if live else None) or _CACHED[name]
        subresource = _text(_keyword(node, "subresource"))
        if name == "apply" and subresource:
            verbs = ("patch",)
        self._found.calls += self._calls(first, verbs, name, node, subresource)
        if subresource not in _ANSWERED_WHOLE:  # the whole object is read afterwards
            self._found.calls += self._calls(first, ("get",), name, node)

    def _collect_subresource(self, method: str, name: str, first: Value | None, node: ast.Call) -> None:
        verbs = ("get",) if method == "get" else ("patch",) if method == "apply" else _WRITES.get(method, ())
        self._found.calls += self._calls(first, verbs, f'subresource("{name}").{method}', node, name)

    def _collect_outcome(self, name: str, node: ast.Call, names: Names) -> None:
        client = self._argument(node, 0, "client", names)
        value = self._argument(node, 1, "desired" if name == "create_or_patch" else "obj", names)
        if not isinstance(value, Kinds | ObjectsOf):
            self._found.unknown.append(f"{self._place(node)}: {name}(…)")
        verbs: tuple[str, ...] = _OUTCOMES[name]
        if isinstance(client, ClientValue) and client.live:
            verbs = tuple(verb for verb in verbs if verb not in ("list", "watch"))
        self._found.calls += self._calls(value, verbs, name, node)
        desired = node.args[1] if len(node.args) > 1 else None
        if isinstance(desired, ast.Call) and any(each.arg == "status" for each in desired.keywords):
            self._found.calls += self._calls(value, ("patch",), name, node, "status")

    def _collect_finalizers(self, value: Value | None, name: str, node: ast.Call) -> None:
        self._found.calls += self._calls(value, ("update",), name, node, "finalizers")

    def _calls(
        self, value: Value | None, verbs: tuple[str, ...], name: str, node: ast.Call, subresource: str = ""
    ) -> list[APICall]:
        if not isinstance(value, Kinds | ObjectsOf):
            return []
        place = self._place(node)
        return [APICall(kind, verbs, f"{name}({gvk_of(kind).kind})", place, subresource) for kind in value.kinds]

    def _argument(self, node: ast.Call, index: int, name: str, names: Names) -> Value | None:
        found = _keyword(node, name)
        if found is None and 0 <= index < len(node.args):
            found = node.args[index]
        return self._value(found, names)

    def _place(self, node: ast.AST) -> str:
        return f"{self._definition.source.file}:{getattr(node, 'lineno', 0)}"


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
