"""The CEL expressions of admission: match conditions of webhooks, and what policies validate and change."""

from __future__ import annotations

from typing import Any

from pilotage.schema.cel.admission.patches import as_functions
from pilotage.schema.cel.expression import CompileError, InstantiationError
from pilotage.schema.cel.scope import Scope, declarable, result_type, type_problem

INSTANTIATION = InstantiationError.stage
"""How a problem begins that is not one of the expression's text."""
_KIND = {"group": "string", "version": "string", "kind": "string"}
_RESOURCE = {"group": "string", "version": "string", "resource": "string"}
REQUEST: dict[str, Any] = {
    "kind": _KIND,
    "resource": _RESOURCE,
    "subResource": "string",
    "requestKind": _KIND,
    "requestResource": _RESOURCE,
    "requestSubResource": "string",
    "name": "string",
    "namespace": "string",
    "operation": "string",
    "userInfo": {
        "username": "string",
        "uid": "string",
        "groups": "list(string)",
        "extra": "map(string, list(string))",
    },
    "dryRun": "bool",
    "options": "dyn",
}
NAMESPACE: dict[str, Any] = {
    "metadata": {
        "name": "string",
        "generateName": "string",
        "namespace": "string",
        "labels": "map(string, string)",
        "annotations": "map(string, string)",
        "UID": "string",
        "creationTimestamp": "timestamp",
        "deletionGracePeriodSeconds": "int",
        "deletionTimestamp": "timestamp",
        "generation": "int",
        "resourceVersion": "string",
        "finalizers": "list(string)",
    },
    "spec": {"finalizers": "list(string)"},
    "status": {"conditions": "list(dyn)", "phase": "string"},
}
_SCOPE = Scope({"object": "dyn", "oldObject": "dyn", "namespaceObject": NAMESPACE, "request": REQUEST})
AUTHORIZER = "kubernetes.authorization.Authorizer"
CHECK = "kubernetes.authorization.ResourceCheck"


class AdmissionCompiler:
    """Compiles the expressions of one object. Variables, where there are any, are known once they are added."""

    def __init__(self, *, params: bool, composed: bool = False) -> None:
        self._scope = _SCOPE.with_variables(params="dyn") if params else _SCOPE
        self._variables: dict[str, str] | None = {} if composed else None

    def problem(self, text: str, *wanted: str, authorizer: bool = True) -> str | None:
        """Why an expression that must have one of these types is not valid."""
        try:
            found = result_type(text, self._current(authorizer))
        except CompileError as error:
            return error.failure
        return type_problem(text, found, wanted)

    def patch_problem(self, text: str, wanted: str) -> str | None:
        """Why an expression that constructs a patch is not valid."""
        try:
            rewritten = as_functions(text)
            found = self.problem(rewritten.text, wanted)
            return rewritten.restored(found) if found is not None else None
        except CompileError as error:
            return error.failure

    def add_variable(self, name: str, text: str) -> str | None:
        """Why the expression of a variable is not valid. Later expressions can use the variable, even if it is not
        valid."""
        found, problem = "dyn", None
        try:
            found = result_type(text, self._current(authorizer=True))
        except CompileError as error:
            problem = error.failure
        if self._variables is not None:
            self._variables[name] = declarable(found)
        return problem

    def _current(self, authorizer: bool) -> Scope:
        scope = self._scope
        if self._variables is not None:
            scope = scope.with_variables(variables=self._variables)
        if authorizer:
            # The name of the second has a dot: it is found before the field of the first.
            scope = scope.with_variables(**{"authorizer": AUTHORIZER, "authorizer.requestResource": CHECK})
        return scope
