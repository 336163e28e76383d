"""Owner references: the owners of an object, and its controller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pilotage.errors import PilotageError
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.models import ObjectMeta, OwnerReference


class HasMetadata(Protocol):
    """An object with typed metadata: a Resource, an Unstructured, a PartialObjectMetadata."""

    @property
    def metadata(self) -> ObjectMeta: ...


class Owner(HasMetadata, Protocol):
    """An object with its group, version and kind."""

    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...


class InvalidOwner(PilotageError):
    """The owner cannot own this object: it is in another namespace, or does not exist yet."""


class AlreadyOwned(PilotageError):
    """The object already has another controller, `owner`, so that `refused` cannot be its controller. Nothing was
    changed."""

    def __init__(self, message: str, owner: OwnerReference, refused: OwnerReference) -> None:
        self.owner = owner
        self.refused = refused
        super().__init__(message)


def set_controller_reference(owner: Owner, controlled: HasMetadata, *, block_owner_deletion: bool = True) -> None:
    """Make `owner` the controller of `controlled`, which is then deleted with it.

    With `block_owner_deletion` a foreground deletion of the owner waits for this object. An existing reference to the
    same owner is updated. Raises AlreadyOwned if the object has another controller, and InvalidOwner for an owner in
    another namespace. An owner of the same name with another uid is another owner.
    """
    reference = controller_reference(owner, controlled)
    reference.block_owner_deletion = block_owner_deletion
    add_reference(reference, controlled)


def controller_reference(owner: Owner, controlled: HasMetadata) -> OwnerReference:
    """The reference by which `owner` controls an object. Raises InvalidOwner if it cannot own the object."""
    reference = _reference(owner, controlled)
    reference.controller = reference.block_owner_deletion = True
    return reference


def add_reference(reference: OwnerReference, owned: HasMetadata) -> None:
    """Add a reference to the references of an object; one to the same owner is replaced.

    Raises AlreadyOwned for a controller, if the object has another one.
    """
    existing = controller_of(owned)
    if reference.controller and existing is not None and not _same(existing, reference):
        raise AlreadyOwned(_already_owned(owned, existing, reference), existing, reference)
    _put(reference, owned)


def set_owner_reference(owner: Owner, owned: HasMetadata, *, block_owner_deletion: bool = False) -> None:
    """Add `owner` to the owners of `owned`, not as its controller; an existing reference is updated.

    With `block_owner_deletion` a foreground deletion of the owner waits for this object.
    """
    reference = _reference(owner, owned)
    if block_owner_deletion:
        reference.block_owner_deletion = True
    add_reference(reference, owned)


def remove_owner_reference(owner: Owner, owned: HasMetadata) -> bool:
    """Remove `owner` from the owners of `owned`; False if it was not an owner.

    An owner of the same name with another uid stays. An owner without a uid is compared by group, kind and name.
    """
    references = owned.metadata.owner_references
    kept = [other for other in references if not _refers(other, owner)]
    if len(kept) == len(references):
        return False
    owned.metadata.owner_references = kept
    return True


def has_owner_reference(owned: HasMetadata | Iterable[OwnerReference], owner: Owner) -> bool:
    """Whether `owner`, in any version of its kind, is among the owners of an object, or in a list of references.

    The order of the arguments is controller-runtime's: `has_owner_reference(pod.metadata.owner_references, job)`.
    """
    references = owned if isinstance(owned, Iterable) else owned.metadata.owner_references
    return any(_refers(reference, owner) for reference in references)


def controller_of(owned: HasMetadata | ObjectMeta) -> OwnerReference | None:
    """The reference to the controller, of an object or of its metadata."""
    metadata = owned if isinstance(owned, ObjectMeta) else owned.metadata
    return next((reference for reference in metadata.owner_references if reference.controller), None)


def is_controlled_by(owned: HasMetadata | ObjectMeta, owner: HasMetadata) -> bool:
    """Whether this object is the controller, compared by its uid."""
    reference = controller_of(owned)
    return reference is not None and bool(reference.uid) and reference.uid == owner.metadata.uid


def _reference(owner: Owner, owned: HasMetadata) -> OwnerReference:
    there, here = owner.metadata.namespace, owned.metadata.namespace
    if there and not here:
        raise InvalidOwner(_without_namespace(owner, owned))
    if there and there != here:
        raise InvalidOwner(
            f"cross-namespace owner references are disallowed, owner's namespace {there}, obj's namespace {here}"
        )
    if not owner.metadata.uid:
        raise InvalidOwner(f"{owner.kind} {owner.metadata.name!r} has no uid: create it, or read it, before it can own")
    return OwnerReference(
        api_version=owner.api_version, kind=owner.kind, name=owner.metadata.name, uid=owner.metadata.uid
    )


def _without_namespace(owner: Owner, owned: HasMetadata) -> str:
    """The message for an owner in a namespace and an object in none: it is cluster-scoped, or not complete yet."""
    kind, name, namespace = getattr(owned, "kind", "object"), owned.metadata.name, owner.metadata.namespace
    subject = f"{owner.kind} {namespace}/{owner.metadata.name} cannot own {kind} {name}"
    complete = f'set metadata.namespace of the {kind} to "{namespace}", the namespace of its owner'
    info = getattr(owned, "__resource__", None)
    if info is None:
        return f"{subject}, which has no namespace: {complete}; if {kind} is cluster-scoped, so must its owner be"
    if info.namespaced:
        return f"{subject}, which has no namespace yet: {complete}"
    return f"{subject}: a cluster-scoped resource must not have a namespace-scoped owner; use a cluster-scoped owner"


def _put(reference: OwnerReference, owned: HasMetadata) -> None:
    references = owned.metadata.owner_references
    for index, other in enumerate(references):
        if _same(other, reference):
            references[index] = reference
            return
    references.append(reference)


def _refers(reference: OwnerReference, owner: Owner) -> bool:
    metadata = owner.metadata
    wanted = OwnerReference(api_version=owner.api_version, kind=owner.kind, name=metadata.name, uid=metadata.uid)
    return _same(reference, wanted) if metadata.uid else is_namesake(reference, wanted)


def _same(one: OwnerReference, other: OwnerReference) -> bool:
    """The version of the kind may change; the uid changes when the owner is deleted and created again."""
    return one.uid == other.uid and is_namesake(one, other)


def is_namesake(one: OwnerReference, other: OwnerReference) -> bool:
    """Whether two references name owners of the same group, kind and name, which may have different uids."""
    return (_group(one), one.kind, one.name) == (_group(other), other.kind, other.name)


def _already_owned(owned: HasMetadata, owner: OwnerReference, refused: OwnerReference) -> str:
    name = f"{owned.metadata.namespace}/{owned.metadata.name}"
    owners = f"{owner.kind} controller {owner.name} (uid {owner.uid}), not by {refused.name} (uid {refused.uid})"
    message = f"object {name} is already owned by another {owners}"
    if not is_namesake(owner, refused):
        return message
    return (
        f"{message}: one of them was deleted and another one was created under its name; read the owner again, or wait "
        "until the garbage collector has deleted the object of the old one"
    )


def _group(reference: OwnerReference) -> str:
    try:
        return GroupVersion.parse(reference.api_version).group
    except ValueError:
        return reference.api_version
