"""The CEL expressions that select devices."""

from __future__ import annotations

from pilotage.schema.cel.expression import CompileError
from pilotage.schema.cel.scope import Scope, result_type

_BY_DOMAIN = "map(string, map(string, dyn))"
_SCOPE = Scope(
    {
        "device": {
            "driver": "string",
            "attributes": _BY_DOMAIN,
            "capacity": _BY_DOMAIN,
            "allowMultipleAllocations": "bool",
        }
    },
    bindings=True,
)


def selector_problem(text: str) -> str | None:
    """Why the expression of a device selector is not valid. Attributes have any type, so it may return any type."""
    try:
        found = result_type(text, _SCOPE)
    except CompileError as error:
        return error.failure
    return None if found in ("", "bool", "dyn") else f"must evaluate to bool or the unknown type, not {found}"
