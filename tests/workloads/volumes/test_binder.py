"""One step of a claim or of a volume: the tables of Kubernetes' `binder_test.go` and `pv_controller_test.go` in 1.36.

`binder.json` has their rows: the objects before, what is looked at, and the objects and the Events after it.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

from pilotage.client.client import Client
from pilotage.cluster.events import EventRecorder
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.quantity import Quantity
from pilotage.types.core.v1 import (
    HostPathVolumeSource,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    VolumeResourceRequirements,
)
from pilotage.types.meta.v1 import LabelSelector
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.volumes.binder import Binder, InvalidBinding
from pilotage.workloads.volumes.matching import claim_key
from pilotage.workloads.volumes.users import Users

NAMESPACE = "default"
MODES = ["ReadWriteOnce", "ReadOnlyMany"]
Row = dict[str, Any]
TABLES: dict[str, list[Row]] = json.loads((Path(__file__).parent / "binder.json").read_text())


def volume(row: Row) -> PersistentVolume:
    reference = None
    if "claim" in row:
        reference = ObjectReference(namespace=NAMESPACE, name=row["claim"], uid=row.get("uid"))
    return PersistentVolume(
        metadata=ObjectMeta(
            name=row["name"], labels=row.get("labels", {}), annotations=dict(row.get("annotations", {}))
        ),
        spec=PersistentVolumeSpec(
            access_modes=list(MODES),
            capacity={"storage": Quantity(row["size"])},
            claim_ref=reference,
            persistent_volume_reclaim_policy=row.get("policy", "Retain"),
            storage_class_name=row.get("class"),
            volume_attributes_class_name=row.get("attributes"),
            volume_mode=row.get("mode"),
        ),
        status=PersistentVolumeStatus(phase=row.get("phase"), message=row.get("message")),
    )


def claim(row: Row) -> PersistentVolumeClaim:
    phase, access = row.get("phase", "Pending"), row.get("access", MODES)
    capacity = {"storage": Quantity(row["capacity"])} if "capacity" in row else {}
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=row["name"], namespace=NAMESPACE, uid=row["uid"], annotations=dict(row.get("annotations", {}))
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=list(access),
            resources=VolumeResourceRequirements(requests={"storage": Quantity(row["size"])}),
            selector=LabelSelector(match_labels=row["selector"]) if "selector" in row else None,
            storage_class_name=row.get("class"),
            volume_attributes_class_name=row.get("attributes"),
            volume_mode=row.get("mode"),
            volume_name=row.get("volume"),
        ),
        status=PersistentVolumeClaimStatus(
            phase=phase,
            access_modes=list(access) if phase == "Bound" else [],
            capacity=capacity if phase == "Bound" else {},
            current_volume_attributes_class_name=row.get("currentAttributes"),
        ),
    )


class Server:
    """As much of a client as the binder needs: it reads copies, and writes all that it is given."""

    def __init__(self, *objects: PersistentVolume | PersistentVolumeClaim | StorageClass) -> None:
        self.objects: dict[tuple[type, str], Any] = {(type(obj), obj.metadata.name): obj for obj in objects}
        self.events: list[str] = []

    def all(self, kind: type) -> list[Any]:
        return [obj for (each, _), obj in self.objects.items() if each is kind]

    @property
    def api_reader(self) -> Server:
        return self

    async def find(self, kind: type, name: str, namespace: str = "") -> Any:
        return deepcopy(self.objects.get((kind, name)))

    async def list(self, kind: type, fields: dict[str, str] | None = None) -> list[Any]:
        found = [deepcopy(obj) for (each, _), obj in self.objects.items() if each is kind]
        return [obj for obj in found if fields is None or claim_key(obj) == fields["claim"]]

    async def update(self, obj: Any) -> None:
        status = self.objects[type(obj), obj.metadata.name].status
        self.objects[type(obj), obj.metadata.name] = deepcopy(obj)
        self.objects[type(obj), obj.metadata.name].status = status

    async def update_status(self, obj: Any) -> None:
        self.objects[type(obj), obj.metadata.name].status = deepcopy(obj.status)

    async def delete(self, obj: Any, uid: str = "") -> None:
        del self.objects[type(obj), obj.metadata.name]

    def event(self, obj: Any, kind: str, reason: str, message: str) -> None:
        self.events.append(f"{kind} {reason}")


class NoUsers:
    async def unscheduled(self, obj: PersistentVolumeClaim) -> list[Any]:
        return []


def storage_class(name: str, mode: str = "Immediate", *, default: bool = False) -> StorageClass:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return StorageClass(
        metadata=ObjectMeta(name=name, annotations=annotations),
        provisioner="kubernetes.io/no-provisioner",
        volume_binding_mode=mode,
    )


def binder(server: Server) -> Binder:
    return Binder(cast(Client, server), cast(EventRecorder, server), cast(Users, NoUsers()))


def plain(volumes: list[PersistentVolume]) -> list[PersistentVolume]:
    """Without the parts of a reference that the tables leave out."""
    for each in volumes:
        if each.spec is not None and each.spec.claim_ref is not None:
            reference = each.spec.claim_ref
            reference.kind = reference.api_version = reference.resource_version = None
            reference.uid = reference.uid or None
    return volumes


async def check(row: Row, *classes: StorageClass) -> None:
    """Take the step of a row, and compare what there is after it."""
    server = Server(*map(volume, row["volumes"]), *map(claim, row["claims"]), *classes)
    made = binder(server)
    with pytest.raises(InvalidBinding) if row.get("error") else nullcontext():
        if row["sync"] == "claim":
            await made.sync_claim(claim(row["claims"][0]))
        else:
            await made.sync_volume(volume(row["volumes"][0]))
    assert plain(server.all(PersistentVolume)) == list(map(volume, row["volumesAfter"]))
    assert server.all(PersistentVolumeClaim) == list(map(claim, row["claimsAfter"]))
    assert set(row["events"]) <= set(server.events)


def rows(table: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", TABLES[table], ids=lambda row: row["name"])


@rows("TestSync")
async def test_sync(row: Row) -> None:
    await check(row, storage_class("wait", "WaitForFirstConsumer"))


@rows("TestSyncBlockVolume")
async def test_sync_block_volume(row: Row) -> None:
    await check(row)


@rows("TestRetroactiveStorageClassAssignment")
async def test_retroactive_storage_class_assignment(row: Row) -> None:
    number = row["name"].split(" ", 1)[0]
    gold, silver = storage_class("gold", default=True), storage_class("silver", default=number == "15-2")
    await check(row, *(() if number == "15-1" else (gold, silver, storage_class("copper"))))


async def test_volume_bound_to_missing_claim() -> None:
    """4-10: the deletion is tried, and fails because nothing can delete such a volume."""
    server = Server(
        volume({"name": "volume4-10", "size": "10Gi", "claim": "claim4-10", "uid": "uid4-10", "policy": "Delete"})
    )
    await binder(server).sync_volume(server.all(PersistentVolume)[0])
    status = server.all(PersistentVolume)[0].status
    text = 'error getting deleter volume plugin for volume "volume4-10": no deletable volume plugin matched'
    assert (status.phase, status.message, server.events) == ("Failed", text, ["Warning VolumeFailedDelete"])


async def test_a_released_directory_below_tmp_is_deleted() -> None:
    released = volume({"name": "a", "size": "1Gi", "claim": "gone", "uid": "1", "policy": "Delete"})
    assert released.spec is not None
    released.spec.host_path = HostPathVolumeSource(path="/tmp/a")
    server = Server(released)
    await binder(server).sync_volume(deepcopy(released))
    assert server.objects == {}


async def test_a_volume_that_asks_for_recycling_fails() -> None:
    server = Server(volume({"name": "a", "size": "1Gi", "claim": "gone", "uid": "1", "policy": "Recycle"}))
    await binder(server).sync_volume(server.all(PersistentVolume)[0])
    assert server.all(PersistentVolume)[0].status.phase == "Failed"
    assert server.events == ["Warning VolumeFailedRecycle"]


async def test_a_capacity_before_a_resize_is_the_one_of_the_file_system() -> None:
    """5-2-3: the volume is larger than its file system."""
    resized = volume({"name": "a", "size": "2Gi", "phase": "Available"})
    resized.metadata.annotations["volume.alpha.kubernetes.io/pre-resize-capacity"] = "1Gi"
    wanted = claim({"name": "data", "uid": "1", "size": "2Gi"})
    server = Server(resized, wanted)
    await binder(server).sync_claim(deepcopy(wanted))
    assert server.all(PersistentVolumeClaim)[0].status.capacity == {"storage": Quantity("1Gi")}
