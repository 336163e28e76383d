"""Strategic merge patch: a merge patch that also merges lists, as the schema defines it, and has directives.

In an object: `$patch` (`replace`, `delete`, `merge`), `$retainKeys` (only these keys stay),
`$setElementOrder/LIST` (the order of the items that it names), `$deleteFromPrimitiveList/LIST`.
In a list: an item `{"$patch": "delete", KEY: …}` removes one, an item `{"$patch": "replace"}` replaces the whole list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilotage.errors import MalformedDirective, MalformedPatch, PatchTooLarge
from pilotage.meta.documents import canonical
from pilotage.meta.models import Model
from pilotage.meta.patches.lookup import MergeSchema as MergeSchema
from pilotage.meta.patches.lookup import ModelMergeSchema as ModelMergeSchema
from pilotage.meta.patches.lookup import OpenAPIMergeSchema as OpenAPIMergeSchema
from pilotage.meta.patches.lookup import schema_of
from pilotage.meta.patches.ordering import MergedItem, arranged, identity
from pilotage.meta.text.gotext import go_text

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ELEMENT_ORDER = "$setElementOrder/"
DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList/"

_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
_ABSENT = object()


def apply(document: dict[str, Any], patch: Any, schema: MergeSchema | type[Model] | None) -> dict[str, Any]:
    """`document` with the patch applied. Neither is changed; the result shares with them what it can."""
    if not isinstance(patch, dict):
        raise MalformedPatch("a strategic merge patch is an object")
    try:
        return _object(document, patch, schema_of(schema), "")
    except RecursionError:
        raise PatchTooLarge("the patch is nested too deeply") from None


@dataclass(frozen=True, slots=True)
class ListMerge:
    """How a list is merged: by `key`, each item by `schema`. `path` is for errors."""

    key: str
    schema: MergeSchema | None
    path: str = ""

    def merged(self, original: list[Any], patch: list[Any], order: list[Any] | None = None) -> list[Any]:
        """`original` with the items of `patch`, in the order of the patch or, where given, of `order`."""
        objects = any(isinstance(item, dict) for item in (*original, *patch))
        if objects:
            self._check_items(original, patch)
        directives = [_directive(item, self.path) for item in patch if isinstance(item, dict)]
        if any(isinstance(item, dict) and item.get(PATCH) == "merge" for item in patch):
            raise MalformedDirective("merging lists cannot yet be specified in the patch", path=self.path, code=500)
        if "replace" in directives:
            whole: list[Any] = _without_directives(patch, self.path)
            return whole
        entries = [
            MergedItem(item, identity(item, self.key) if isinstance(item, dict) == objects else None, index)
            for index, item in enumerate(original)
        ]
        for entry in entries if objects else ():
            self._name(entry.value)
        added = self._merge_objects(entries, patch) if objects else _merge_scalars(entries, patch)
        names = [identity(item, self.key) for item in added]
        return arranged(entries, names if order is None else self._checked_order(added, order))

    def _check_items(self, original: list[Any], patch: list[Any]) -> None:
        """Raise MalformedDirective unless all items are objects."""
        if not all(isinstance(item, dict) for item in (*original, *patch)):
            message = f"list element types are not identical: {go_text([original, patch])}"
            raise MalformedDirective(message, path=self.path, code=500)

    def _merge_objects(self, entries: list[MergedItem], patch: list[Any]) -> list[Any]:
        """Merge the patch's items into the entries, or remove them; returns the merged and added ones."""
        if not self.key:
            raise MalformedPatch(f"{self.path}: this list cannot be merged, it has no merge key", path=self.path)
        removed = {self._name(item) for item in patch if _is_deletion(item, self.path)}
        entries[:] = [entry for entry in entries if entry.identity is None or entry.identity not in removed]
        by_identity = {entry.identity: entry for entry in reversed(entries)}
        items = [item for item in patch if not _is_deletion(item, self.path)]
        for item in items:
            name = self._name(item)
            found = by_identity.get(name)
            if found is None:
                by_identity[name] = MergedItem(_without_directives(item, self.path), name, None)
                entries.append(by_identity[name])
            else:
                found.value = _object(found.value, item, self.schema, f"{self.path}[{self.key}={item[self.key]!r:.60}]")
        return items

    def _name(self, item: Any) -> bytes:
        name = identity(item, self.key) if isinstance(item, dict) else None
        if name is None:
            message = f"map: {go_text(item)} does not contain declared merge key: {self.key}"
            raise MalformedDirective(message, path=self.path, code=500)
        return name

    def _checked_order(self, patch: list[Any], order: list[Any]) -> list[bytes | None]:
        names = [identity(item, self.key) for item in patch]
        wanted = [identity(item, self.key) for item in order]
        ranks = {name: rank for rank, name in reversed(list(enumerate(wanted)))}
        given = [ranks.get(name, -1) for name in names]
        if -1 in given or given != sorted(given):
            lists = f"{go_text(patch)}\n doesn't match {SET_ELEMENT_ORDER[:-1]} list:\n{go_text(order)}"
            raise MalformedDirective(f"The order in patch list:\n{lists}\n", path=self.path, code=500)
        return wanted


