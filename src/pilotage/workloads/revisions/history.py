"""Decides about the revisions of an object: their order, which one is the current one, which are deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from pilotage.meta.models import ObjectMeta
from pilotage.meta.owners import set_controller_reference
from pilotage.types.apps.v1 import ControllerRevision
from pilotage.workloads.revisions.data import Owner, defaulted_data, revision_hash, revision_name, stored_data

HASH_LABEL = "controller.kubernetes.io/hash"


def in_order(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    """By their numbers; of equal ones, the older and then the first by name comes first."""

    def key(revision: ControllerRevision) -> tuple[int, float, str]:
        meta = revision.metadata
        created = meta.creation_timestamp.timestamp() if meta.creation_timestamp is not None else 0.0
        return revision.revision, created, meta.name

    return sorted(revisions, key=key)


def next_number(revisions: Sequence[ControllerRevision]) -> int:
    """The number of a revision after these, which are in order."""
    return revisions[-1].revision + 1 if revisions else 1


def equal_to(revisions: Iterable[ControllerRevision], data: bytes) -> list[ControllerRevision]:
    """The revisions with this data, in their order."""
    return [revision for revision in revisions if stored_data(revision) == data]


class Found(NamedTuple):
    """The revision that stores a template already."""

    revision: ControllerRevision
    is_newest: bool
    """Else it is one that was rolled back to, and gets a new number."""


def stored_as(revisions: Sequence[ControllerRevision], data: bytes) -> Found | None:
    """The revision with this data, of revisions in order; None where a new one is needed.

    The newest one counts also if an older release has written it, in another form.
    """
    equal = equal_to(revisions, data)
    if equal:
        return Found(equal[-1], equal[-1] is revisions[-1])
    if revisions and defaulted_data(revisions[-1]) == data:
        return Found(revisions[-1], is_newest=True)
    return None


def new_revision(owner: Owner, data: bytes, number: int, collision_count: int | None) -> ControllerRevision:
    """A revision of `owner`, with the labels of its template and its annotations."""
    hashed = revision_hash(data, collision_count)
    return made_revision(owner, revision_name(owner.metadata.name, hashed), {HASH_LABEL: hashed}, data, number)


def made_revision(owner: Owner, name: str, labels: Mapping[str, str], data: bytes, number: int) -> ControllerRevision:
    """A revision with this name, and with these labels beside those of the template."""
    template = owner.spec.template.metadata
    metadata = ObjectMeta(
        name=name,
        namespace=owner.metadata.namespace,
        labels={**(template.labels if template is not None else {}), **labels},
        annotations=dict(owner.metadata.annotations),
    )
    revision = ControllerRevision(metadata=metadata, revision=number, data=msgspec.json.decode(data))
    set_controller_reference(owner, revision)
    return revision


def excess(
    revisions: Sequence[ControllerRevision], live: Collection[str], limit: int | None
) -> Sequence[ControllerRevision]:
    """The oldest revisions, when more than `limit` are not live (by name). A negative limit keeps all."""
    old = [revision for revision in revisions if revision.metadata.name not in live]
    if limit is None or limit < 0 or len(old) <= limit:
        return []
    return old[: len(old) - limit]
