"""The owners of the objects of files. Their uids may come from another storage: an owner that is among the objects is
found by its name, and one that does not exist is reported, because the garbage collector would delete the object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pilotage.errors import Forbidden
from pilotage.kit.console.manifestfiles import Manifest
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UidOf = Callable[[GroupVersionKind, str, str], Awaitable[str]]
"""The uid of an object with a kind, a namespace (unused for a cluster-scoped kind) and a name; empty: there is none."""


class FileOwners:
    """Fills in the uids of owners, as they are where the objects are written."""

    def __init__(
        self, manifests: Sequence[Manifest], uid_of: UidOf, warn: Callable[[str], object], *, keeps_missing: bool
    ) -> None:
        """`keeps_missing`: an owner that is neither among the objects nor exists stays in the object, with a warning;
        otherwise the object is written without it."""
        self._uid_of = uid_of
        self._warn = warn
        self._keeps_missing = keeps_missing
        self._named: dict[tuple[str, str, str], list[int]] = {}
        self._manifests = manifests
        if any(map(_owners, manifests)):
            for at, manifest in enumerate(manifests):
                document = manifest.document
                self._named.setdefault(_name(document, document["metadata"].get("name")), []).append(at)

    def ordered(self) -> list[Manifest]:
        """The objects, each after its owners. One whose owners it owns itself comes twice: its owners exist then."""
        if not self._named:
            return list(self._manifests)
        order: list[int] = []
        again: list[int] = []
        done: set[int] = set()
        entered: set[int] = set()
        for first in range(len(self._manifests)):
            path = [first]
            while path:
                at = path[-1]
                entered.add(at)
                missing = [owner for owner in self._owners_among(at) if owner not in done]
                new = [owner for owner in missing if owner not in entered]
                if new and at not in done:
                    path.append(new[0])
                    continue
                if at not in done:
                    order.append(at)
                    done.add(at)
                    again += [at] if missing else []
                path.pop()
        return [self._manifests[at] for at in (*order, *again)]

    async def resolved(self, document: Document) -> Document:
        """The object with the uids of its owners."""
        owners = document["metadata"].get("ownerReferences")
        if not owners or not isinstance(owners, list):
            return document
        kept = [found for owner in owners if (found := await self._resolved(owner, document)) is not None]
        return document | {"metadata": document["metadata"] | {"ownerReferences": kept}}

    async def _resolved(self, owner: Any, document: Document) -> Any:
        """An owner with its uid; None if the object is written without it."""
        if not isinstance(owner, dict) or not all(isinstance(owner.get(key), str) for key in _IDENTITY):
            return owner  # which the server refuses
        among = bool(self._among(owner, document))
        try:
            gvk = GroupVersionKind.of(owner["apiVersion"], owner["kind"])
            uid = await self._uid_of(gvk, document["metadata"].get("namespace") or "", owner["name"])
        except (Forbidden, ValueError):
            return owner
        if uid and (among or not owner.get("uid")):
            return owner | {"uid": uid}
        if uid != owner.get("uid") or not uid:
            return self._missing(owner, document, uid, among=among)
        return owner

    def _missing(self, owner: Document, document: Document, uid: str, *, among: bool) -> Document | None:
        key = "/".join(filter(None, (document["metadata"].get("namespace"), document["metadata"].get("name"))))
        given = f" with the uid {owner['uid']}" if owner.get("uid") else ""
        other = f" (the one of this name has the uid {uid})" if uid else ""
        text = f'{document["kind"]} {key}: its owner {owner["kind"]} "{owner["name"]}"{given} does not exist{other}'
        if among:
            self._warn(f"{text} yet; the object is written without it")
        elif self._keeps_missing and owner.get("uid"):
            self._warn(
                f"{text}; the garbage collector deletes an object none of whose owners exists. Apply the owner with "
                "the object, or remove it from metadata.ownerReferences"
            )
            return owner
        else:
            self._warn(f"{text} and is not in the files; the object is written without it")
        return None

    def _owners_among(self, at: int) -> list[int]:
        """The indexes of the owners of an object that are among the objects."""
        manifest = self._manifests[at]
        return [found for owner in _owners(manifest) for found in self._among(owner, manifest.document)]

    def _among(self, owner: Document, document: Document) -> list[int]:
        """The indexes of an owner, which is in the namespace of the object or in none."""
        namespaces = ("", document["metadata"].get("namespace") or "")
        found = []
        for at in self._named.get(_name(owner, owner.get("name")), ()):
            metadata = self._manifests[at].document["metadata"]
            same = not owner.get("uid") or metadata.get("uid") in (None, "", owner["uid"])
            if same and (metadata.get("namespace") or "") in namespaces:
                found.append(at)
        return found


_IDENTITY = ("apiVersion", "kind", "name")


def _owners(manifest: Manifest) -> list[Document]:
    owners = manifest.document["metadata"].get("ownerReferences")
    return [each for each in owners if isinstance(each, dict)] if isinstance(owners, list) else []


def _name(document: Document, name: Any) -> tuple[str, str, str]:
    """What an object and a reference to it have in common: group, kind and name."""
    group, slash, _ = str(document.get("apiVersion")).partition("/")
    return group if slash else "", str(document.get("kind")), str(name)
