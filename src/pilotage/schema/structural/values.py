"""Checks of single values against the keywords of a schema, with the messages of Kubernetes' OpenAPI validation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pilotage import errors
from pilotage.meta import causes
from pilotage.meta.documents import copied, make_whole
from pilotage.schema import formats
from pilotage.schema.patterns import compile_re2, search_cost
from pilotage.schema.structural.lists import identity
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import Path, Problem, Problems, Steps, dotted, steps_of

Check = Callable[[Any, Path, Any, list[Problem]], None]
"""Checks the value at `(path, key)`, and adds what is wrong to the list."""

Search = Callable[[str, list[Problem]], bool | None]
"""Whether a text matches a pattern; None if the search would cost more than the document has left for searches."""

NO_FIELD = "<nil>"
"""What Kubernetes writes for the field of an error that belongs to no field."""

_INTEGERS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
TYPE_NAMES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}
_LARGEST_FLOAT = 3.4028235677973366e38  # of 32 bits
_BOUNDS: dict[tuple[str, bool], tuple[Callable[[float, float], bool], str]] = {
    ("minimum", False): (operator.lt, "greater"),
    ("minimum", True): (operator.le, "greater"),
    ("maximum", False): (operator.gt, "less"),
    ("maximum", True): (operator.ge, "less"),
}
"""By keyword and whether the bound is exclusive: the comparison that fails, and the word for the allowed side."""
_SHORT = 256
"""The maximum length of a text whose search result is cached."""
_GO_FORMATS = {int: "int64", float: "float64"}


def problem(path: Path, key: Any, make: Callable[[str], errors.Cause]) -> Problem:
    """The problem at a path; `make` receives the path as text."""
    steps: Steps = steps_of((path, key) if key is not None else path)
    return Problem(steps, make(dotted(steps)), len(steps))


def accepts(node: Node, kind: type) -> bool:
    """Whether the schema accepts values of this Python type. Whole floats are checked by `type_check`."""
    if kind is type(None):
        return node.nullable or not (node.type or node.int_or_string)
    if kind is list and node.type == "string" and _known_format(node):
        return True  # as in Kubernetes
    name = TYPE_NAMES[kind]
    if node.int_or_string:
        return name in ("integer", "string")
    return not node.type or node.type == name or (node.type == "number" and name == "integer")


def type_check(node: Node, kind: type) -> Check:
    """Reports a value of the wrong type."""
    wanted, found = node.type or "integer,string", TYPE_NAMES[kind]
    format_name = _known_format(node)
    if format_name and kind not in (str, list, type(None)):
        wanted, found = format_name, _GO_FORMATS.get(kind, "")

    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        out.append(_type_problem(path, key, found, wanted))

    if kind is float and (node.type == "integer" or node.int_or_string):
        return lambda value, path, key, out: None if _is_json_integer(value) else check(value, path, key, out)
    return check


def int64_check(node: Node) -> Check:
    """Reports an integer beyond 64 bits, which is a float for Kubernetes."""
    low, high = _INTEGERS["int64"]
    too_large = type_check(node, float)

    def check(value: int, path: Path, key: Any, out: list[Problem]) -> None:
        if not low <= value <= high:
            too_large(math.inf, path, key, out)

    return check


def enum_check(node: Node) -> Check | None:
    """Reports a value that is not in `enum`, as null never is.

    As in Kubernetes, a number is converted to the type of the other one, so that 1.5 is in `[1]`; numbers in objects
    and lists are not.
    """
    allowed = node.schema.get("enum")
    if not allowed:
        return None
    members = {identity(each) for each in allowed if each is not None}
    shown = [each if isinstance(each, str) else causes.shown(each, whole=True) for each in allowed]

    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        if identity(value) in members:
            return
        kind = type(value)
        if (kind is float and (int, _truncated(value)) in members) or (kind is int and (float, value) in members):
            return
        found = copied([value])
        make_whole(found)  # as Go shows it
        out.append(problem(path, key, lambda at: causes.not_supported(at, found[0], shown)))

    return check


def string_check(node: Node) -> Check | None:
    """Checks length and pattern. As in Kubernetes, only the first failure is reported."""
    maximum, minimum = node.schema.get("maxLength"), node.schema.get("minLength")
    pattern = node.schema.get("pattern")
    search = compile_pattern(pattern) if pattern else None
    if maximum is None and minimum is None and search is None:
        return None

    def check(value: str, path: Path, key: Any, out: list[Problem]) -> None:
        length = len(value)
        if maximum is not None and length > maximum:
            out.append(problem(path, key, lambda at: causes.too_long(at, maximum)))
        elif minimum is not None and length < minimum:
            text = f"in body should be at least {minimum} chars long"
            out.append(problem(path, key, lambda at: causes.invalid(at, value, f"{at} {text}")))
        elif search is not None and not (fits := search(value, out)):
            text = f"in body should match '{pattern}'" if fits is False else f"in body is too long for '{pattern}'"
            out.append(problem(path, key, lambda at: causes.invalid(at, value, f"{at} {text}")))

    return check


def format_check(node: Node) -> Check | None:
    name = _known_format(node)
    check_format = formats.checker(name) if name and node.type in ("string", "") else None
    if check_format is None:
        return None

    def check(value: str, path: Path, key: Any, out: list[Problem]) -> None:
        if not check_format(value):
            out.append(_type_problem(path, key, value, name))

    return check


def number_check(node: Node) -> Check | None:
    """Checks range and `multipleOf`. Without a format an integer is an int64."""
    bounds = (_bound_check(node, "minimum"), _bound_check(node, "maximum"))
    every = combined([check for check in (_range_check(node), _multiple_check(node), *bounds) if check])
    low, high = valid_range(node)
    if every is None or low > high:
        return every

    whole = node.type == "integer"

    def check(value: float, path: Path, key: Any, out: list[Problem]) -> None:
        if not low <= value <= high or (whole and type(value) is float):
            every(value, path, key, out)

    return check


def combined(checks: list[Check]) -> Check | None:
    """One check that runs several; None for none."""
    if len(checks) < 2:
        return checks[0] if checks else None
    if len(checks) == 2:
        first, second = checks

        def both(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
            first(value, path, key, out)
            second(value, path, key, out)

        return both

    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        for each in checks:
            each(value, path, key, out)

    return check


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Search:
    """A search by RE2, whose time is linear in the string. Raises PatternError."""
    # As bytes, because the offsets of a match in a str are translated, which takes twice as long.
    compiled = compile_re2(pattern, as_bytes=True)
    search, states = compiled.search, compiled.programsize

    def matches(text: str, out: list[Problem]) -> bool | None:
        if isinstance(out, Problems):
            out.search_budget.left -= search_cost(states, len(text))
            if out.search_budget.left < 0:
                return None
        return _is_found(search, text) if len(text) <= _SHORT else search(text.encode(errors="replace")) is not None

    return matches


@lru_cache(maxsize=4096)  # images, reasons and names are the same in many objects
def _is_found(search: Callable[[bytes], object], text: str) -> bool:
    return search(text.encode(errors="replace")) is not None


def _range_check(node: Node) -> Check | None:
    name = node.schema.get("format", "")
    if node.type == "integer":
        low, high = _INTEGERS.get(name, _INTEGERS["int64"])
        words = f"with format {name}" if name in _INTEGERS else "(default format)"

        def outside(value: float) -> bool:
            return not low <= value <= high or (type(value) is float and (value == low or not value.is_integer()))

    elif node.type == "number" and name == "float":
        words = "with format float"

        def outside(value: float) -> bool:
            return abs(value) > _LARGEST_FLOAT

    else:
        return None

    too_large = type_check(node, float)

    def check(value: float, path: Path, key: Any, out: list[Problem]) -> None:
        if outside(value):
            if type(value) is int and not _INTEGERS["int64"][0] <= value <= _INTEGERS["int64"][1]:
                too_large(float(value) if abs(value) < _LARGEST_FLOAT else math.inf, path, key, out)
            out.append(_misfit(path, key, f"Checked value must be of type {node.type} {words} in"))

    return check


def _misfit(path: Path, key: Any, text: str) -> Problem:
    steps = steps_of((path, key) if key is not None else path)
    return Problem(steps, causes.invalid(NO_FIELD, "", f"{text} {dotted(steps)}"), len(steps))


def _limit_check(node: Node, keyword: str) -> Check | None:
    """Reports the limit of an integer that is not such an integer itself, whatever the value."""
    limit, name = node.schema[keyword], node.schema.get("format", "")
    low, high = _INTEGERS.get(name, _INTEGERS["int64"])
    if node.type != "integer" or (low <= limit <= high and float(limit).is_integer()):
        return None
    what = {"minimum": "Minimum boundary", "maximum": "Maximum boundary", "multipleOf": "MultipleOf"}[keyword]
    words = f"with format {name}" if name in _INTEGERS else "(default format)"
    text = f"{what} value must be of type integer {words} in"
    return lambda value, path, key, out: out.append(_misfit(path, key, text))


def _truncated(limit: float) -> int:
    """A limit as Go converts it to an int64."""
    low, high = _INTEGERS["int64"]
    return int(limit) if low <= limit <= high else low


def valid_range(node: Node) -> tuple[float, float]:
    """Bounds between which every value is valid, so that one comparison is enough; an empty range if there are none."""
    schema = node.schema
    if schema.get("exclusiveMinimum") or schema.get("exclusiveMaximum") or schema.get("multipleOf"):
        return 1, 0
    if any(keyword in schema and _limit_check(node, keyword) for keyword in ("minimum", "maximum")):
        return 1, 0
    low, high = _INTEGERS.get(str(schema.get("format")), _INTEGERS["int64"])
    if not all(low <= schema.get(keyword, 0) <= high for keyword in ("minimum", "maximum")):
        return 1, 0
    return max(low, schema.get("minimum", low)), min(high, schema.get("maximum", high))


def _multiple_check(node: Node) -> Check | None:
    factor = node.schema.get("multipleOf")
    if not factor:
        return None
    whole = _truncated(factor)
    truncates = node.type != "integer" or float(factor).is_integer()

    def check(value: float, path: Path, key: Any, out: list[Problem]) -> None:
        if type(value) is int and truncates:
            if whole <= 0:
                text = f"must be positive: {whole}"
                out.append(
                    problem(path, key, lambda at: causes.invalid(at, 0, f"factor MultipleOf declared for {at} {text}"))
                )
                return
            fits, used = value % whole == 0, float(whole)
        else:
            number, used = float(value) if abs(value) <= _LARGEST_FLOAT else math.inf, factor
            fits = _is_whole(1 / factor * number if factor < 1 else number / factor)
        if not fits:
            text = f"in body should be a multiple of {_number(used)}"
            out.append(problem(path, key, lambda at: causes.invalid(at, _shown(value), f"{at} {text}")))

    return combined([each for each in (_limit_check(node, "multipleOf"), check) if each])


def _bound_check(node: Node, keyword: str) -> Check | None:
    """Checks `minimum` or `maximum`."""
    bound, exclusive = node.schema.get(keyword), node.schema.get(f"exclusive{keyword.capitalize()}") is True
    if bound is None:
        return None
    outside, direction = _BOUNDS[keyword, exclusive]
    words = f"in body should be {direction} than {'' if exclusive else 'or equal to '}"
    # As in Kubernetes, an integer in a field for any number is compared with a whole limit.
    whole = bound if node.type == "integer" else _truncated(bound)

    def check(value: float, path: Path, key: Any, out: list[Problem]) -> None:
        limit = whole if type(value) is int else bound
        if outside(value, limit):
            text = f"{words}{_number(limit)}"
            out.append(problem(path, key, lambda at: causes.invalid(at, _shown(value), f"{at} {text}")))

    return combined([each for each in (_limit_check(node, keyword), check) if each])


def _type_problem(path: Path, key: Any, found: str, wanted: str) -> Problem:
    text = f"in body must be of type {wanted}: {causes.shown(found)}"
    return problem(path, key, lambda at: causes.type_invalid(at, found, f"{at} {text}"))


def _known_format(node: Node) -> str:
    """The format; empty if Kubernetes does not know it for this type, and therefore ignores it."""
    name = str(node.schema.get("format") or "")
    if node.type in ("string", "") and not node.int_or_string:
        return name if formats.checker(name) else ""
    if node.type == "integer":
        return name if name in _INTEGERS else ""
    return name if node.type == "number" and name in ("float", "double") else ""


def _is_json_integer(value: float) -> bool:
    """Whether a float is a whole number small enough to be exact."""
    return value.is_integer() and abs(value) < 2**53


def _is_whole(value: float) -> bool:
    if not math.isfinite(value):
        return False
    return abs(value - round(value)) < 1e-9 * max(1.0, abs(value))


def _shown(value: float) -> float:
    """A value as Go prints it: whole floats without a fraction."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value


def _number(value: float) -> str:
    """A bound as Go prints it: whole floats without a fraction."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else f"{value}"
