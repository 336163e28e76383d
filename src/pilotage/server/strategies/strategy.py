"""The strategy of a resource: the behaviour of its writes. Functions over documents, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pilotage.errors import Cause
from pilotage.meta.documents import Document, same
from pilotage.meta.paths import mapping, value_at
from pilotage.rest.request import User
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.rules import Rules

NO_RULES = Rules()


class Strategy:
    """What a resource does in a write, by its rules. This class is for a built-in one with no behaviour of its own.

    Documents of built-in kinds come in the internal form of `codec`, the old object too: types are right, there
    are no nulls and no empty values (except behind pointers, as `replicas: 0`), structures that are never absent exist.
    Empty fields that are always written are filled in when the object is stored.

    A write calls, in this order, `default`, `prepare_for_create` or one of `prepare_for_update`, `validate` or
    `validate_update`, `canonicalize`, `warnings`. They may change the document that they are given, never the old one.
    """

    def __init__(self, rules: Rules = NO_RULES) -> None:
        self.rules = rules

    def damages(self, document: Document) -> Iterable[Cause]:
        """What keeps the server from acting upon a stored object, of kinds whose immutable fields it acts upon: an
        update does not check these."""
        return ()

    def default(self, document: Document) -> None:
        """Set what the server fills in beside the defaults of the kind (`codec.defaults`), in place."""

    def set_requester(self, document: Document, user: User) -> None:
        """Record the user that creates an object, in place, for kinds that have such a field."""

    def prepare_for_create(self, document: Document) -> None:
        """Set the fields of a new object that only the server sets, in place."""
        self.drop_gated(document, {})
        if "status" in self.rules.subresources:
            document.pop("status", None)
        if self.rules.generation:
            document["metadata"]["generation"] = 1

    def prepare_for_update(self, document: Document, old: Document) -> None:
        """Keep the fields that an update cannot change, in place."""
        self.drop_gated(document, old)
        if "status" in self.rules.subresources:
            copy_field(document, old, "status")
        if self.rules.generation and self._is_new_generation(document, old):
            document["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        """The next state of `old` when its status is written; of many built-in kinds also the metadata."""
        self.drop_gated(document, old)
        metadata = dict(old["metadata"] if self.rules.kept_by_status is None else document["metadata"])
        for key in self.rules.kept_by_status or ():
            copy_field(metadata, old["metadata"], key)
        result = old | {"metadata": metadata}
        copy_field(result, document, "status")
        return result

    def drop_gated(self, document: Document, old: Document) -> None:
        """Drop fields whose feature is off in the release, in place, unless the object has them already."""
        for *parents, name in self.rules.gated:
            holder, was = document, old
            for parent in parents:
                holder, was = mapping(holder.get(parent)), mapping(was.get(parent))
            if name not in was:
                holder.pop(name, None)

    def stamp_status(self, document: Document, old: Document, now: str) -> None:
        """Set times in the new status of a write, in place."""

    def stamp_update(self, document: Document, old: Document, now: str) -> None:
        """Set times in the new object of an update, in place."""

    def prepare_for_finalize_update(self, document: Document, old: Document) -> Document:
        """The next state of `old` when the finalizers in its spec are written, and its metadata with them."""
        spec = document.get("spec") or {}
        return old | {"metadata": document["metadata"], "spec": {key: value for key, value in spec.items() if value}}

    def prepare_for_subresource_update(self, subresource: str, document: Document, old: Document) -> Document:
        """The next state of `old` when a subresource besides `status` and `finalize` is written.

        A scale is written as the object that has it.
        """
        if subresource != "scale":
            raise NotImplementedError(subresource)
        self.prepare_for_update(document, old)
        return document

    def prepare_for_delete(self, document: Document, now: str) -> None:
        """Set the fields that the kind adds to an object that is being deleted, in place."""

    def validate(self, document: Document) -> Iterable[Cause]:
        """What is wrong with a new object, besides metadata and schema."""
        return ()

    def validate_update(self, document: Document, old: Document) -> Iterable[Cause]:
        """What is wrong with the next state of an object, besides metadata and schema."""
        yield from self.validate(document)
        yield from self.validate_changes(document, old)

    def validate_changes(self, document: Document, old: Document) -> Iterable[Cause]:
        """What an update may not change."""
        for path in self.rules.immutable:
            yield from fields.immutable(value_at(document, path.split(".")), value_at(old, path.split(".")), path)

    def validate_status_update(self, document: Document, old: Document) -> Iterable[Cause]:
        """What is wrong with the next state of an object whose status is written, besides metadata and schema."""
        return ()

    def validate_finalize_update(self, document: Document, old: Document) -> Iterable[Cause]:
        """What is wrong with the next state of an object whose finalizers in the spec are written."""
        return ()

    def validate_subresource_update(self, subresource: str, document: Document, old: Document) -> Iterable[Cause]:
        """What is wrong with the next state of an object of which another subresource is written."""
        return self.validate_update(document, old) if subresource == "scale" else ()

    def privileges(self, document: Document, old: Document | None) -> tuple[str, list[Cause]]:
        """What is wrong with the next state of an object unless its namespace has a label that is `true`."""
        return "", []

    def canonicalize(self, document: Document) -> None:
        """Bring a valid object into its stored form, in place."""

    def stored_again(self, document: Document) -> bool:
        """Whether the first write after the create of an object stores it, even if nothing changes."""
        return False

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        """Warnings about a valid object."""
        return []

    def status_warnings(self, document: Document) -> list[str]:
        """Warnings about a valid object whose status is written."""
        return []

    def convert(self, document: Document) -> Document:
        """An object of another version of the same resource, with the field names of this one."""
        return document

    def decorate(self, data: bytes) -> bytes:
        """The bytes of an object for clients, if `decorated` is set."""
        return data

    def grace_seconds(self, document: Document, requested: int | None) -> int | None:
        """How long an object stays when its deletion is requested; None if the kind has no graceful deletion."""
        return None

    def blocks_removal(self, document: Document) -> bool:
        """Whether an object without finalizers still waits for something before it is removed."""
        return False

    def _is_new_generation(self, document: Document, old: Document) -> bool:
        ignored = ("metadata", "status") if "status" in self.rules.subresources else ("metadata",)
        new = {key: value for key, value in document.items() if key not in ignored}
        return not same(new, {key: value for key, value in old.items() if key not in ignored})


def copy_field(target: Document, source: Document, key: str) -> None:
    """Copy a field from the source to the target; remove it if the source does not have it."""
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


class KindStrategy(NamedTuple):
    """The rules of a kind, and what makes its strategy of them when it is first needed."""

    rules: Rules = NO_RULES
    make: Callable[[Rules], Strategy] = Strategy
