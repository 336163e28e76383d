"""The cost of one call of each CEL function, by the sizes of its operands: nanoseconds, bytes, and the result's size.

The factors were measured with the engine on the most expensive operands, and rounded up. All functions except those in
SQUARE are linear in each operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pilotage.schema.cel.admission.unevaluated import UNEVALUATED
from pilotage.schema.cel.ast import CallExpression, Constant
from pilotage.schema.cel.costs.sizes import NO_EXTENT, NO_SIZE, Extent, SizedValue
from pilotage.schema.cel.functions import ENGINE_FUNCTIONS, FUNCTIONS
from pilotage.schema.cel.patterns import ITERATIONS, REPLACED
from pilotage.schema.cel.signatures import parsed

PASSED_ENTRY, PASSED_ENTRY_BYTES = 300.0, 75.0
"""Nanoseconds and bytes for each value and key that is passed to the engine, or to a function in Python."""

_COPIED_ENTRY, _COPIED_ENTRY_BYTES = 45.0, 34.0
_COMPARED_ENTRY, _COMPARED_CHAR = 40.0, 0.1
_READ_CHAR = 1.0
_BUILT_CHAR, _BUILT_CHAR_BYTES = 1.5, 1.5
_SEARCHED = 0.03  # for each character of the text and each of the substring: the engine's search is quadratic
PYTHON_CALL, _PYTHON_QUANTITY = 6_000.0, 20_000.0
_PYTHON_CHAR = 90.0
_SHORT_TEXT = 32.0  # of a number or a time
_ZONE = 20_000.0


class Charge(NamedTuple):
    """The cost of one call, and its result."""

    nanoseconds: float
    bytes: float = 0.0
    result: SizedValue = NO_SIZE


Charging = Callable[[CallExpression, list[Extent]], Charge]


def _same(node: CallExpression, of: list[Extent]) -> Charge:
    """Comparison of two values."""
    entries, chars = min(of[0].all_entries, of[1].all_entries), min(of[0].all_chars, of[1].all_chars)
    return Charge(_COMPARED_ENTRY * entries + _COMPARED_CHAR * chars)


def _in(node: CallExpression, of: list[Extent]) -> Charge:
    return Charge(_COMPARED_ENTRY * of[1].all_entries + _COMPARED_CHAR * of[1].all_chars)


def _pairs(node: CallExpression, of: list[Extent]) -> Charge:
    """Comparison of every item of one list with every item of another."""
    one, other = of[0], of[-1]
    chars = one.entries * other.all_chars + other.entries * one.all_chars
    return Charge(_COMPARED_ENTRY * (1 + one.all_entries) * (1 + other.all_entries) + _COMPARED_CHAR * chars)


def _distinct(node: CallExpression, of: list[Extent]) -> Charge:
    charge = _pairs(node, [of[0], of[0]])
    return Charge(
        charge.nanoseconds + _COPIED_ENTRY * of[0].entries, _COPIED_ENTRY_BYTES * of[0].entries, SizedValue(of[0])
    )


def _add(node: CallExpression, of: list[Extent]) -> Charge:
    chars, entries = of[0].chars + of[1].chars, of[0].entries + of[1].entries
    nanoseconds = _BUILT_CHAR * chars + _COPIED_ENTRY * entries
    size = _BUILT_CHAR_BYTES * chars + _COPIED_ENTRY_BYTES * entries
    return Charge(nanoseconds, size, SizedValue(of[0].plus(of[1])))


def _search(node: CallExpression, of: list[Extent]) -> Charge:
    return Charge(_READ_CHAR * of[0].chars + _SEARCHED * of[0].chars * of[1].chars)


def _index_of(node: CallExpression, of: list[Extent]) -> Charge:
    """In a string, or (in Python) in a list."""
    in_list = of[0].all_entries * 2 * PASSED_ENTRY + of[0].all_chars * 2
    return Charge(PYTHON_CALL + _search(node, of).nanoseconds + in_list, of[0].all_entries * PASSED_ENTRY_BYTES)


def _replace(node: CallExpression, of: list[Extent]) -> Charge:
    old = node.arguments[1]
    length = len(old.text) if isinstance(old, Constant) and old.text else 1
    empty = not (isinstance(old, Constant) and old.text)
    size = of[0].chars + (of[0].chars / length + empty) * of[2].chars
    search = _search(node, of).nanoseconds
    return Charge(search + 60 * of[0].chars / length + 2 * size, 2 * size, SizedValue(Extent(size, 0.0, size, 0.0)))


def _split(node: CallExpression, of: list[Extent]) -> Charge:
    by = node.arguments[1] if len(node.arguments) > 1 else None
    length = len(by.text) if isinstance(by, Constant) and by.text else 1
    pieces = of[0].chars / length + 1
    result = SizedValue(Extent(0.0, pieces, of[0].chars, pieces))
    return Charge(_search(node, of).nanoseconds + 110 * pieces, 56 * pieces + of[0].chars, result)


def _join(node: CallExpression, of: list[Extent]) -> Charge:
    size = of[0].all_chars + (of[0].entries * of[1].chars if len(of) > 1 else 0.0)
    return Charge(1.5 * size + 30 * of[0].entries, 2.5 * size, SizedValue(Extent(size, 0.0, size, 0.0)))


def _format(node: CallExpression, of: list[Extent]) -> Charge:
    template = node.arguments[0]
    widest = 250 * of[0].chars  # a number takes up to 1,310 characters: "%.999f"
    if isinstance(template, Constant) and template.text is not None:
        widest = of[0].chars + 400.0 * template.text.count("%") + 1000.0 * template.text.count(".")
    size = widest + 8 * of[1].all_chars + 40 * of[1].all_entries
    return Charge(4 * size, 2 * size, SizedValue(Extent(size, 0.0, size, 0.0)))


def _text(node: CallExpression, of: list[Extent]) -> Charge:
    """Reads a string, and creates one of the same length."""
    chars = sum(extent.chars for extent in of) + _SHORT_TEXT
    return Charge(2 * _READ_CHAR * chars, 2 * chars, SizedValue(Extent(chars, 0.0, chars, 0.0)))


def _quote(node: CallExpression, of: list[Extent]) -> Charge:
    chars = 2 * of[0].chars + 2
    return Charge(10 * chars, 2 * chars, SizedValue(Extent(chars, 0.0, chars, 0.0)))


def _rearranged(node: CallExpression, of: list[Extent]) -> Charge:
    entries = of[0].entries
    compares = 20.0 * (of[0].all_entries * _COMPARED_ENTRY + of[0].all_chars * _COMPARED_CHAR)
    sorts = node.function not in ("reverse", "slice")
    size = _COPIED_ENTRY_BYTES * entries + of[0].chars
    return Charge(2 * _COPIED_ENTRY * entries + _READ_CHAR * of[0].chars + sorts * compares, size, SizedValue(of[0]))


def _flatten(node: CallExpression, of: list[Extent]) -> Charge:
    entries = of[0].all_entries
    return Charge(100 * entries, _COPIED_ENTRY_BYTES * entries, SizedValue(of[0]._replace(entries=entries)))


def _range(node: CallExpression, of: list[Extent]) -> Charge:
    """`bounds` passes the number as the operand's entries."""
    entries = min(of[0].entries, ITERATIONS)
    made = Extent(0.0, entries, 0.0, entries)
    return Charge(PYTHON_CALL + PASSED_ENTRY * entries, PASSED_ENTRY_BYTES * entries, SizedValue(made))


