"""The functions of CEL as Kubernetes declares them for rules: the types of their arguments and of their results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from pilotage.schema.cel.functions import FUNCTIONS
from pilotage.schema.cel.types import CELType, parse, split


class Signature(NamedTuple):
    parameters: tuple[CELType, ...]
    """The receiver of a method is the first."""
    result: CELType
    member: bool


_COMPARED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_NUMBERS = ("int", "uint", "double")
_DECLARED = """
_==_(A, A) -> bool
_!=_(A, A) -> bool
_&&_(bool, bool) -> bool
_||_(bool, bool) -> bool
_?_:_(bool, A, A) -> A
!_(bool) -> bool
-_(int) -> int
-_(double) -> double
@not_strictly_false(bool) -> bool
__not_strictly_false__(bool) -> bool
_+_(int, int) -> int
_+_(uint, uint) -> uint
_+_(double, double) -> double
_+_(string, string) -> string
_+_(bytes, bytes) -> bytes
_+_(list(A), list(A)) -> list(A)
_+_(timestamp, duration) -> timestamp
_+_(duration, timestamp) -> timestamp
_+_(duration, duration) -> duration
_-_(int, int) -> int
_-_(uint, uint) -> uint
_-_(double, double) -> double
_-_(timestamp, timestamp) -> duration
_-_(timestamp, duration) -> timestamp
_-_(duration, duration) -> duration
_*_(int, int) -> int
_*_(uint, uint) -> uint
_*_(double, double) -> double
_/_(int, int) -> int
_/_(uint, uint) -> uint
_/_(double, double) -> double
_%_(int, int) -> int
_%_(uint, uint) -> uint
@in(A, list(A)) -> bool
@in(A, map(A, B)) -> bool
_[_](list(A), int) -> A
_[_](map(A, B), A) -> B
_[_](optional_type(list(A)), int) -> optional_type(A)
_[_](optional_type(map(A, B)), A) -> optional_type(B)
_[?_](list(A), int) -> optional_type(A)
_[?_](map(A, B), A) -> optional_type(B)
_[?_](optional_type(list(A)), int) -> optional_type(A)
_[?_](optional_type(map(A, B)), A) -> optional_type(B)
optional.of(A) -> optional_type(A)
optional.ofNonZeroValue(A) -> optional_type(A)
optional.none() -> optional_type(?)
optional_type(A):hasValue() -> bool
optional_type(A):value() -> A
optional_type(A):or(optional_type(A)) -> optional_type(A)
optional_type(A):orValue(A) -> A
type(A) -> type
dyn(A) -> dyn
string:contains(string) -> bool
string:startsWith(string) -> bool
string:endsWith(string) -> bool
string:matches(string) -> bool
matches(string, string) -> bool
string:charAt(int) -> string
string:indexOf(string) -> int
string:indexOf(string, int) -> int
string:lastIndexOf(string) -> int
string:lastIndexOf(string, int) -> int
string:lowerAscii() -> string
string:upperAscii() -> string
string:trim() -> string
string:replace(string, string) -> string
string:replace(string, string, int) -> string
string:split(string) -> list(string)
string:split(string, int) -> list(string)
string:substring(int) -> string
string:substring(int, int) -> string
string:format(list(dyn)) -> string
strings.quote(string) -> string
list(string):join() -> string
list(string):join(string) -> string
list(A):slice(int, int) -> list(A)
list(A):reverse() -> list(A)
list(list(A)):flatten() -> list(A)
list(dyn):flatten(int) -> list(dyn)
list(A):distinct() -> list(A)
lists.range(int) -> list(int)
sets.contains(list(A), list(A)) -> bool
sets.equivalent(list(A), list(A)) -> bool
sets.intersects(list(A), list(A)) -> bool
"""
_CONVERSIONS = {
    "int": ("int", "uint", "double", "string", "timestamp", "duration"),
    "uint": ("uint", "int", "double", "string"),
    "double": ("double", "int", "uint", "string"),
    "string": ("string", "bool", "int", "uint", "double", "bytes", "timestamp", "duration"),
    "bytes": ("bytes", "string"),
    "bool": ("bool", "string"),
    "timestamp": ("timestamp", "string", "int"),
    "duration": ("duration", "string", "int"),
}
_TIME_PARTS = ("FullYear", "Month", "DayOfYear", "DayOfMonth", "Date", "DayOfWeek")
_CLOCK_PARTS = ("Hours", "Minutes", "Seconds", "Milliseconds")


@cache
def signatures() -> dict[str, tuple[Signature, ...]]:
    """The declarations of each function, by its name. A function that is not in it is not checked."""
    result: dict[str, tuple[Signature, ...]] = {}
    for line in (*_DECLARED.strip().splitlines(), *_generated(), *FUNCTIONS):
        name, signature = parsed(line)
        result[name] = (*result.get(name, ()), signature)
    return result


def _generated() -> Iterator[str]:
    for operator in ("_<_", "_<=_", "_>_", "_>=_"):
        yield from (f"{operator}({kind}, {kind}) -> bool" for kind in _COMPARED)
        yield from (f"{operator}({one}, {two}) -> bool" for one in _NUMBERS for two in _NUMBERS if one != two)
    for target, sources in _CONVERSIONS.items():
        yield from (f"{target}({source}) -> {target}" for source in sources)
    for kind in ("string", "bytes", "list(A)", "map(A, B)"):
        yield f"size({kind}) -> int"
        yield f"{kind}:size() -> int"
    for part in (*_TIME_PARTS, *_CLOCK_PARTS):
        yield f"timestamp:get{part}() -> int"
        yield f"timestamp:get{part}(string) -> int"
    yield from (f"duration:get{part}() -> int" for part in _CLOCK_PARTS)
    for kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
        yield f"list({kind}):sort() -> list({kind})"
        yield f"list(A):@sortByAssociatedKeys(list({kind})) -> list(A)"


def parsed(line: str) -> tuple[str, Signature]:
    """The name and the signature of a line such as `list(string):join(string) -> string`."""
    call, _arrow, result = line.partition(" -> ")
    is_method = ":" in call and not call.startswith("_?_:_")
    receiver, _colon, function = call.partition(":") if is_method else ("", "", call)
    name, _bracket, inside = function.partition("(")
    parameters = [parse(part) for part in split(inside.removesuffix(")"))]
    if is_method:
        parameters.insert(0, parse(receiver))
    return name, Signature(tuple(parameters), parse(result), is_method)
