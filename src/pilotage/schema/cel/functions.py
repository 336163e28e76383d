"""Kubernetes' own CEL functions: how each is declared, and what implements it.

Type checking and cost estimates use the declarations as they are. The engine's binding cannot pass opaque values
(`library`), so that the engine is given them with less exact types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pilotage.schema.cel import library, patterns

_ORDERED = ("int", "uint", "double", "duration", "timestamp", "string", "bytes")
_MINIMUM, _MAXIMUM = library.extreme(min, "min"), library.extreme(max, "max")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity(string) -> kubernetes.Quantity": library.quantity,
    "isQuantity(string) -> bool": library.parses(library.quantity),
    # Kubernetes declares `sign` as a function, though its documentation shows a method.
    "sign(kubernetes.Quantity) -> int": library.sign,
    "kubernetes.Quantity:isInteger() -> bool": library.is_integer,
    "kubernetes.Quantity:asInteger() -> int": library.as_integer,
    "kubernetes.Quantity:asApproximateFloat() -> double": library.as_float,
    "kubernetes.Quantity:add(kubernetes.Quantity) -> kubernetes.Quantity": library.add,
    "kubernetes.Quantity:add(int) -> kubernetes.Quantity": library.add,
    "kubernetes.Quantity:sub(kubernetes.Quantity) -> kubernetes.Quantity": library.sub,
    "kubernetes.Quantity:sub(int) -> kubernetes.Quantity": library.sub,
    **{f"{kind}:compareTo({kind}) -> int": library.compare for kind in library.COMPARED},
    **{f"{kind}:isLessThan({kind}) -> bool": library.is_less for kind in library.COMPARED},
    **{f"{kind}:isGreaterThan({kind}) -> bool": library.is_greater for kind in library.COMPARED},
    "semver(string) -> kubernetes.Semver": library.semver,
    "semver(string, bool) -> kubernetes.Semver": library.semver,
    "isSemver(string) -> bool": library.parses(library.semver),
    "isSemver(string, bool) -> bool": library.parses(library.semver),
    "kubernetes.Semver:major() -> int": library.version_part(0),
    "kubernetes.Semver:minor() -> int": library.version_part(1),
    "kubernetes.Semver:patch() -> int": library.version_part(2),
    "url(string) -> kubernetes.URL": library.url,
    "isURL(string) -> bool": library.parses(library.url),
    "kubernetes.URL:getScheme() -> string": library.url_part("scheme"),
    "kubernetes.URL:getHost() -> string": library.url_part("host"),
    "kubernetes.URL:getHostname() -> string": library.url_part("hostname"),
    "kubernetes.URL:getPort() -> string": library.url_part("port"),
    "kubernetes.URL:getEscapedPath() -> string": library.url_part("path"),
    "kubernetes.URL:getQuery() -> map(string, list(string))": library.url_part("query"),
    "ip(string) -> net.IP": library.ip,
    "isIP(string) -> bool": library.parses(library.ip),
    "ip.isCanonical(string) -> bool": library.is_canonical,
    "net.IP:family() -> int": lambda value: library.address(value).version,
    "net.IP:isUnspecified() -> bool": library.address_is(lambda each: each.is_unspecified),
    "net.IP:isLoopback() -> bool": library.address_is(lambda each: each.is_loopback),
    "net.IP:isLinkLocalMulticast() -> bool": library.address_is(library.is_link_local_multicast),
    "net.IP:isLinkLocalUnicast() -> bool": library.address_is(lambda each: each.is_link_local),
    "net.IP:isGlobalUnicast() -> bool": library.address_is(library.is_global_unicast),
    "string(net.IP) -> string": library.text_of,
    "cidr(string) -> net.CIDR": library.cidr,
    "isCIDR(string) -> bool": library.parses(library.cidr),
    "net.CIDR:containsIP(string) -> bool": library.contains_ip,
    "net.CIDR:containsIP(net.IP) -> bool": library.contains_ip,
    "net.CIDR:containsCIDR(string) -> bool": library.contains_cidr,
    "net.CIDR:containsCIDR(net.CIDR) -> bool": library.contains_cidr,
    "net.CIDR:ip() -> net.IP": library.network_ip,
    "net.CIDR:masked() -> net.CIDR": library.masked,
    "net.CIDR:prefixLength() -> int": lambda value: library.network(value).prefixlen,
    "string(net.CIDR) -> string": library.text_of,
    **{f"format.{name}() -> kubernetes.NamedFormat": library.format_of(name) for name in library.FORMATS},
    "format.named(string) -> optional_type(kubernetes.NamedFormat)": library.named_format,
    "kubernetes.NamedFormat:validate(string) -> optional_type(list(string))": library.format_validate,
    "list(A):indexOf(A) -> int": library.index_of,
    "list(A):lastIndexOf(A) -> int": library.last_index_of,
    **{f"list({kind}):isSorted() -> bool": library.is_sorted for kind in ("bool", *_ORDERED)},
    **{f"list({kind}):min() -> {kind}": _MINIMUM for kind in _ORDERED},
    **{f"list({kind}):max() -> {kind}": _MAXIMUM for kind in _ORDERED},
    **{f"list({kind}):sum() -> {kind}": library.total for kind in ("int", "uint", "double", "duration")},
    "string:find(string) -> string": patterns.find,
    "string:findAll(string) -> list(string)": patterns.find_all,
    "string:findAll(string, int) -> list(string)": patterns.find_all,
}
ENGINE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"string:{patterns.REPLACED['matches']}(string) -> bool": patterns.matches,
    f"{patterns.REPLACED['matches']}(string, string) -> bool": patterns.matches,
    f"{patterns.REPLACED['lists.range']}(int) -> list(int)": patterns.list_range,
    f"{patterns.REPLACED['cel.@mapInsert']}(map(dyn, dyn), dyn, dyn) -> map(dyn, dyn)": library.map_insert,
    f"{patterns.REPLACED['cel.@mapInsert']}(map(dyn, dyn), map(dyn, dyn)) -> map(dyn, dyn)": library.map_insert,
    f"{patterns.INDEXED['min']}(list(dyn)) -> int": library.index_of_extreme(min, "min"),
    f"{patterns.INDEXED['max']}(list(dyn)) -> int": library.index_of_extreme(max, "max"),
    # The binding cannot return optionals: the two functions that return one return a map with the same methods.
    "map(string, dyn):hasValue() -> bool": lambda value: library.OPTIONAL in value,
    "map(string, dyn):value() -> dyn": library.optional_value,
    "map(string, dyn):orValue(dyn) -> dyn": lambda value, other: value.get(library.OPTIONAL, other),
}
"""Functions that the engine calls, and rules do not name."""