def _python(node: CallExpression, of: list[Extent]) -> Charge:
    """A function in Python: operands are converted, strings are read by Python."""
    everything = NO_EXTENT
    for extent in of:
        everything = everything.plus(extent)
    nanoseconds = PYTHON_CALL + everything.all_entries * 2 * PASSED_ENTRY + everything.all_chars * _PYTHON_CHAR
    size = everything.all_entries * 2 * PASSED_ENTRY_BYTES + everything.all_chars * 4
    return Charge(nanoseconds, size, SizedValue(Extent(*(everything.all_chars + 64, everything.all_entries + 1) * 2)))


def _expanding(node: CallExpression, of: list[Extent]) -> Charge:
    """Escapes characters, each to as many as six, or returns messages that quote them."""
    charge = _python(node, of)
    return charge._replace(result=SizedValue(Extent(*(6 * charge.result.most.all_chars + 1024, 8.0) * 2)))


def _short(node: CallExpression, of: list[Extent]) -> Charge:
    """Functions that read short strings and reject long ones at once: quantities, versions, addresses."""
    chars = sum(extent.all_chars for extent in of)
    entries = sum(extent.all_entries for extent in of)
    nanoseconds = _PYTHON_QUANTITY + entries * PASSED_ENTRY + 10 * chars
    return Charge(nanoseconds, entries * PASSED_ENTRY_BYTES + 4 * chars, SizedValue(Extent(1024.0, 1.0, 1024.0, 1.0)))


