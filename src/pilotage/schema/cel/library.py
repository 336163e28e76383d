"""Kubernetes' own CEL functions in Python: quantities, versions, addresses, URLs, formats and lists.

The binding cannot pass opaque values. A quantity, a version or an address is a map with one entry, whose key is the
type and whose value is the canonical text, so that equal values are equal maps.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.text.gojson import quoted
from pilotage.meta.validation.names import (
    NameRule,
    dns_1035_label,
    dns_1123_label,
    dns_1123_subdomain,
    label_value,
    qualified_name,
)
from pilotage.schema.formats import checker

Boxed = dict[str, str]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

QUANTITY, SEMVER, URL, IP, CIDR, FORMAT, OPTIONAL = (
    f"kubernetes.{name}" for name in ("Quantity", "Semver", "URL", "IP", "CIDR", "NamedFormat", "Optional")
)
COMPARED = (QUANTITY, SEMVER)
"""The types whose values have an order."""

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-.]+))?",
    re.ASCII,
)


def unbox(value: Any, *types: str) -> tuple[str, str]:
    """The type and text of a boxed value. Raises ValueError for other types, which becomes an evaluation error."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind in types and isinstance(text, str):
            return kind, text
    raise ValueError("no such overload")


def parses(parse: Callable[..., object]) -> Callable[..., bool]:
    """The function `isX` for the function `x`: whether a text can be parsed."""

    def check(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except (ValueError, ArithmeticError):
            return False
        return True

    return check


def quantity(text: str) -> Boxed:
    # 1 and 1000m are equal, so the text must be canonical.
    try:
        return _quantity_box(Quantity(text))
    except ValueError as error:
        raise ValueError(str(error).removesuffix(f": {text!r}")) from error


def amount(value: Any) -> Quantity:
    if isinstance(value, int) and not isinstance(value, bool):
        return Quantity(value)
    return Quantity(unbox(value, QUANTITY)[1])


def sign(value: Any) -> int:
    number = amount(value).as_decimal()
    return (number > 0) - (number < 0)


def is_integer(value: Any) -> bool:
    number = amount(value).as_decimal()
    return number == number.to_integral_value() and -(2**63) <= number < 2**63


def as_integer(value: Any) -> int:
    if not is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(amount(value).as_decimal())


def as_float(value: Any) -> float:
    return float(amount(value).as_decimal())


def add(left: Any, right: Any) -> Boxed:
    return _quantity_box(amount(left) + amount(right))


def sub(left: Any, right: Any) -> Boxed:
    return _quantity_box(amount(left) - amount(right))


def compare(left: Any, right: Any) -> int:
    """`compareTo` of quantities and of versions."""
    kind, text = unbox(left, QUANTITY, SEMVER)
    if kind == QUANTITY:
        first, second = amount(left), amount(right)
        return (first > second) - (first < second)
    one, other = _precedence(text), _precedence(unbox(right, SEMVER)[1])
    return (one > other) - (one < other)


def is_less(left: Any, right: Any) -> bool:
    return compare(left, right) < 0


def is_greater(left: Any, right: Any) -> bool:
    return compare(left, right) > 0


def semver(text: str, normalize: bool = False) -> Boxed:
    if normalize:
        text = _normalized_version(text)
    found = _SEMVER.fullmatch(text) if len(text) <= 1024 else None
    if found is None or any(part.isdigit() and part[:1] == "0" and len(part) > 1 for part in _parts(found.group(4))):
        if not text:
            raise ValueError("Version string empty")
        if text.count(".") < 2:
            raise ValueError("No Major.Minor.Patch elements found")
        raise ValueError(f"semver parse error on string conversion: {text!r} is not a semantic version")
    return {SEMVER: text}


def version_part(index: int) -> Callable[[Any], int]:
    return lambda value: int(re.split(r"[.+-]", unbox(value, SEMVER)[1])[index])


def url(text: str) -> Boxed:
    if not text or any(character <= " " or character == "\x7f" for character in text):
        raise ValueError(f"URL parse error during conversion from string: parse {text!r}: invalid URI for request")
    parts = urlsplit(text)
    _ = parts.port  # reads it
    if not text.startswith("/") and not (parts.scheme and (parts.netloc or parts.path.startswith("/"))):
        raise ValueError(f"URL parse error during conversion from string: parse {text!r}: invalid URI for request")
    return {URL: text}


def url_part(name: str) -> Callable[[Any], Any]:
    def part(value: Any) -> Any:
        parts = urlsplit(unbox(value, URL)[1])
        host = parts.netloc.rpartition("@")[2]
        if name == "query":
            return parse_qs(parts.query, keep_blank_values=True)
        port = host.rpartition(":")[2] if re.search(r":\d+$", host) else ""
        name_only = host.removesuffix(f":{port}") if port else host
        return {
            "scheme": parts.scheme,
            "host": host,
            "hostname": name_only.removeprefix("[").removesuffix("]"),
            "port": port,
            "path": quote(parts.path, safe="/%:@!$&'()*+,;=~-._"),
        }[name]

    return part


def ip(text: str) -> Boxed:
    return {IP: str(_address(text))}


def is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def address(value: Any) -> Address:
    return ipaddress.ip_address(unbox(value, IP)[1])


def address_is(test: Callable[[Address], bool]) -> Callable[[Any], bool]:
    return lambda value: test(address(value))


def is_link_local_multicast(each: Address) -> bool:
    return each.is_multicast and str(each).startswith(("224.0.0.", "ff02:"))


def is_global_unicast(each: Address) -> bool:
    special = each.is_unspecified or each.is_loopback or each.is_multicast or each.is_link_local
    return not special and str(each) != "255.255.255.255"


def cidr(text: str) -> Boxed:
    host, _slash, bits = text.partition("/")
    if "%" in text or not re.fullmatch(r"0|[1-9][0-9]*", bits) or len(text) > 49:
        raise ValueError(f"network address parse error during conversion from string: {text!r}")
    network = ipaddress.ip_network(text, strict=False)
    return {CIDR: f"{_address(host)}/{network.prefixlen}"}


def network(value: Any) -> Network:
    return ipaddress.ip_network(unbox(value, CIDR)[1] if isinstance(value, dict) else cidr(value)[CIDR], strict=False)


def contains_ip(value: Any, other: Any) -> bool:
    inner = _address(other) if isinstance(other, str) else address(other)
    outer = network(value)
    return inner.version == outer.version and inner in outer


def contains_cidr(value: Any, other: Any) -> bool:
    outer, inner = network(value), network(other)
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]  # one version


