"""The environments that CEL rules compile in: variables, CEL's extensions, and the functions of `library`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from pilotage.errors import MissingExtra
from pilotage.schema.cel.admission.unevaluated import UNEVALUATED
from pilotage.schema.cel.functions import ENGINE_FUNCTIONS, FUNCTIONS
from pilotage.schema.cel.signatures import Signature, parsed
from pilotage.schema.cel.types import DYN, CELType, parse

_EXTENSIONS = {"lists": 0, "optional": 0, "sets": 0, "strings": 2, "two-var-comprehensions": 0}
"""The extensions of CEL that Kubernetes has, in its versions (0: the only version)."""
_WRAPPING_EXTENSIONS = {"bindings": 0, "encoders": 0}
"""What the code around a rule needs. Rules themselves may not use it."""
_TOO_LARGE = "Integer value '"
"""In the error of the engine for an integer beyond 64 bits in the data."""
_INT64 = range(-(2**63), 2**63)
Functions = Mapping[str, Callable[..., Any] | None]
"""Lines as of `signatures`, with what implements each; None: it can be compiled, and not called."""
_OPAQUE = re.compile(r"\b(?:kubernetes|net)\.[A-Z]\w*")
VARIABLES = ("self", "oldSelf", "__self", "__oldSelf")


@cache
def untyped() -> Any:
    """The environment of rules: `self` and `oldSelf` of any type."""
    return _environment(dict.fromkeys(("self", "oldSelf"), binding().Type.DYN))


@cache
def wrapping() -> Any:
    """The environment of rules inside bindings that convert `self` and `oldSelf`."""
    variables = dict.fromkeys(VARIABLES, binding().Type.DYN) | {"__present": binding().Type.BOOL}
    return _environment(variables, _EXTENSIONS | _WRAPPING_EXTENSIONS)


@lru_cache(maxsize=64)
def declaring(variables: frozenset[tuple[str, str]], *, bindings: bool = False) -> Any:
    """An environment with these variables, by name and type; with `bindings` it has `cel.bind`.

    It also has functions that can be compiled, not called: the functions of admission policies.
    """
    types = binding("CEL expressions").Type
    extensions = _EXTENSIONS | {"bindings": 0} if bindings else _EXTENSIONS
    declared = {name: _engine_type(types, parse(kind)) for name, kind in variables}
    return _environment(declared, extensions, more=UNEVALUATED)


def evaluating(variables: Iterable[str], functions: Functions) -> Any:
    """An environment with these variables, of any type, and more functions, as admission needs it at run time."""
    cel = binding("CEL expressions")
    return _environment(dict.fromkeys(variables, cel.Type.DYN), more=functions)


@cache
def binding(feature: str = "a schema with CEL rules (x-kubernetes-validations)") -> Any:
    """The module of the CEL engine. MissingExtra, with the feature that needs it, if it is not installed."""
    try:
        from cel_expr_python import cel
    except ImportError as error:
        raise MissingExtra(feature, "cel") from error
    return cel


def evaluated(program: Any, data: Mapping[str, Any]) -> Any:
    """The result of a program, as a value of the engine."""
    result = program.eval(data=data)
    if result.type() == binding().Type.ERROR and _TOO_LARGE in str(result.value()):
        result = program.eval(data=_with_doubles(data))
    return result


def _with_doubles(value: Any) -> Any:
    """With integers beyond 64 bits as doubles, which they are for kube-apiserver."""
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_doubles(item) for item in value]
    return float(value) if type(value) is int and value not in _INT64 else value


def _environment(
    variables: dict[str, Any], extensions: dict[str, int] = _EXTENSIONS, *, more: Functions | None = None
) -> Any:
    cel = binding()
    lines = [
        f"  - name: {name}\n" + (f"    version: {number}\n" if number else "") for name, number in extensions.items()
    ]
    config = cel.NewEnvConfigFromYaml("extensions:\n" + "".join(lines))
    functions = cel.CelExtension("kubernetes", _engine_functions(cel))
    return cel.NewEnv(
        config=config, variables=variables, extensions=[functions], functions=_declarations(cel, "more", more or {})
    )


def _engine_functions(cel: Any) -> list[Any]:
    """All functions as the engine's binding declares them."""
    erased = {_erased(line): implementation for line, implementation in FUNCTIONS.items()}
    return _declarations(cel, "kubernetes", erased | ENGINE_FUNCTIONS)


def _declarations(cel: Any, prefix: str, functions: Functions) -> list[Any]:
    """The engine's declarations of functions: lines as of `signatures`, with the implementation if there is one.

    What one implementation does for several types is one overload for any type: the engine refuses those that overlap.
    """
    merged: dict[tuple[str, bool, int, Callable[..., Any] | None, str], Signature] = {}
    for line, implementation in functions.items():
        name, signature = parsed(line)
        key = (name, signature.member, len(signature.parameters), implementation, "" if implementation else line)
        merged[key] = _merged(merged.get(key, signature), signature)
    overloads: dict[str, list[Any]] = {}
    for (name, member, _count, implementation, _line), signature in merged.items():
        result, *parameters = (_engine_type(cel.Type, each) for each in (signature.result, *signature.parameters))
        declared = overloads.setdefault(name, [])
        identifier = f"{prefix}_{name}_{len(declared)}"
        declared.append(cel.Overload(identifier, result, parameters, is_member=member, impl=implementation))
    return [cel.FunctionDecl(name, declared) for name, declared in overloads.items()]


def _engine_type(types: Any, kind: CELType) -> Any:
    """The engine's type."""
    parameters = [_engine_type(types, each) for each in kind.parameters]
    if kind.name in ("list", "map"):
        return types.List(*parameters) if kind.name == "list" else types.Map(*parameters)
    return types.AbstractType(kind.name) if "." in kind.name or kind.name[0].isupper() else types(kind.name)


def _erased(line: str) -> str:
    opaque = "map(string, dyn)" if line.startswith("string(") else "dyn"  # the engine has a `string(dyn)` itself
    line = re.sub(r"optional_type\(.*\)|\bA\b", "dyn", _OPAQUE.sub(opaque, line))
    return line.replace("map(string, list(string))", "map(string, dyn)")


def _merged(one: Signature, other: Signature) -> Signature:
    parameters = tuple(map(_general, one.parameters, other.parameters))
    return Signature(parameters, _general(one.result, other.result), one.member)


def _general(one: CELType, other: CELType) -> CELType:
    if one.name != other.name:
        return DYN
    return CELType(one.name, tuple(map(_general, one.parameters, other.parameters)))
