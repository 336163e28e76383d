"""The environments that CEL rules compile in: variables, CEL's extensions, and the functions of `library`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from pilotage.errors import MissingExtra
from pilotage.schema.cel import library, patterns
from pilotage.schema.cel.admission.unevaluated import unevaluated_functions

_EXTENSIONS = {"lists": 0, "optional": 0, "sets": 0, "strings": 2, "two-var-comprehensions": 0}
"""The extensions of CEL that Kubernetes has, in its versions (0: the only version)."""
_WRAPPING_EXTENSIONS = {"bindings": 0, "encoders": 0}
"""What the code around a rule needs. Rules themselves may not use it."""
_TOO_LARGE = "Integer value '"
"""In the error of the engine for an integer beyond 64 bits in the data."""
_INT64 = range(-(2**63), 2**63)
VARIABLES = ("self", "oldSelf", "__self", "__oldSelf")


@cache
def plain() -> Any:
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

    It also has functions that can be compiled, not called: those of admission policies.
    """
    types = binding("CEL expressions").Type
    extensions = _EXTENSIONS | {"bindings": 0} if bindings else _EXTENSIONS
    declared = {name: _type(types, kind) for name, kind in variables}
    return _environment(declared, extensions, more=unevaluated_functions(binding()))


def evaluating(variables: Iterable[str], functions: Callable[[Any], list[Any]]) -> Any:
    """An environment with these variables, of any type, and more functions: that of admission at run time."""
    cel = binding("CEL expressions")
    return _environment(dict.fromkeys(variables, cel.Type.DYN), more=functions(cel))


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
    variables: dict[str, Any], extensions: dict[str, int] = _EXTENSIONS, *, more: list[Any] | None = None
) -> Any:
    cel = binding()
    lines = [
        f"  - name: {name}\n" + (f"    version: {number}\n" if number else "") for name, number in extensions.items()
    ]
    config = cel.NewEnvConfigFromYaml("extensions:\n" + "".join(lines))
    functions = cel.CelExtension("kubernetes", _Declarations(cel).all())
    return cel.NewEnv(config=config, variables=variables, extensions=[functions], functions=more or [])


def _type(types: Any, kind: str) -> Any:
    """The engine's type for CEL's name of it."""
    if kind.startswith("list("):
        return types.List(_type(types, kind[5:-1]))
    if kind.startswith("map(string, "):
        return types.Map(types.STRING, _type(types, kind[12:-1]))
    return types.AbstractType(kind) if "." in kind else types(kind)


