"""The difference between an object as it was read and as it is now, applied to the document it was read from.

There are three documents: `base` is the one that was read, `before` is `base` as the class decodes and encodes it, and
`after` is the object as the class encodes it now. Fields that the class does not know are in `base` only, and must
survive. At every level:

- a value that is equal in `before` and `after` stays as it is in `base`, even if it is absent there;
- a value that is in `before` and not in `after` is removed; a changed one is applied field by field.

Items of lists have no names: `pilotage.meta.differences.pairing` finds the item before for each item after.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from pilotage.errors import DecodeError, UnplacedItems
from pilotage.meta.differences import pairing
from pilotage.meta.documents import canonical, same
from pilotage.meta.models import FieldShape, Model, shapes

Place: TypeAlias = "FieldShape | type[Model] | None"
"""What the class knows of a value: the shape of a field, the model of an item, or nothing."""

Parts: TypeAlias = dict[str, msgspec.Raw]
"""The fields of an object, each as its JSON."""

_ABSENT = object()
_BRACE = ord("{")
_decode = msgspec.json.Decoder().decode
_parts = msgspec.json.Decoder(Parts).decode


def carry(base: Any, before: Any, after: Any, model: type[Model] | None) -> Any:
    """`base` with the changes from `before` to `after`. Raises UnplacedItems if an unknown field would be lost.

    The inputs are not changed; the result may share parts with them.
    """
    try:
        return _applied(base, before, after, model, "")
    except RecursionError:
        raise _too_deep() from None


def carry_parts(base: Parts, before: Parts, after: Parts, model: type[Model]) -> dict[str, Any]:
    """As `carry`, of objects whose fields are still encoded. What is the same bytes before and after, as most of an
    object is, is not decoded."""
    try:
        return _carried(base, before, after, model, "")
    except RecursionError:
        raise _too_deep() from None


def _carried(base: Parts, before: Parts, after: Parts, place: Place, path: str) -> dict[str, Any]:
    result: dict[str, Any] = {key: value for key, value in base.items() if key in after or key not in before}
    for key, value in after.items():
        known = before.get(key)
        if known is None or known != value:
            result[key] = _carried_part(base.get(key), known, value, _inside(place, key), f"{path}.{key}")
    return result


def _carried_part(
    base: msgspec.Raw | None, before: msgspec.Raw | None, after: msgspec.Raw, place: Place, path: str
) -> Any:
    if place is None or base is None or not (_is_object(base) and _is_object(after)):
        return _applied(_read(base), _read(before), _read(after), place, path)
    if before is None:
        return _carried(_parts(base), {}, _parts(after), place, path)
    if not _is_object(before):
        return _read(after)
    return _carried(_parts(base), _parts(before), _parts(after), place, path)


def _is_object(part: msgspec.Raw) -> bool:
    return memoryview(part)[0] == _BRACE


def _read(part: msgspec.Raw | None) -> Any:
    return _ABSENT if part is None else _decode(part)


def _too_deep() -> DecodeError:
    return DecodeError("the object is nested too deeply to be written: reduce the nesting")


def _applied(base: Any, before: Any, after: Any, place: Place, path: str) -> Any:
    # `before` is absent if the class did not encode the field before (it omits an empty value, for example). `base` may
    # still have unknown fields there, so the objects are merged and not replaced.
    if isinstance(base, dict) and isinstance(after, dict) and (isinstance(before, dict) or before is _ABSENT):
        return _fields(base, before if isinstance(before, dict) else {}, after, place, path)
    # If the lengths differ, the class has dropped items when it decoded them, and `before` does not show which ones.
    if isinstance(base, list) and isinstance(before, list) and isinstance(after, list) and len(base) == len(before):
        return _items(base, before, after, place, path)
    return after


def _fields(base: dict[str, Any], before: dict[str, Any], after: dict[str, Any], place: Place, path: str) -> Any:
    if place is None and same(base, before):
        return after  # the class knows untyped data completely: nothing can be lost, and the comparison ends here
    # A key of `base` that is in neither is unknown to the class, and stays; one in `before` alone was removed.
    result = {key: value for key, value in base.items() if key in after or key not in before}
    for key, value in after.items():
        known = before.get(key, _ABSENT)
        # Equal values keep what `base` has: the server's spelling of a quantity or a time, and nulls, are not
        # rewritten.
        if known is _ABSENT or not same(known, value):
            result[key] = _applied(base.get(key, _ABSENT), known, value, _inside(place, key), f"{path}.{key}")
    return result


def _items(base: list[Any], before: list[Any], after: list[Any], place: Place, path: str) -> list[Any]:
    if same(base, before):
        return after
    shape = place if isinstance(place, FieldShape) and place.container == "list" else None
    model = shape.model if shape is not None else None
    # The map keys of the schema are what the server merges by, so they are trusted before any comparison of values.
    origins = pairing.by_keys(before, after, shape.keys) if shape is not None else None
    if origins is None:
        origins = _origins(base, before, after, model, path)
    return [
        item if old is None else _item(base[old], before[old], item, model, f"{path}[{index}]")
        for index, (item, old) in enumerate(zip(after, origins, strict=True))
    ]


def _item(base: Any, before: Any, after: Any, model: type[Model] | None, path: str) -> Any:
    return base if same(before, after) else _applied(base, before, after, model, path)


def _origins(
    base: list[Any], before: list[Any], after: list[Any], model: type[Model] | None, path: str
) -> pairing.Origins:
    lists = pairing.Lists(
        before=[canonical(item) for item in before],
        after=[canonical(item) for item in after],
        base=[canonical(item) for item in base],
        unknown=[bool(unknown_parts(old, known, model)) for old, known in zip(base, before, strict=True)],
    )
    try:
        return pairing.by_value(lists)
    except pairing.Ambiguous:
        raise UnplacedItems(path) from None


def unknown_parts(base: Any, before: Any, place: Place) -> Any:
    """The fields of `base`, at any depth, that the class does not know; empty if it knows all. Defaults that it leaves
    out are known."""
    if isinstance(base, dict) and isinstance(before, dict):
        found: dict[str, Any] = {}
        for key, value in base.items():
            inside = _inside(place, key)
            # A known field that is absent in `before` is one that the class leaves out when it encodes: nothing is
            # lost.
            if key not in before and inside is None:
                found[key] = value
            elif parts := unknown_parts(value, before.get(key, {}), inside):
                found[key] = parts
        return found
    if isinstance(base, list) and isinstance(before, list):
        if len(base) != len(before):
            return [base]
        item = place.model if isinstance(place, FieldShape) and place.container == "list" else None
        parts = [unknown_parts(old, known, item) for old, known in zip(base, before, strict=True)]
        return parts if any(parts) else []
    return {}


def _inside(place: Place, key: str) -> Place:
    """What the class knows of the value under `key` of an object at `place`."""
    if isinstance(place, FieldShape):
        if place.container == "map":
            return place.model
        place = place.model if not place.container else None
    return shapes(place).get(key) if place is not None else None
