from __future__ import annotations

import pytest
from msgspec.structs import replace

import pilotage as pt
from pilotage.cli.run.objects import AppliedObjects
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.manifestfiles import Manifest
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import OwnerReference
from pilotage.schema.generate.crd import crds
from pilotage.types.core.v1 import ConfigMap, Namespace
from tests.schema.apis.database import Database

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


@pytest.mark.virtual_time
async def test_objects_are_applied_to_the_default_namespace_unless_they_name_one() -> None:
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "other"}},
    ]
    async with pt.Cluster.embedded() as cluster:
        objects = AppliedObjects(cluster.client, [Manifest(document, "a.yaml") for document in documents], "default")
        assert not objects.idle(0)
        assert objects.busy(0) == ["not applied yet: 3 objects of -f"]
        await objects.start()
        assert objects.idle(0)
        assert await cluster.client.find(Namespace, "other") is not None
        assert await cluster.client.find(ConfigMap, "a", namespace="default") is not None
        assert await cluster.client.find(ConfigMap, "b", namespace="other") is not None


@pytest.mark.virtual_time
async def test_an_object_may_follow_its_definition() -> None:
    database = {
        "apiVersion": "demo.pilotage.dev/v1alpha1",
        "kind": "Database",
        "metadata": {"name": "main"},
        "spec": {"engine": "postgres"},
    }
    async with pt.Cluster.embedded() as cluster:
        manifests = [Manifest(crds([Database])[0], "a.yaml"), Manifest(database, "a.yaml")]
        await AppliedObjects(cluster.client, manifests, "default").start()
        gvk = GroupVersionKind("demo.pilotage.dev", "v1alpha1", "Database")
        assert await cluster.client.find(gvk, "main", namespace="default") is not None


@pytest.mark.virtual_time
async def test_objects_of_another_storage_are_applied_with_their_owners_of_this_one() -> None:
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="parent", uid="")
    async with pt.Cluster.embedded() as old, pt.Cluster.embedded() as new:
        parent = ConfigMap(metadata=pt.ObjectMeta(name="parent", namespace="default"))
        await old.client.create(parent)
        references = [replace(owner, uid=parent.metadata.uid)]
        await old.client.create(
            ConfigMap(
                metadata=replace(parent.metadata, name="a", resource_version="", uid="", owner_references=references)
            )
        )
        printed = [await old.client.get(CONFIG_MAP, name, namespace="default") for name in ("a", "parent")]
        await AppliedObjects(new.client, [Manifest(each.document, "all.yaml") for each in printed], "default").start()
        child = await new.client.get(ConfigMap, "a", namespace="default")
        live = await new.client.get(ConfigMap, "parent", namespace="default")
        assert [each.uid for each in child.metadata.owner_references] == [live.metadata.uid]
        assert live.metadata.uid != parent.metadata.uid


@pytest.mark.virtual_time
async def test_a_refused_object_is_named_with_its_file() -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "A B"}}
    unknown = {"apiVersion": "nope.dev/v1", "kind": "Nope", "metadata": {"name": "a"}}
    async with pt.Cluster.embedded() as cluster:
        with pytest.raises(CommandError, match=r"objects.yaml: cannot apply ConfigMap A B: .*metadata.name"):
            await AppliedObjects(cluster.client, [Manifest(document, "objects.yaml")], "default").start()
        with pytest.raises(CommandError, match=r"objects.yaml: cannot apply Nope a: "):
            await AppliedObjects(cluster.client, [Manifest(unknown, "objects.yaml")], "default").start()
