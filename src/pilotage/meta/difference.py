"""The difference between an object as it was read and as it is now, carried over to the document it was read from.

Three documents take part: `base` is what was read, `before` is what the class knows of it, `after` is what the class
says now. What the class does not know is in `base` alone, and must come out unharmed. Everywhere:

- what is equal in `before` and `after` stays as it is in `base`, also where it is absent there;
- what is in `before` and not in `after` is removed; what changed is carried over field by field.

Items of lists have no names; `pilotage.meta.pairing` finds out which is which.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pilotage.errors import DecodeError, UnplacedItems
from pilotage.meta import pairing
from pilotage.meta.documents import canonical, same
from pilotage.meta.models import Model, Shape, shapes

Place: TypeAlias = "Shape | type[Model] | None"
"""What is known of the value at a place: a field's shape, the model of an item, or nothing."""

_ABSENT = object()


def carry(base: Any, before: Any, after: Any, model: type[Model] | None) -> Any:
    """`base` with all that makes `after` differ from `before`. UnplacedItems if an unknown field would be lost.

    The inputs are not changed; the result may share parts with them.
    """
    try:
        return _carried(base, before, after, model, "")
    except RecursionError:
        raise DecodeError("the object is nested too deeply to be written: make it flatter") from None


def _carried(base: Any, before: Any, after: Any, place: Place, path: str) -> Any:
    if isinstance(base, dict) and isinstance(after, dict) and (isinstance(before, dict) or before is _ABSENT):
        return _fields(base, before if isinstance(before, dict) else {}, after, place, path)
    if isinstance(base, list) and isinstance(before, list) and isinstance(after, list) and len(base) == len(before):
        return _items(base, before, after, place, path)
    return after


def _fields(base: dict[str, Any], before: dict[str, Any], after: dict[str, Any], place: Place, path: str) -> Any:
    if place is None and same(base, before):
        return after  # plain data, all of it known: there is nothing to look for, however deep it is
    result = {key: value for key, value in base.items() if key in after or key not in before}
    for key, value in after.items():
        known = before.get(key, _ABSENT)
        if known is _ABSENT or not same(known, value):
            result[key] = _carried(base.get(key, _ABSENT), known, value, _inside(place, key), f"{path}.{key}")
    return result


def _items(base: list[Any], before: list[Any], after: list[Any], place: Place, path: str) -> list[Any]:
    if same(base, before):
        return after
    shape = place if isinstance(place, Shape) and place.container == "list" else None
    model = shape.model if shape is not None else None
    origins = pairing.by_keys(before, after, shape.keys) if shape is not None else None
    if origins is None:
        origins = _origins(base, before, after, model, path)
    return [
        item if old is None else _item(base[old], before[old], item, model, f"{path}[{index}]")
        for index, (item, old) in enumerate(zip(after, origins, strict=True))
    ]


def _item(base: Any, before: Any, after: Any, model: type[Model] | None, path: str) -> Any:
    return base if same(before, after) else _carried(base, before, after, model, path)


def _origins(
    base: list[Any], before: list[Any], after: list[Any], model: type[Model] | None, path: str
) -> pairing.Origins:
    lists = pairing.Lists(
        before=[canonical(item) for item in before],
        after=[canonical(item) for item in after],
        base=[canonical(item) for item in base],
        unknown=[holds_unknown(old, known, model) for old, known in zip(base, before, strict=True)],
    )
    try:
        return pairing.by_value(lists)
    except pairing.Ambiguous:
        raise UnplacedItems(path) from None


def holds_unknown(base: Any, before: Any, place: Place) -> bool:
    """Whether anything in `base`, at any depth, is not said by `before`. Defaults that the class leaves out are."""
    if isinstance(base, dict) and isinstance(before, dict):
        for key, value in base.items():
            inside = _inside(place, key)
            if key not in before and inside is None:
                return True
            if holds_unknown(value, before.get(key, {}), inside):
                return True
        return False
    if isinstance(base, list) and isinstance(before, list):
        item = place.model if isinstance(place, Shape) and place.container == "list" else None
        return len(base) != len(before) or any(
            holds_unknown(old, known, item) for old, known in zip(base, before, strict=True)
        )
    return False


def _inside(place: Place, key: str) -> Place:
    """What is known of the value under `key` of an object at `place`."""
    if isinstance(place, Shape):
        if place.container == "map":
            return place.model
        place = place.model if not place.container else None
    return shapes(place).get(key) if place is not None else None
