"""The types of CEL expressions, and whether the arguments of a call have the types that a function is declared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NULLABLE = frozenset(("timestamp", "duration", "optional_type"))


@dataclass(frozen=True, slots=True)
class CELType:
    """A type: a name, and the types of the items of a list, of the keys and values of a map, of an optional's value.

    The name of the type of an object is its path in the schema, with a leading dot. A capital letter is a parameter of
    a function's declaration. `?` is the type of the items of an empty list: any type replaces it.
    """

    name: str
    parameters: tuple[CELType, ...] = ()

    @property
    def is_any(self) -> bool:
        return self.name in ("dyn", "?")

    @property
    def is_object(self) -> bool:
        return self.name.startswith(".")

    def is_same(self, other: CELType) -> bool:
        """Whether it is the same type, with any type for the items of empty lists."""
        if "?" in (self.name, other.name):
            return True
        if self.name != other.name or len(self.parameters) != len(other.parameters):
            return False
        return all(one.is_same(two) for one, two in zip(self.parameters, other.parameters, strict=True))

    def __str__(self) -> str:
        name = "object" if self.is_object else _SHOWN.get(self.name, self.name)
        return f"{name}({', '.join(map(str, self.parameters))})" if self.parameters else name


_SHOWN = {"?": "dyn", "null_type": "null"}
DYN, UNKNOWN = CELType("dyn"), CELType("?")
BOOL, INT, STRING = CELType("bool"), CELType("int"), CELType("string")
TYPE, NULL = CELType("type"), CELType("null_type")


def list_of(item: CELType) -> CELType:
    return CELType("list", (item,))


def optional_of(value: CELType) -> CELType:
    return CELType("optional_type", (value,))


def parse(text: str) -> CELType:
    """A type from its name: `map(string, list(A))`."""
    name, bracket, inside = text.partition("(")
    if not bracket:
        return CELType(text)
    return CELType(name, tuple(parse(part) for part in split(inside.removesuffix(")"))))


def split(text: str) -> Iterator[str]:
    """The parts between the commas outside of parentheses."""
    depth = start = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            yield text[start:index].strip()
            start = index + 1
    if text[start:].strip():
        yield text[start:].strip()


def join(types: Sequence[CELType]) -> CELType:
    """The type of a value that has one of these types."""
    known = [each for each in types if each.name != "?"]
    if not known:
        return UNKNOWN
    return known[0] if all(each == known[0] for each in known) else DYN


class TypeMatch:
    """Compares the types of arguments with the types of a declaration, and keeps what its parameters stand for."""

    def __init__(self) -> None:
        self._bound: dict[str, CELType] = {}

    def accepts(self, wanted: CELType, found: CELType) -> bool:
        if len(wanted.name) == 1 and wanted.name.isupper():
            return self._binds(wanted.name, found)
        if found.is_any or wanted.is_any:
            return True
        if found.name == "null_type":
            return wanted.name in _NULLABLE or wanted.name == "null_type" or "." in wanted.name
        if wanted.name != found.name or len(wanted.parameters) != len(found.parameters):
            return False
        return all(self.accepts(one, two) for one, two in zip(wanted.parameters, found.parameters, strict=True))

    def resolved(self, declared: CELType) -> CELType:
        if declared.name in self._bound:
            return self._bound[declared.name]
        if len(declared.name) == 1 and declared.name.isupper():
            return DYN
        return CELType(declared.name, tuple(map(self.resolved, declared.parameters)))

    def _binds(self, name: str, found: CELType) -> bool:
        bound = self._bound.get(name)
        if bound is None or bound.is_any:
            # A value of any type makes the result one of any type, the items of an empty list do not.
            self._bound[name] = found if bound is None or bound.name == "?" else bound
            return True
        if not (TypeMatch().accepts(bound, found) or TypeMatch().accepts(found, bound)):
            return False
        if found.name == "dyn" or bound.name == "null_type" or any(each.name == "?" for each in bound.parameters):
            self._bound[name] = found
        return True
