"""Functions of templates, with the types of their arguments, which are checked as Go does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pilotage.meta.values import Value
from pilotage.workloads.stages.templates.govalues import MISSING, GoFloat, GoInt, go_type
from pilotage.workloads.stages.templates.limits import RenderError

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "bool": (bool,),
    "int": (GoInt,),
    "float64": (GoFloat,),
    "list": (list,),
    "map": (dict,),
}
_NAMES = {"list": "[]interface {}", "map": "map[string]interface {}"}


class Function(Value, frozen=True):
    """A function that templates can call."""

    parameters: tuple[str, ...]
    """`string`, `bool`, `int`, `float64`, `list`, `map`; `any`: nil is None; `raw`: nil and no value differ."""
    more: str
    """The type of any number of further arguments; empty: there are none."""
    run: Callable[..., Any]

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """The result. Raises RenderError if the arguments are not of these types, or too many or too few."""
        wanted, given = len(self.parameters), len(arguments)
        if given < wanted or (given > wanted and not self.more):
            least = "at least " if self.more else ""
            raise RenderError(f"wrong number of args for {name}: want {least}{wanted} got {given}")
        kinds = self.parameters + (self.more,) * (given - wanted)
        return self.run(*[_checked(name, kind, value) for kind, value in zip(kinds, arguments, strict=True)])


def function(signature: str, run: Callable[..., Any]) -> Function:
    """A function by its signature: the types of its parameters, the last one with `...` if it repeats."""
    kinds = signature.split()
    more = kinds.pop()[3:] if kinds and kinds[-1].startswith("...") else ""
    return Function(tuple(kinds), more, run)


def _checked(name: str, kind: str, value: Any) -> Any:
    if kind == "raw":
        return value
    if kind == "any":
        return None if value is MISSING else value
    if value is MISSING and kind in _NAMES:
        return [] if kind == "list" else {}
    if value is MISSING:
        raise RenderError(f"invalid value for {name}; expected {kind}")
    if not isinstance(value, _TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
        found = "interface {}" if value is None else go_type(value)
        raise RenderError(f"wrong type for value of {name}; expected {_NAMES.get(kind, kind)}; got {found}")
    return value