def masked(value: Any) -> Boxed:
    return {CIDR: str(network(value))}


def network_ip(value: Any) -> Boxed:
    return {IP: unbox(value, CIDR)[1].partition("/")[0]}


def text_of(value: Any) -> str:
    """`string(…)` of an address or a network."""
    return unbox(value, IP, CIDR)[1]


def is_sorted(values: list[Any]) -> bool:
    return all(not values[index] < values[index - 1] for index in range(1, len(values)))


def total(values: list[Any]) -> Any:
    if any(isinstance(value, list | dict) for value in values):
        raise ValueError("no such overload")
    return sum(values[1:], start=values[0]) if values else 0


def extreme(pick: Callable[[list[Any]], Any], name: str) -> Callable[[list[Any]], Any]:
    def find_extreme(values: list[Any]) -> Any:
        if not values:
            raise ValueError(f"{name} called on empty list")
        return pick(values)

    return find_extreme


def index_of_extreme(pick: Callable[..., int], name: str) -> Callable[[list[Any]], int]:
    def find_index(values: list[Any]) -> int:
        if not values:
            raise ValueError(f"{name} called on empty list")
        return pick(range(len(values)), key=values.__getitem__)

    return find_index


def map_insert(made: dict[Any, Any], *added: Any) -> dict[Any, Any]:
    """The map that `transformMap` and `transformMapEntry` have made so far, with one more entry."""
    entries = {added[0]: added[1]} if len(added) == 2 else added[0]
    for key in entries:
        if key in made:
            raise ValueError(f"insert failed: key {key} already exists")
    return made | entries


def index_of(values: list[Any], wanted: Any) -> int:
    return next((index for index, each in enumerate(values) if _same(each, wanted)), -1)


def last_index_of(values: list[Any], wanted: Any) -> int:
    return next((index for index in range(len(values) - 1, -1, -1) if _same(values[index], wanted)), -1)


def format_of(name: str) -> Callable[[], Boxed]:
    return lambda: {FORMAT: name}


def named_format(name: str) -> dict[str, Any]:
    return {OPTIONAL: {FORMAT: name}} if name in FORMATS else {}


def format_validate(value: Any, text: str) -> dict[str, Any]:
    """An optional list of messages: none if the text is valid."""
    wrong = FORMATS[unbox(value, FORMAT)[1]](text)
    return {OPTIONAL: wrong} if wrong else {}


def optional_value(value: dict[str, Any]) -> Any:
    if OPTIONAL not in value:
        raise ValueError("optional.none() dereference")
    return value[OPTIONAL]


def _as_prefix(rule: NameRule) -> NameRule:
    """The rule for a prefix, which may end in a dash: the generated suffix follows it."""
    return lambda text: rule(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _checked(name: str, problem: str) -> NameRule:
    check = checker(name)
    assert check is not None
    return lambda text: [] if check(text) else [problem.format(quoted(text))]


FORMATS: dict[str, NameRule] = {
    "dns1123Label": dns_1123_label,
    "dns1123LabelPrefix": _as_prefix(dns_1123_label),
    "dns1123Subdomain": dns_1123_subdomain,
    "dns1123SubdomainPrefix": _as_prefix(dns_1123_subdomain),
    "dns1035Label": dns_1035_label,
    "dns1035LabelPrefix": _as_prefix(dns_1035_label),
    "qualifiedName": qualified_name,
    "labelValue": label_value,
    "uri": _checked("uri", "parse {}: invalid URI for request"),
    "uuid": _checked("uuid", "does not match the UUID format"),
    "byte": _checked("byte", "invalid base64"),
    "date": _checked("date", "invalid date"),
    "datetime": _checked("datetime", "invalid datetime"),
}


def _quantity_box(value: Quantity) -> Boxed:
    return {QUANTITY: Quantity(value.as_decimal()).canonical()}


def _address(text: str) -> Address:
    if "%" in text or len(text) > 45:
        raise ValueError(f"IP Address {text!r} parse error during conversion from string")
    found = ipaddress.ip_address(text)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise ValueError("IPv4-mapped IPv6 address is not allowed")
    return found


def _parts(text: str | None) -> list[str]:
    return text.split(".") if text else []


def _precedence(text: str) -> tuple[Any, ...]:
    """A sort key in the order of semantic versioning: pre-releases before their release, numbers before words."""
    found = _SEMVER.fullmatch(text)
    assert found is not None
    before = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in _parts(found.group(4))]
    return (*(int(found.group(index)) for index in (1, 2, 3)), not before, before)


def _normalized_version(text: str) -> str:
    core, mark, rest = re.fullmatch(r"v?([0-9.]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]  # it fits any text
    numbers = [part.lstrip("0") or "0" if part else "" for part in core.split(".")]
    return ".".join(numbers + ["0"] * (3 - len(numbers))) + mark + rest


def _same(left: Any, right: Any) -> bool:
    return (isinstance(left, bool) == isinstance(right, bool)) and left == right
