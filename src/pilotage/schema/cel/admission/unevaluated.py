"""Functions of admission policies, declared so that expressions with them compile. Nothing evaluates them."""

from __future__ import annotations

CONSTRUCTORS = {"Object": "__object", "JSONPatch": "__jsonPatch"}
"""The functions that stand for the construction of a type."""
_AUTHORIZER, _PATH, _GROUP, _RESOURCE, _DECISION = (
    f"kubernetes.authorization.{name}"
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
UNEVALUATED = dict.fromkeys(
    (
        f"{_AUTHORIZER}:path(string) -> {_PATH}",
        f"{_AUTHORIZER}:group(string) -> {_GROUP}",
        f"{_AUTHORIZER}:serviceAccount(string, string) -> {_AUTHORIZER}",
        f"{_GROUP}:resource(string) -> {_RESOURCE}",
        *(
            f"{_RESOURCE}:{name}(string) -> {_RESOURCE}"
            for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
        ),
        *(f"{kind}:check(string) -> {_DECISION}" for kind in (_PATH, _RESOURCE)),
        *(f"{_DECISION}:{name}() -> bool" for name in ("allowed", "errored")),
        *(f"{_DECISION}:{name}() -> string" for name in ("error", "reason")),
        f"{CONSTRUCTORS['Object']}(string, map(string, dyn)) -> Object",
        f"{CONSTRUCTORS['JSONPatch']}(map(string, dyn)) -> JSONPatch",
        "jsonpatch.escapeKey(string) -> string",
    )
)
