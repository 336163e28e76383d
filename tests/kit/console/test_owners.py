"""Owners of objects in files: which objects come first, which uids they get, and what is reported."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import Forbidden
from pilotage.kit.console.manifestfiles import Manifest
from pilotage.kit.console.owners import FileOwners
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind


def manifest(name: str, *owners: str, uid: str = "", **owner_fields: str) -> Manifest:
    """A ConfigMap with ConfigMaps as owners, whose uids in the file are `old-NAME`."""
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": f"old-{owner}"} | owner_fields
        for owner in owners
    ]
    metadata: Document = {"name": name, "namespace": "default", "uid": uid or f"old-{name}"}
    metadata |= {"ownerReferences": references} if references else {}
    return Manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, "objects.yaml")


class Objects:
    """The objects that exist, with their uids."""

    def __init__(self, **uids: str) -> None:
        self.uids = uids
        self.warnings: list[str] = []

    async def uid_of(self, gvk: GroupVersionKind, namespace: str, name: str) -> str:
        return self.uids.get(name, "")

    def owners(self, *manifests: Manifest, keeps_missing: bool = True) -> FileOwners:
        return FileOwners(manifests, self.uid_of, self.warnings.append, keeps_missing=keeps_missing)


def names(manifests: list[Manifest]) -> list[str]:
    return [each.document["metadata"]["name"] for each in manifests]


def uids(document: Document) -> list[Any]:
    return [owner.get("uid") for owner in document["metadata"]["ownerReferences"]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([manifest("a"), manifest("b")], "a b"),
        ([manifest("a", "b"), manifest("c"), manifest("b")], "b a c"),
        ([manifest("a", "b"), manifest("b", "c", "d"), manifest("c"), manifest("d")], "c d b a"),
        ([manifest("a", "b"), manifest("b", "a")], "b a b"),  # a cycle: b gets its owner when a exists
        ([manifest("a", "a")], "a a"),
        ([manifest("a", "elsewhere")], "a"),
        ([manifest("a", "b"), manifest("b", uid="another")], "a b"),  # another object of the same name
    ],
)
def test_owners_come_before_their_dependents(given: list[Manifest], expected: str) -> None:
    assert " ".join(names(Objects().owners(*given).ordered())) == expected


def test_a_long_chain_of_owners_is_ordered() -> None:
    chain = [manifest(f"n{number}", f"n{number + 1}") for number in range(5_000)]
    assert names(Objects().owners(*chain).ordered())[:2] == ["n4999", "n4998"]


async def test_an_owner_of_the_file_gets_the_uid_that_it_has_now() -> None:
    objects = Objects(a="new-a")
    child = manifest("b", "a")
    assert uids(await objects.owners(manifest("a"), child).resolved(child.document)) == ["new-a"]
    by_name = manifest("b", "a", uid="")
    del by_name.document["metadata"]["ownerReferences"][0]["uid"]
    assert uids(await objects.owners(by_name).resolved(by_name.document)) == ["new-a"]
    assert objects.warnings == []


async def test_an_owner_that_exists_elsewhere_is_unchanged() -> None:
    objects = Objects(a="old-a")
    child = manifest("b", "a")
    assert await objects.owners(child).resolved(child.document) == child.document
    assert objects.warnings == []


@pytest.mark.parametrize("live", ["", "new-a"])
async def test_an_owner_that_does_not_exist_is_reported(live: str) -> None:
    objects = Objects(a=live)
    child = manifest("b", "a")
    assert await objects.owners(child).resolved(child.document) == child.document
    assert 'ConfigMap default/b: its owner ConfigMap "a" with the uid old-a does not exist' in objects.warnings[0]
    assert "the garbage collector deletes" in objects.warnings[0]
    assert ("(the one of this name has the uid new-a)" in objects.warnings[0]) == bool(live)
    assert uids(await objects.owners(child, keeps_missing=False).resolved(child.document)) == []
    assert "the object is written without it" in objects.warnings[1]


async def test_an_owner_of_the_file_that_was_not_written_is_left_out() -> None:
    objects = Objects()
    child = manifest("b", "a")
    assert uids(await objects.owners(manifest("a"), child).resolved(child.document)) == []
    assert "does not exist yet" in objects.warnings[0]


async def test_an_owner_that_may_not_be_read_is_not_reported() -> None:
    async def forbidden(*_: object) -> str:
        raise Forbidden("you may not get configmaps")

    warnings: list[str] = []
    child = manifest("b", "a")
    owners = FileOwners([child], forbidden, warnings.append, keeps_missing=True)
    assert await owners.resolved(child.document) == child.document
    assert warnings == []
