"""Names of controllers: metrics and logs go by them, so within a manager each is used once."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pilotage.errors import InvalidDefinition

_taken: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()


def claim(manager: object, name: str) -> None:
    """Take a name for a controller of this manager. InvalidDefinition if another one has it."""
    names = _taken.setdefault(manager, set())
    if name in names:
        raise InvalidDefinition(
            f"this manager has a controller {name!r} already, and metrics and logs could not tell the two apart: give "
            'one of them another name with named("…"), or allow it with skip_name_validation'
        )
    names.add(name)
