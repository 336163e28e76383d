"""The fields of a document, with their types and paths: errors name the file, the Stage and the field."""

from __future__ import annotations

from typing import Any

from pilotage.errors import InvalidDefinition

_NOUNS = {bool: "true or false", int: "an integer", float: "a number", str: "a string", list: "a list"}


def json_noun(value: object) -> str:
    """What a value of a document is, in messages."""
    return "null" if value is None else _NOUNS.get(type(value), "an object")


class Fields:
    """The fields of one object. Each is read by its type; a field that is null is one that is not there."""

    def __init__(self, value: dict[str, Any], path: str, where: str) -> None:
        self._left = {name: item for name, item in value.items() if item is not None}
        self._path = path
        self._where = where

    def path(self, name: str) -> str:
        """The path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def problem(self, name: str, message: str) -> InvalidDefinition:
        """The error for a field."""
        return InvalidDefinition(f"{self._where}: {self.path(name)}: {message}")

    def has(self, name: str) -> bool:
        """Whether the field is there."""
        return name in self._left

    def text(self, name: str, otherwise: str = "") -> str:
        """A string."""
        value: str = self._typed(name, str, "a string", otherwise)
        return value

    def required(self, name: str) -> str:
        """A string that is not empty."""
        text = self.text(name)
        if not text:
            raise self.problem(name, "is required")
        return text

    def choice(self, name: str, choices: tuple[str, ...], otherwise: str) -> str:
        """One of these strings."""
        text = self.text(name) or otherwise
        if text not in choices:
            raise self.problem(name, f'"{text}" is not supported; use {", ".join(choices)}')
        return text

    def boolean(self, name: str) -> bool:
        """True or false; false without the field."""
        return bool(self._typed(name, bool, "true or false", False))

    def count(self, name: str) -> int | None:
        """An integer that is at least 0."""
        value = self._typed(name, int, "an integer", None)
        if value is not None and not 0 <= value < 2**63:
            raise self.problem(name, f"must be between 0 and {2**63 - 1}, not {value}")
        return None if value is None else int(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self._typed(name, list, "a list", [])
        for index, item in enumerate(found):
            if not isinstance(item, str):
                raise self.problem(f"{name}[{index}]", f"must be a string, not {json_noun(item)}: put it in quotes")
        return tuple(found)

    def map_of_texts(self, name: str) -> dict[str, str]:
        """An object whose values are strings."""
        found: dict[str, str] = self._typed(name, dict, "an object", {})
        for key, item in found.items():
            if not isinstance(item, str):
                raise self.problem(f"{name}[{key}]", f"must be a string, not {json_noun(item)}: put it in quotes")
        return found

    def object(self, name: str) -> Fields | None:
        """The fields of an object; None without it. `end` has to be called for it."""
        found = self._typed(name, dict, "an object", None)
        return None if found is None else Fields(found, self.path(name), self._where)

    def objects(self, name: str) -> list[Fields]:
        """The fields of each object of a list."""
        found = []
        for index, item in enumerate(self._typed(name, list, "a list", [])):
            place = f"{name}[{index}]"
            if not isinstance(item, dict):
                raise self.problem(place, f"must be an object, not {json_noun(item)}")
            found.append(Fields(item, self.path(place), self._where))
        return found

    def ignore(self, *names: str) -> None:
        """Fields that have no meaning here."""
        for name in names:
            self._left.pop(name, None)

    def refuse(self, *names: str) -> None:
        """Raise InvalidDefinition for fields that kwok has and this package does not support."""
        for name in names:
            if name in self._left:
                raise self.problem(name, "is not supported")

    def end(self) -> None:
        """Raise InvalidDefinition for fields that were not read: there are no such fields."""
        for name in self._left:
            raise self.problem(name, "there is no such field")

    def _typed(self, name: str, kind: type, noun: str, otherwise: Any) -> Any:
        if name not in self._left:
            return otherwise
        value = self._left.pop(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.problem(name, f"must be {noun}, not {json_noun(value)}")
        return value