def _query(node: CallExpression, of: list[Extent]) -> Charge:
    chars = of[0].all_chars
    return Charge(PYTHON_CALL + 450 * chars, 60 * chars, SizedValue(Extent(0.0, chars, chars, chars)))


def _pattern(node: CallExpression, of: list[Extent]) -> Charge:
    """`patterns` counts the search itself. `findAll` may return each character."""
    chars = of[0].chars
    pieces = chars if "findAll" in node.function else 0.0
    result = SizedValue(Extent(0.0 if pieces else chars, pieces, chars, pieces))
    return Charge(PYTHON_CALL + 2 * (chars + of[1].chars), 4 * (chars + of[1].chars), result)


def unknown(node: CallExpression, of: list[Extent]) -> Charge:
    """A function without an entry. It is refused: what it costs is not known."""
    return Charge(1e18, 1e18)


def _number(node: CallExpression, of: list[Extent]) -> Charge:
    """Numbers, and times without a zone."""
    return Charge(_ZONE if len(of) > 1 and node.function.startswith("get") else 0.0)


def _size(node: CallExpression, of: list[Extent]) -> Charge:
    return Charge(_READ_CHAR * of[0].chars)


_PARTS = ("FullYear", "Month", "DayOfYear", "DayOfMonth", "Date", "DayOfWeek", "Hours", "Minutes", "Seconds")
CHARGES: dict[str, Charging] = {
    **dict.fromkeys((parsed(line)[0] for line in (*FUNCTIONS, *ENGINE_FUNCTIONS, *UNEVALUATED)), _python),
    **dict.fromkeys(("_-_", "_*_", "_/_", "_%_", "-_"), _number),
    **dict.fromkeys((f"get{part}" for part in (*_PARTS, "Milliseconds")), _number),
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith"), _same),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _pairs),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "substring", "charAt", "string", "bytes"), _text),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys", "reverse", "slice"), _rearranged),
    **dict.fromkeys(("size", "int", "uint", "double", "bool", "timestamp", "duration", "type"), _size),
    **dict.fromkeys(("indexOf", "lastIndexOf"), _index_of),
    **dict.fromkeys(("quantity", "isQuantity", "add", "sub", "compareTo", "isLessThan", "isGreaterThan"), _short),
    **dict.fromkeys(("semver", "isSemver", "ip", "isIP", "cidr", "isCIDR", "ip.isCanonical"), _short),
    "@in": _in,
    "contains": _search,
    "distinct": _distinct,
    "_+_": _add,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "format": _format,
    "strings.quote": _quote,
    "flatten": _flatten,
    "getQuery": _query,
    "base64.decode": _text,
    **dict.fromkeys(("jsonpatch.escapeKey", "getEscapedPath", "validate"), _expanding),
    **dict.fromkeys((REPLACED["matches"], "find", "findAll"), _pattern),
    REPLACED["lists.range"]: _range,
}
SQUARE = frozenset(("distinct",))
"""The functions that are quadratic in an operand."""
