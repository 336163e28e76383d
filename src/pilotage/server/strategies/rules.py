"""The settings of a resource: values that the steps of a request read. What it does beyond them is its strategy.

They are known without the strategy, so that a program that touches three kinds imports the strategies of three, and a
command that reads stored bytes imports none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pilotage.meta.values import Value
from pilotage.rest.request import PatchType

if TYPE_CHECKING:
    from pilotage.meta.documents import Document
    from pilotage.meta.validation.names import NameForm
    from pilotage.server.strategies.scaling import ScalePaths

MOST_METADATA = ("deletionTimestamp", "selfLink", "labels", "annotations", "finalizers", "ownerReferences")
"""Metadata fields that most newer kinds keep when their status is written."""


class DeletionRules(NamedTuple):
    """The rules of a deletion. The defaults are right for most kinds."""

    returns_object: bool = False
    """The answer is the deleted object; else it is a Status."""
    has_dependents: bool = True
    """Propagation policies apply."""
    policy: str = "Background"
    """The propagation policy where neither the request nor the object has one."""
    collecting_policy: str = "Background"
    """The propagation policy for `orphanDependents: false`."""
    warning: str = ""
    """The warning about a deletion whose request has no propagation policy."""


class Checks(NamedTuple):
    """How often a kind checks metadata again, in an update.

    Kubernetes checks it in the part that all kinds share, and most kinds check it again: the changes (what is
    immutable), the whole, or both. An error lists a cause as often as it was found.
    """

    changes: int = 1
    whole: int = 0


class MetadataChecks(NamedTuple):
    """The checks in an update of an object, and in one of its status."""

    update: Checks = Checks()
    status: Checks = Checks()


UNCHECKED = Checks(0, 0)
"""For a kind without further checks of its metadata."""
ONCE = MetadataChecks()
BOTH = MetadataChecks(Checks(1, 1))
WHOLE = MetadataChecks(Checks(0, 1))
NONE = MetadataChecks(UNCHECKED, UNCHECKED)


class Rules(Value, frozen=True, kw_only=True, eq=False):
    """The settings of a resource. The defaults are right for a built-in one with no rules of its own."""

    name_form: NameForm = "subdomain"
    generate_name_checked: bool = True
    """`generateName` must have the form of a name, too."""
    generation: bool = False
    """Objects have `metadata.generation`, which counts changes outside metadata and status."""
    unconditional_update: bool = True
    """An update may leave the resource version out."""
    create_on_update: bool = False
    """An update of an object that does not exist creates it."""
    selectable_fields: Mapping[str, tuple[str, ...]] = {}
    """Field selectors besides name and namespace: from a field's name to its path in the stored form."""
    unselectable: str = "field label not supported: {}"
    """The message about a field selector that the kind does not have."""
    metadata_checks: MetadataChecks = ONCE
    """How often an update checks metadata."""
    scale: ScalePaths | None = None
    """The paths of the scale subresource in objects, if they have one."""
    subresources: tuple[str, ...] = ()
    """Those that are served: `status`, `finalize`, and others that a kind has alone."""
    families: tuple[str, ...] = ("IPv4",)
    """The families of the cluster's addresses, of kinds that have such."""
    deletion: DeletionRules = DeletionRules()
    ignored: Mapping[str, tuple[tuple[str, ...], ...]] = {}
    """The paths of fields that a write of a subresource ignores, or one of the object (empty), by its name: where they
    are not the paths of all kinds."""
    without_table: tuple[str, ...] = ()
    """Subresources that are not printed as Tables."""
    bookmark: Mapping[str, Any] = {}
    """What the empty object in a bookmark has besides the fields that Go never omits."""
    kept_by_status: tuple[str, ...] | None = ()
    """The fields of metadata that a write of the status cannot change; None: all."""
    gated: tuple[tuple[str, ...], ...] = ()
    """The paths of fields whose feature is off in the release."""
    patch_types: tuple[PatchType, ...] = tuple(PatchType)
    merge_schema: Document | None = None
    """The OpenAPI schema for strategic merge patches, if it is not the schema of the built-in kind."""
    immutable: tuple[str, ...] = ()
    """The paths of fields that an update cannot change."""
    qualified_finalizers: bool = True
    """Finalizers must be standard ones or have a domain."""
    uid_precondition: bool = True
    """An update with another uid is a conflict. If false, it is invalid, as an immutable field."""
    grace_period: bool = True
    """A deletion sets a grace period, and counts as a change of the generation."""
    written_lists: tuple[tuple[str, ...], ...] = ()
    """The paths of lists that have an owner even if they are empty, and are then stored as null."""
    managed_fields: bool = True
    """Whether new objects get managed fields."""
    decorated: bool = False
    """Clients do not see all that is stored."""
    hidden_annotations: tuple[str, ...] = ()
    """Annotations that stand for fields of another version: the metadata alone does not have them."""
    protected_names: tuple[str, ...] = ()
    """Objects that cannot be deleted, except with all others of their kind."""
    protection: str = ""
    """Why they cannot; if it is empty, it is the admission plugin NamespaceLifecycle that protects them."""
    names_resources: bool = False
    """Objects name resources, so a commit includes the claim of their names."""
    allocates: bool = False
    """Objects get addresses and ports when they are stored, so a commit includes the claim of them."""
    confidential: bool = False
    """Objects are encrypted where the storage has keys."""
    lifetime: int = 0
    """Seconds after its last write that an object is kept; 0: until it is deleted."""
    weight: int = 1
    """The processing time of one byte, relative to other kinds."""


def paths(*names: str, **renamed: str) -> Mapping[str, tuple[str, ...]]:
    """Selectable fields: their names are their paths, except for some old names."""
    return {name: tuple(path.split(".")) for name, path in ({name: name for name in names} | renamed).items()}


def clamped(seconds: int) -> int:
    """A negative grace period counts as one second."""
    return seconds if seconds >= 0 else 1
