"""Patches made from a document before and after: apply(before, diff(before, after)) is `after` again.

A diff cannot express what a patch cannot express: a field that is `null` (in both kinds of merge patch that is a
removal); for a strategic one also fields whose names start with `$`, and an item twice in a merged list of scalars,
which is a set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pilotage.meta.documents import canonical, same
from pilotage.meta.models import Model
from pilotage.meta.patches.json_patch import Pointer, pointer_text
from pilotage.meta.patches.lookup import MergeSchema, schema_of
from pilotage.meta.patches.ordering import identity
from pilotage.meta.patches.strategic import DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER, ListMerge


def merge_diff(before: Any, after: Any) -> Any:
    """The JSON merge patch from `before` to `after`; of objects that are the same, `{}`."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    return _objects(before, after, None)


def json_diff(before: Any, after: Any) -> list[dict[str, Any]]:
    """A JSON Patch from `before` to `after`, without tests; not always the shortest."""
    return list(_operations(before, after, ()))


def strategic_diff(
    before: dict[str, Any], after: dict[str, Any], schema: MergeSchema | type[Model] | None
) -> dict[str, Any]:
    """The strategic merge patch from `before` to `after`; of documents that are the same, `{}`."""
    return _objects(before, after, schema_of(schema))


def _operations(before: Any, after: Any, path: Pointer) -> Iterator[dict[str, Any]]:
    if same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": pointer_text((*path, key))}
        for key, value in after.items():
            if key in before:
                yield from _operations(before[key], value, (*path, key))
            else:
                yield {"op": "add", "path": pointer_text((*path, key)), "value": value}
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_operations(before, after, path)
    else:
        yield {"op": "replace", "path": pointer_text(path), "value": after}


def _list_operations(before: list[Any], after: list[Any], path: Pointer) -> Iterator[dict[str, Any]]:
    """Equal items at both ends are kept; those between are changed in place, then items are added or removed after
    them."""
    shorter = min(len(before), len(after))
    start = next((index for index in range(shorter) if not same(before[index], after[index])), shorter)
    end = next((index for index in range(shorter - start) if not same(before[-1 - index], after[-1 - index])), None)
    end = shorter - start if end is None else end
    common = shorter - end
    for index in range(start, common):
        yield from _operations(before[index], after[index], (*path, str(index)))
    for index in reversed(range(common, len(before) - end)):
        yield {"op": "remove", "path": pointer_text((*path, str(index)))}
    for index in range(common, len(after) - end):
        yield {"op": "add", "path": pointer_text((*path, str(index))), "value": after[index]}


def _objects(before: dict[str, Any], after: dict[str, Any], schema: MergeSchema | None) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif same(before[key], value):
            continue
        elif schema is None:  # below an unknown field, a strategic merge patch is a JSON merge patch
            patch[key] = merge_diff(before[key], value)
        else:
            patch.update(_field(key, before[key], value, schema))
    return patch


def _field(field: str, before: Any, after: Any, schema: MergeSchema) -> dict[str, Any]:
    strategies = schema.strategy(field).split(",")
    differ = _Difference(schema.child(field), "retainKeys" in strategies)
    if isinstance(before, dict) and isinstance(after, dict) and "replace" not in strategies:
        return {field: differ.of_objects(before, after)}
    if not isinstance(before, list) or not isinstance(after, list) or "merge" not in strategies:
        return {field: after}
    if not any(isinstance(item, dict) for item in (*before, *after)):
        return _of_scalars(field, before, after)
    key = schema.merge_key(field)
    if _is_unique(before, key) and _is_unique(after, key):
        return differ.of_lists(field, before, after, key)
    return {field: [{PATCH: "replace"}, *after]}


@dataclass(frozen=True, slots=True)
class _Difference:
    """Of the values of one field, or of the items of a list."""

    schema: MergeSchema | None
    retains: bool

    def of_objects(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        patch = _objects(before, after, self.schema)
        if self.retains and patch:
            patch[RETAIN_KEYS] = sorted(after)
        return patch

    def of_lists(self, field: str, before: list[Any], after: list[Any], key: str) -> dict[str, Any]:
        olds = {identity(item, key): item for item in before}
        items: list[Any] = []
        for item in after:
            old = olds.pop(identity(item, key), None)
            if old is None:
                items.append(item)
            elif changes := self.of_objects(old, item):
                items.append({key: item[key], **changes})
        patch: dict[str, Any] = {}
        deletions = [{PATCH: "delete", key: old[key]} for old in olds.values()]
        if items or deletions:
            patch[field] = [*items, *deletions]
        if not same(ListMerge(key, self.schema).merged(before, [*items, *deletions]), after):
            patch[SET_ELEMENT_ORDER + field] = [{key: item[key]} for item in after]
        return patch


def _of_scalars(field: str, before: list[Any], after: list[Any]) -> dict[str, Any]:
    olds, news = {canonical(item) for item in before}, {canonical(item) for item in after}
    added = [item for item in after if canonical(item) not in olds]
    removed = [item for item in before if canonical(item) not in news]
    patch: dict[str, Any] = {}
    if added:
        patch[field] = added
    if removed:
        patch[DELETE_FROM_PRIMITIVE_LIST + field] = removed
    merged = ListMerge("", None).merged(before, added)
    if not same([item for item in merged if canonical(item) in news], after):
        patch[SET_ELEMENT_ORDER + field] = after
    return patch


def _is_unique(items: list[Any], key: str) -> bool:
    """Whether the merge key identifies every item."""
    names = {identity(item, key) if isinstance(item, dict) else None for item in items}
    return None not in names and len(names) == len(items)