def _object(original: dict[str, Any], patch: dict[str, Any], schema: MergeSchema | None, path: str) -> dict[str, Any]:
    directive = _directive(patch, path)
    if patch.get(PATCH) == "merge":  # merging is the default of an object, and Kubernetes rejects the directive
        raise _unknown_directive(patch, path)
    if directive == "delete":
        return {}
    if directive == "replace":
        return {key: item for key, item in patch.items() if key != PATCH}  # as it is, with its nulls
    result = _retained(original, patch, path)
    for field in dict.fromkeys(_field_of(key) for key in patch if key not in (PATCH, RETAIN_KEYS)):
        value = _Field(patch, field, schema, f"{path}.{field}").patched(result.get(field, _ABSENT))
        if value is _ABSENT:
            result.pop(field, None)
        else:
            result[field] = value
    return result


@dataclass(frozen=True, slots=True)
class _Field:
    """The directives of a patch for one field."""

    patch: dict[str, Any]
    name: str
    schema: MergeSchema | None
    path: str

    def patched(self, original: Any) -> Any:
        wanted = self.patch.get(self.name, _ABSENT)
        if wanted is None:
            return _ABSENT
        if isinstance(original, dict) and isinstance(wanted, dict) and not self._has("replace"):
            return _object(original, wanted, self._child(), self.path)
        if isinstance(original, list) and (wanted is _ABSENT or isinstance(wanted, list)):
            return self._list(original, wanted)
        if wanted is _ABSENT:
            return original
        if original is _ABSENT and isinstance(wanted, dict) and PATCH in wanted:
            return _ABSENT  # Kubernetes drops a value with a directive that has nothing to merge with
        if _is_deletion(wanted, self.path):
            return {} if isinstance(original, dict) else original
        made = _without_directives(wanted, self.path)
        return self._without_unwanted(made) if isinstance(made, list) else made

    def _list(self, original: list[Any], wanted: Any) -> list[Any]:
        order = self._companion(SET_ELEMENT_ORDER)
        if wanted is not _ABSENT and not self._has("merge"):
            items: list[Any] = wanted  # as it is, with its nulls
        elif wanted is _ABSENT and order is None:
            items = original
        else:
            key = self.schema.merge_key(self.name) if self.schema is not None else ""
            items = ListMerge(key, self._child(), self.path).merged(
                original, [] if wanted is _ABSENT else wanted, order
            )
        return self._without_unwanted(items)

    def _without_unwanted(self, items: list[Any]) -> list[Any]:
        unwanted = {canonical(item) for item in self._companion(DELETE_FROM_PRIMITIVE_LIST) or ()}
        return [item for item in items if canonical(item) not in unwanted] if unwanted else items

    def _companion(self, prefix: str) -> list[Any] | None:
        """The list of a directive that stands beside the field."""
        value = self.patch.get(prefix + self.name)
        if isinstance(value, list) or value is None:
            return value
        if prefix == DELETE_FROM_PRIMITIVE_LIST:
            return None  # kube-apiserver ignores it
        raise MalformedDirective("invalid patch format of setElementOrder list", path=self.path, code=400)

    def _child(self) -> MergeSchema | None:
        return self.schema.child(self.name) if self.schema is not None else None

    def _has(self, strategy: str) -> bool:
        return self.schema is not None and strategy in self.schema.strategy(self.name).split(",")


def _retained(original: dict[str, Any], patch: dict[str, Any], path: str) -> dict[str, Any]:
    """A copy of `original`, with only those keys that `$retainKeys` names, if it is there."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    keys = patch[RETAIN_KEYS]
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise MalformedDirective(_BAD_RETAIN_KEYS, path=path, code=400)
    retained = set(keys)
    for key, value in patch.items():
        if value is not None and not key.startswith("$") and key not in retained:
            raise MalformedDirective(_BAD_RETAIN_KEYS, path=f"{path}.{key}", code=400)
    return {key: value for key, value in original.items() if key in retained}


def _merge_scalars(entries: list[MergedItem], patch: list[Any]) -> list[Any]:
    known = {entry.identity for entry in entries}
    for item in patch:
        name = canonical(item)
        if name not in known:
            known.add(name)
            entries.append(MergedItem(item, name, None))
    return patch


def _without_directives(value: Any, path: str) -> Any:
    """A value of the patch that has nothing to merge with, without directives and nulls."""
    if isinstance(value, dict):
        _directive(value, path)
        return {
            key: _without_directives(item, f"{path}.{key}")
            for key, item in value.items()
            if item is not None and not _is_directive(key) and not _is_deletion(item, f"{path}.{key}")
        }
    if isinstance(value, list):
        return [_without_directives(item, path) for item in value if not (isinstance(item, dict) and PATCH in item)]
    return value


def _directive(patch: dict[str, Any], path: str) -> str:
    """The `$patch` of an object: `replace`, `delete`, or empty."""
    directive = patch.get(PATCH, "merge")
    if directive not in ("replace", "delete", "merge"):
        raise _unknown_directive(patch, path)
    return "" if directive == "merge" else str(directive)


def _unknown_directive(patch: dict[str, Any], path: str) -> MalformedDirective:
    message = f"unknown patch type: {go_text(patch[PATCH])} in map: {go_text(patch)}"
    return MalformedDirective(message, path=path, code=500)


def _is_deletion(item: Any, path: str) -> bool:
    return isinstance(item, dict) and _directive(item, path) == "delete"


def _is_directive(key: str) -> bool:
    return key in (PATCH, RETAIN_KEYS) or key.startswith((SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST))


def _field_of(key: str) -> str:
    return key.removeprefix(SET_ELEMENT_ORDER).removeprefix(DELETE_FROM_PRIMITIVE_LIST)
