"""Server-side apply: merge a document into the live one, remove what its manager no longer applies, find conflicts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from pilotage.meta import causes
from pilotage.meta.documents import Document, equal
from pilotage.meta.fields import content, elements, sets
from pilotage.meta.fields.compare import FieldChanges, changes
from pilotage.meta.fields.managers import UPDATE, FieldManager, Managers, Owned, union_of
from pilotage.meta.fields.schema import FieldType
from pilotage.meta.fields.sets import FieldSet
from pilotage.meta.fields.tracking import NEVER_OWNED, FieldWriter, released

Convert = Callable[[Document, str], Document | None]
"""A document at another version; None where that version does not exist any more."""
T = TypeVar("T")
Needs: TypeAlias = list[tuple[Document, str]]
"""Documents, and the versions that they are needed at."""
Steps: TypeAlias = Generator[Needs, None, T]
"""A computation that yields the conversions that it needs next: they may be made elsewhere before it goes on."""
TypeAt = Callable[[str], FieldType]
"""The type of the kind at a version that exists."""


class UnconvertibleError(Exception):
    """A document has a field that another version, at which a manager owns something, does not have."""

    def within(self, where: str) -> UnconvertibleError:
        """The same error, with the step that failed."""
        return UnconvertibleError(f"{where}: {self}")


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a kind: their types, and how documents are converted between them."""

    type_at: TypeAt
    convert: Convert
    exists: Callable[[str], bool] = lambda version: True
    ignored: Callable[[str], FieldSet] = lambda version: {}
    """The fields that this resource or subresource ignores in writes, at a version."""

    def changes(self, old: Document, new: Document, version: str) -> FieldChanges | None:
        """The changes between two documents, at a version. Raises UnconvertibleError."""
        before = self.convert(old, version)
        after = self.converted(new, version, "failed to convert new object")
        if before is None or after is None:
            return None
        return changes(self.type_at(version), before, after, self.ignored(version))

    def converted(self, document: Document, version: str, failed: str) -> Document | None:
        try:
            return self.convert(document, version)
        except UnconvertibleError as error:
            raise error.within(failed) from None

    def needs(self, documents: Iterable[Document], managers: Managers) -> Needs:
        """The conversions of documents to the versions at which managers own fields."""
        versions = dict.fromkeys(owned.api_version for owned in managers.values())
        return [need for version in versions for document in documents for need in self.needs_at(document, version)]

    def needs_at(self, document: Document, version: str) -> Needs:
        """The conversion of a document to one version; none if it has that version, or there is no such version."""
        return [(document, version)] if self.exists(version) and document.get("apiVersion") != version else []

    def reconciled(self, managers: Managers, live: Document) -> dict[FieldManager, Owned]:
        """The managers, adapted to the current schemas. Raises UnconvertibleError."""
        result = {}
        for version in {owned.api_version for owned in managers.values()}:
            self.convert(live, version)
        for manager, owned in managers.items():
            if self.exists(owned.api_version):
                fields = content.reconciled(self.type_at(owned.api_version), owned.fields)
                result[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
        return result


class FieldConflict(NamedTuple):
    """A field that another manager owns with another value."""

    manager: FieldManager
    path: tuple[str, ...]

    @property
    def owner(self) -> str:
        """The other manager, as shown in messages."""
        return owner_text(self.manager)


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The outcome of an apply."""

    document: Document
    managers: Mapping[FieldManager, Owned]
    changed: bool
    """The document differs from the live one."""


class ConflictsError(Exception):
    """Other managers own fields that the apply would change."""

    def __init__(self, conflicts: list[FieldConflict]) -> None:
        super().__init__(conflict_message(conflicts))
        self.conflicts = conflicts


def at_once(steps: Steps[T]) -> T:
    """The result of steps whose conversions need no preparation."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


def apply(
    live: Document, config: Document, managers: Managers, writer: FieldWriter, versions: Versions, *, force: bool
) -> Steps[ApplyResult]:
    """Apply `config` to the live document. Raises ConflictsError, unless `force` takes the fields over.

    Raises UnconvertibleError where a manager owns fields at a version to which the document cannot be converted.
    """
    version = writer.api_version
    field_type = versions.type_at(version)
    document: Document = content.merged(field_type, live, config)
    yield versions.needs((live, document), managers)
    managers = versions.reconciled(managers, live)
    fields = sets.without(content.fields_of(field_type, config), versions.ignored(version))
    last = managers.get(writer.manager)
    # The applier owns only what it applies now: pruning keeps what any manager owns, but not what this one left out.
    owners: dict[FieldManager, Owned] = {**managers, writer.manager: Owned(fields, version, last.time if last else "")}
    # Pruned before conflicts are looked for: it removes only what no manager owns, so a removal is never a conflict,
    # and what is compared with the live document is what will be stored.
    if last is not None and last.fields:
        try:
            document = yield from _pruned(document, last, owners, versions, version)
        except UnconvertibleError as error:
            raise error.within("failed to prune fields") from None
        yield versions.needs((document,), managers)
    compared: dict[str, FieldChanges | None] = {}

    def changes_at(at: str) -> FieldChanges | None:
        if at not in compared:
            compared[at] = versions.changes(live, document, at)
        return compared[at]

    conflicts = _conflicts(owners, changes_at, writer.manager)
    if conflicts and not force:
        raise ConflictsError(conflicts)
    # Released last: an owner that had lost its fields would no longer be in conflict. With `force`, they are lost here.
    result = released(owners, changes_at, keep=writer.manager)
    changed = not equal(live, document)
    own = sets.difference(fields, NEVER_OWNED)
    if own:
        result[writer.manager] = Owned(own, version, writer.time if changed else (last.time if last else ""))
    else:
        result.pop(writer.manager, None)
    return ApplyResult(document, result, changed)


def _conflicts(
    owners: Managers, changes_at: Callable[[str], FieldChanges | None], applier: FieldManager
) -> list[FieldConflict]:
    found = []
    for manager, owned in owners.items():
        made = changes_at(owned.api_version) if manager != applier else None
        if made is not None:
            common = sets.intersection(owned.fields, made.written)
            found += [FieldConflict(manager, path) for path in sets.paths(common)]
    return found


def _pruned(merged: Document, last: Owned, owners: Managers, versions: Versions, version: str) -> Steps[Document]:
    """The merged document without what the manager applied the last time and no manager owns now."""
    at_last = versions.converted(merged, last.api_version, "failed to convert merged object to last applied version")
    if at_last is None:
        return merged
    field_type = versions.type_at(last.api_version)
    # With parents as members, everything below them is removed at first; what any manager owns there is put back.
    gone = content.with_named_fields(field_type, last.fields)
    pruned: Document = content.removed(field_type, at_last, gone) or {}
    pruned = yield from _with_owned(at_last, pruned, owners, versions, last.api_version)
    left = content.with_named_fields(field_type, content.fields_of(field_type, pruned))
    whole = content.with_named_fields(field_type, content.fields_of(field_type, at_last))
    # Of what is missing now, only what this manager had applied is removed: fields without an owner, such as defaults,
    # are missing because their parents were removed, and stay if a parent stays.
    result = content.removed(field_type, at_last, sets.intersection(sets.difference(whole, left), gone))
    yield versions.needs_at(result or {}, version)
    converted = versions.convert(result or {}, version)
    return merged if converted is None else converted


def _with_owned(
    merged: Document, pruned: Document, owners: Managers, versions: Versions, first: str
) -> Steps[Document]:
    """The pruned document with what any manager owns, at each version that one of them has."""
    by_version: dict[str, list[Owned]] = {first: []}  # first: fields that conversion may need
    for owned in owners.values():
        by_version.setdefault(owned.api_version, []).append(owned)
    at = first
    for version, owneds in by_version.items():
        yield versions.needs_at(merged, version) + versions.needs_at(pruned, version)
        whole, part = versions.convert(merged, version), versions.convert(pruned, version)
        if whole is None or part is None:
            continue
        field_type = versions.type_at(version)
        all_fields = content.with_named_fields(field_type, content.fields_of(field_type, whole))
        kept = content.with_named_fields(field_type, content.fields_of(field_type, part))
        kept = sets.union(kept, content.with_named_fields(field_type, union_of(owneds)))
        pruned = content.removed(field_type, whole, sets.difference(all_fields, kept)) or {}
        at = version
    if at == first:
        return pruned
    yield versions.needs_at(pruned, first)
    return versions.convert(pruned, first) or pruned


def conflict_message(conflicts: list[FieldConflict]) -> str:
    """The message of a conflict, with the managers in order."""
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: conflict with {conflicts[0].owner}: {elements.shown(conflicts[0].path)}"
    lines: dict[str, list[str]] = {}
    for conflict in sorted(conflicts, key=lambda each: each.manager.rank):
        lines.setdefault(f"conflicts with {conflict.owner}:", []).append(f"- {elements.shown(conflict.path)}")
    text = "\n".join(line for owner, paths in lines.items() for line in (owner, *paths))
    return f"Apply failed with {len(conflicts)} conflicts: {text}"


def owner_text(manager: FieldManager) -> str:
    """A manager as shown in messages: `"kubectl" with subresource "status" using v1`."""
    text = causes.shown(manager.name)
    if manager.subresource:
        text += f" with subresource {causes.shown(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == UPDATE else text


def conflicts_outside(conflicts: list[FieldConflict], allowed: FieldSet) -> list[FieldConflict]:
    """The conflicts about fields that are not in a set."""
    return [conflict for conflict in conflicts if not sets.has(allowed, conflict.path)]
