"""Functions of admission policies, declared so that expressions with them compile. Nothing evaluates them."""

from __future__ import annotations

from typing import Any

CONSTRUCTORS = {"Object": "__object", "JSONPatch": "__jsonPatch"}
"""The functions that stand for the construction of a type."""


def unevaluated_functions(cel: Any) -> list[Any]:
    overloads: dict[str, list[Any]] = {}
    for name, result, parameters, member in [*_of_authorization(cel.Type), *_of_patches(cel.Type)]:
        declared = overloads.setdefault(name, [])
        identifier = f"unevaluated_{name}_{len(declared)}"
        declared.append(cel.Overload(identifier, result, parameters, is_member=member))
    return [cel.FunctionDecl(name, declared) for name, declared in overloads.items()]


def _of_authorization(types: Any) -> list[tuple[str, Any, list[Any], bool]]:
    authorizer, path, group, resource, decision = (
        types.AbstractType(f"kubernetes.authorization.{name}")
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    )
    text = types.STRING
    return [
        ("path", path, [authorizer, text], True),
        ("group", group, [authorizer, text], True),
        ("serviceAccount", authorizer, [authorizer, text, text], True),
        ("resource", resource, [group, text], True),
        *(
            (name, resource, [resource, text], True)
            for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
        ),
        ("check", decision, [path, text], True),
        ("check", decision, [resource, text], True),
        ("allowed", types.BOOL, [decision], True),
        ("errored", types.BOOL, [decision], True),
        ("error", text, [decision], True),
        ("reason", text, [decision], True),
    ]


def _of_patches(types: Any) -> list[tuple[str, Any, list[Any], bool]]:
    fields = types.Map(types.STRING, types.DYN)
    return [
        (CONSTRUCTORS["Object"], types.AbstractType("Object"), [types.STRING, fields], False),
        (CONSTRUCTORS["JSONPatch"], types.AbstractType("JSONPatch"), [fields], False),
        ("jsonpatch.escapeKey", types.STRING, [types.STRING], False),
    ]