class _Declarations:
    def __init__(self, cel: Any) -> None:
        self._cel = cel
        kinds = cel.Type
        self._dyn, self._string, self._int, self._bool = kinds.DYN, kinds.STRING, kinds.INT, kinds.BOOL
        self._list, self._map = kinds.List(kinds.DYN), kinds.Map(kinds.STRING, kinds.DYN)
        self._overloads: dict[str, list[Any]] = {}

    def all(self) -> list[Any]:
        self._quantities_and_versions()
        self._urls()
        self._addresses()
        self._lists_and_text()
        self._formats()
        return [self._cel.FunctionDecl(name, overloads) for name, overloads in self._overloads.items()]

    def _function(self, name: str, result: Any, parameters: list[Any], impl: Callable[..., Any]) -> None:
        self._declare(name, result, parameters, impl, member=False)

    def _method(self, name: str, result: Any, parameters: list[Any], impl: Callable[..., Any]) -> None:
        self._declare(name, result, parameters, impl, member=True)

    def _declare(self, name: str, result: Any, parameters: list[Any], impl: Any, *, member: bool) -> None:
        overloads = self._overloads.setdefault(name, [])
        identifier = f"kubernetes_{name}_{len(overloads)}"
        overloads.append(self._cel.Overload(identifier, result, parameters, is_member=member, impl=impl))

    def _quantities_and_versions(self) -> None:
        dyn, string, boolean = self._dyn, self._string, self._bool
        self._function("quantity", dyn, [string], library.quantity)
        # Kubernetes declares `sign` as a function, though its documentation shows a method.
        self._function("sign", self._int, [dyn], library.sign)
        self._function("isQuantity", boolean, [string], library.parses(library.quantity))
        for name, result, impl in (
            ("isInteger", boolean, library.is_integer),
            ("asInteger", self._int, library.as_integer),
            ("asApproximateFloat", self._cel.Type.DOUBLE, library.as_float),
            ("major", self._int, library.version_part(0)),
            ("minor", self._int, library.version_part(1)),
            ("patch", self._int, library.version_part(2)),
        ):
            self._method(name, result, [dyn], impl)
        self._method("add", dyn, [dyn, dyn], library.add)
        self._method("sub", dyn, [dyn, dyn], library.sub)
        self._method("compareTo", self._int, [dyn, dyn], library.compare)
        self._method("isLessThan", boolean, [dyn, dyn], lambda left, right: library.compare(left, right) < 0)
        self._method("isGreaterThan", boolean, [dyn, dyn], lambda left, right: library.compare(left, right) > 0)
        for parameters in ([string], [string, boolean]):
            self._function("semver", dyn, parameters, library.semver)
            self._function("isSemver", boolean, parameters, library.parses(library.semver))

    def _urls(self) -> None:
        self._function("url", self._dyn, [self._string], library.url)
        self._function("isURL", self._bool, [self._string], library.parses(library.url))
        for name, part in (
            ("getScheme", "scheme"),
            ("getHost", "host"),
            ("getHostname", "hostname"),
            ("getPort", "port"),
            ("getEscapedPath", "path"),
        ):
            self._method(name, self._string, [self._dyn], library.url_part(part))
        self._method("getQuery", self._map, [self._dyn], library.url_part("query"))

    def _addresses(self) -> None:
        dyn, string, boolean = self._dyn, self._string, self._bool
        self._function("ip", dyn, [string], library.ip)
        self._function("isIP", boolean, [string], library.parses(library.ip))
        self._function("ip.isCanonical", boolean, [string], library.is_canonical)
        self._method("family", self._int, [dyn], lambda value: library.address(value).version)
        for name, test in (
            ("isUnspecified", lambda each: each.is_unspecified),
            ("isLoopback", lambda each: each.is_loopback),
            ("isLinkLocalMulticast", lambda each: each.is_multicast and str(each).startswith(("224.0.0.", "ff02:"))),
            ("isLinkLocalUnicast", lambda each: each.is_link_local),
            ("isGlobalUnicast", _is_global_unicast),
        ):
            self._method(name, boolean, [dyn], library.address_is(test))
        self._function("cidr", dyn, [string], library.cidr)
        self._function("isCIDR", boolean, [string], library.parses(library.cidr))
        self._method("containsIP", boolean, [dyn, dyn], library.contains_ip)
        self._method("containsCIDR", boolean, [dyn, dyn], library.contains_cidr)
        self._method("ip", dyn, [dyn], library.network_ip)
        self._method("masked", dyn, [dyn], library.masked)
        self._method("prefixLength", self._int, [dyn], lambda value: library.network(value).prefixlen)
        self._function("string", string, [self._map], library.text_of)

    def _lists_and_text(self) -> None:
        every = self._list
        self._method("isSorted", self._bool, [every], library.is_sorted)
        self._method("sum", self._dyn, [every], library.total)
        self._method("min", self._dyn, [every], library.extreme(min, "min"))
        self._method("max", self._dyn, [every], library.extreme(max, "max"))
        self._method("indexOf", self._int, [every, self._dyn], library.index_of)
        self._method("lastIndexOf", self._int, [every, self._dyn], library.last_index_of)
        string = self._string
        self._method("find", string, [string, string], patterns.find)
        self._method("findAll", self._cel.Type.List(string), [string, string], patterns.find_all)
        self._method("findAll", self._cel.Type.List(string), [string, string, self._int], patterns.find_all)
        self._method(patterns.REPLACED["matches"], self._bool, [string, string], patterns.matches)
        self._function(patterns.REPLACED["matches"], self._bool, [string, string], patterns.matches)
        self._function(
            patterns.REPLACED["lists.range"], self._cel.Type.List(self._int), [self._int], patterns.list_range
        )

    def _formats(self) -> None:
        for name in library.FORMATS:
            self._function(f"format.{name}", self._dyn, [], _constant({library.FORMAT: name}))
        self._function("format.named", self._dyn, [self._string], library.named_format)
        self._method("validate", self._dyn, [self._dyn, self._string], library.format_validate)
        # The binding cannot return optionals: the two functions that return one return a map with the same methods.
        self._method("hasValue", self._bool, [self._map], lambda value: library.OPTIONAL in value)
        self._method("value", self._dyn, [self._map], library.optional_value)
        self._method(
            "orValue", self._dyn, [self._map, self._dyn], lambda value, other: value.get(library.OPTIONAL, other)
        )


def _constant(value: dict[str, str]) -> Callable[[], dict[str, str]]:
    return lambda: value


def _is_global_unicast(each: library.Address) -> bool:
    special = each.is_unspecified or each.is_loopback or each.is_multicast or each.is_link_local
    return not special and str(each) != "255.255.255.255"
