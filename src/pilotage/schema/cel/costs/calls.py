"""The costs of calls in the units in which Kubernetes estimates rules, and the sizes of their results.

The arguments have their own costs. A unit is about 50 ns. A CRD that Kubernetes accepts must be accepted here and the
other way round, so the figures are Kubernetes' figures, also where they are far from what the call costs here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pilotage.schema.cel.ast import CallExpression, Constant, Expr
from pilotage.schema.cel.costs import LIMIT
from pilotage.schema.cel.costs.parts import ANY_SIZE, Part, Path, Size, exactly, fraction
from pilotage.schema.cel.signatures import Signature

Charged: TypeAlias = tuple[int, Size | None]
Charge: TypeAlias = Callable[[CallExpression, Sequence[Part]], Charged]

_CHARACTER, _PATTERN = 0.1, 0.25
_TEXTS = ("string", "bytes")
_NAMED_PATTERN = 128
_ADDRESS = 16
_NEW_LIST = 10
_COMPARISONS = frozenset(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"))
_CHECKED_AT_ONCE = ("kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR", "kubernetes.URL")


def call_cost(node: CallExpression, parts: Sequence[Part], matched: Sequence[Signature]) -> Charged:
    """The cost of a call, without its arguments. `matched` are the declarations that it may call."""
    name = node.function
    if name in _COMPARISONS:
        return max(_comparison(name, parts, each) for each in matched), None
    if name == "_+_":
        return _addition(parts, matched)
    if name == "@in":
        return max(_membership(parts[1], each) for each in matched), None
    if name in ("string", "bytes") and len(parts) == 1:
        return _conversion(name, parts[0], matched)
    charge = _CHARGES.get(name)
    return charge(node, parts) if charge is not None else (1, None)


def _comparison(name: str, parts: Sequence[Part], signature: Signature) -> int:
    if name == "_==_" and parts[0].type == parts[1].type:
        if parts[0].type.name in _CHECKED_AT_ONCE:
            return 1
        if parts[0].type.name == "kubernetes.NamedFormat":
            return 7
    if name not in ("_==_", "_!=_") and signature.parameters[0].name not in _TEXTS:
        return 1
    return fraction(min(part.known_size.most for part in parts), _CHARACTER)


def _membership(among: Part, signature: Signature) -> int:
    return among.known_size.most if signature.parameters[1].name == "list" else 1


def _addition(parts: Sequence[Part], matched: Sequence[Signature]) -> Charged:
    kinds = {each.parameters[0].name for each in matched}
    if not kinds & {"string", "bytes", "list"}:
        return 1, None
    size = parts[0].known_size.plus(parts[1].known_size)
    return (fraction(size.most, _CHARACTER) if kinds & set(_TEXTS) else 1), size


def _conversion(name: str, part: Part, matched: Sequence[Signature]) -> Charged:
    source = "bytes" if name == "string" else "string"
    if not any(each.parameters[0].name == source for each in matched):
        return 1, None
    size = part.known_size
    made = Size(size.least // 4, size.most) if name == "string" else Size(size.least, min(size.most * 4, LIMIT))
    return fraction(size.most, _CHARACTER), made


def _traversal(factor: float, *, keeps: bool = False) -> Charge:
    """Reads the first argument; with `keeps` the result has its size."""

    def charge(node: CallExpression, parts: Sequence[Part]) -> Charged:
        size = parts[0].known_size
        return fraction(size.most, factor), size if keeps else None

    return charge


def _prefix(node: CallExpression, parts: Sequence[Part]) -> Charged:
    return fraction(parts[1].known_size.most, _CHARACTER), None


def _contains(node: CallExpression, parts: Sequence[Part]) -> Charged:
    text, found = (fraction(part.known_size.most, _CHARACTER) for part in parts)
    return min(text * found, LIMIT), None


def _matches(node: CallExpression, parts: Sequence[Part]) -> Charged:
    return (_searched(parts), None) if node.member else (1, None)


def _find(node: CallExpression, parts: Sequence[Part]) -> Charged:
    return _searched(parts), Size(0, parts[0].known_size.most)


def _searched(parts: Sequence[Part]) -> int:
    text = fraction(min(parts[0].known_size.most + 1, LIMIT), _CHARACTER)
    return min(text * fraction(parts[1].known_size.most, _PATTERN), LIMIT)


def _all_items(node: CallExpression, parts: Sequence[Part]) -> Charged:
    """Compares each item of a list, or searches a string."""
    if not parts[0].type.parameters:
        return fraction(parts[0].known_size.most, _CHARACTER), None
    each = 1
    if parts[0].type.parameters[0].name in _TEXTS:
        each += fraction(_item_size(parts[0]).most, _CHARACTER)
    return min(parts[0].known_size.most * each, LIMIT), None


def _item_size(part: Part) -> Size:
    """The size of the items of a list: known only for a list of the schema."""
    if part.path is None or part.path.declared is None:
        return ANY_SIZE
    return Path(part.path.declared.item).size or ANY_SIZE


def _replace(node: CallExpression, parts: Sequence[Part]) -> Charged:
    text, old, new = (part.known_size for part in parts[:3])
    if old.least == 0:
        most = (text.most + 1) * new.most + text.most
    elif new.most <= old.least:
        most = text.most
    else:
        most = -(-text.most // old.least) * new.most
    return fraction(text.most, 2 * _CHARACTER), Size(0, min(most, LIMIT))


def _split(node: CallExpression, parts: Sequence[Part]) -> Charged:
    size = parts[0].known_size
    pieces = _number(node.arguments[2], size.most) if len(parts) > 2 else size.most
    return fraction(size.most, 2 * _CHARACTER), Size(0, pieces)


def _join(node: CallExpression, parts: Sequence[Part]) -> Charged:
    listed = parts[0].known_size
    size = listed.times(_item_size(parts[0])) if parts[0].type.parameters else Size(0, 0)
    if len(parts) > 1:
        size = size.plus(parts[1].known_size.times(Size(max(listed.least - 1, 0), max(listed.most - 1, 0))))
    return fraction(size.most, _CHARACTER), size


def _quote(node: CallExpression, parts: Sequence[Part]) -> Charged:
    size = parts[0].known_size
    return fraction(size.most, _CHARACTER), Size(size.least + 2, min(2 * size.most + 2, LIMIT))


def _address(node: CallExpression, parts: Sequence[Part]) -> Charged:
    """Reads an address from a string; of a network it is a field."""
    return (1, None) if node.member else _traversal(_CHARACTER)(node, parts)


def _contains_address(node: CallExpression, parts: Sequence[Part]) -> Charged:
    cost = fraction(2 * _ADDRESS, _CHARACTER)
    if node.function == "containsCIDR":
        cost += fraction(_ADDRESS, _CHARACTER) + 1
    if parts[1].type.name not in ("net.IP", "net.CIDR"):
        cost += fraction(parts[1].known_size.most, _CHARACTER)
    return cost, None


def _validate(node: CallExpression, parts: Sequence[Part]) -> Charged:
    text = fraction(parts[1].known_size.most, _CHARACTER)
    return fraction(text, _NAMED_PATTERN * _PATTERN), None


def _sets(factor: int) -> Charge:
    def charge(node: CallExpression, parts: Sequence[Part]) -> Charged:
        return min(parts[0].known_size.times(parts[1].known_size).most * factor + 1, LIMIT), None

    return charge


def _made_list(size: Size, factor: float = 1.0) -> Charged:
    return min(fraction(size.most, factor) + 1 + _NEW_LIST, LIMIT), size


def _slice(node: CallExpression, parts: Sequence[Part]) -> Charged:
    start, end = _number(node.arguments[1], 0), _number(node.arguments[2], parts[0].known_size.most)
    return _made_list(exactly((end - start) % (LIMIT + 1)))


def _range(node: CallExpression, parts: Sequence[Part]) -> Charged:
    return _made_list(exactly(_number(node.arguments[0], LIMIT)))


def _flatten(node: CallExpression, parts: Sequence[Part]) -> Charged:
    return _made_list(parts[0].known_size, _number(node.arguments[1], LIMIT) if len(parts) > 1 else 1)


def _squared(node: CallExpression, parts: Sequence[Part]) -> Charged:
    """Compares every item of a list with every other."""
    size = parts[-1].known_size
    kind = parts[-1].type.parameters[0].name if parts[-1].type.parameters else ""
    reads = node.function != "distinct" and kind in _TEXTS
    return _made_list(size.times(size), 2 + _CHARACTER * reads)


def _number(node: Expr, other: int) -> int:
    return node.number if isinstance(node, Constant) and node.number is not None else other


_CHARGES: dict[str, Charge] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _all_items),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _traversal(_CHARACTER, keeps=True)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "format"), _traversal(_CHARACTER)),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _traversal(_CHARACTER)),
    **dict.fromkeys(("startsWith", "endsWith"), _prefix),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    **dict.fromkeys(("distinct", "sort", "@sortByAssociatedKeys"), _squared),
    "sets.equivalent": _sets(2),
    "ip": _address,
    "ip.isCanonical": _traversal(2 * _CHARACTER),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "strings.quote": _quote,
    "contains": _contains,
    "matches": _matches,
    "validate": _validate,
    "slice": _slice,
    "lists.range": _range,
    "reverse": lambda node, parts: _made_list(parts[0].known_size),
    "flatten": _flatten,
}
