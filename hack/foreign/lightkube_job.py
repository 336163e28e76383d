"""lightkube: typed and generic resources, patches, server-side apply, status, watch."""

import sys

from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace
from lightkube.types import PatchType
from report import definition, deployment, show, until_served

GROUP, NAMESPACE = "lightkube.example.com", sys.argv[2]
Tank = create_namespaced_resource(GROUP, "v1", "Tank", "tanks")


def main():
    client = Client(KubeConfig.from_file(sys.argv[1]), namespace=NAMESPACE, field_manager="lightkube")
    client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
    typed(client)
    applied(client)
    client.create(CustomResourceDefinition.from_dict(definition(GROUP, "Tank")))
    client.wait(CustomResourceDefinition, f"tanks.{GROUP}", for_conditions=["Established"])
    until_served(lambda: list(client.list(Tank)), ApiError, lambda error: error.status.code)
    generic(client)
    client.delete(CustomResourceDefinition, f"tanks.{GROUP}")


def refused(label, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ApiError as error:
        show(label, [error.status.code, error.status.reason, error.status.message])
    else:
        show(label, "not refused")


def typed(client):
    settings = ConfigMap(metadata=ObjectMeta(name="settings", labels={"part": "one"}), data={"colour": "blue"})
    show("created", client.create(settings).to_dict())
    patched = client.patch(ConfigMap, "settings", {"data": {"colour": None, "size": "2"}}, patch_type=PatchType.MERGE)
    show("patched", patched.to_dict())
    patched.data["size"] = "3"
    show("replaced", client.replace(patched).to_dict())
    refused("stale", client.replace, patched)
    client.create(Deployment.from_dict(deployment("web")))
    scaled = client.patch(Deployment.Scale, "web", {"spec": {"replicas": 3}}, patch_type=PatchType.MERGE)
    show("scaled", [scaled.to_dict(), client.get(Deployment, "web").spec.replicas])
    show("listed", [item.metadata.name for item in client.list(ConfigMap, labels={"part": "one"})])


def applied(client):
    one = ConfigMap.from_dict({"metadata": {"name": "applied"}, "data": {"a": "1", "b": "2"}})
    one.apiVersion, one.kind = "v1", "ConfigMap"
    show("applied", client.apply(one, field_manager="one").to_dict())
    two = ConfigMap.from_dict({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}})
    two.data = {"b": "3"}
    refused("conflict", client.apply, two, field_manager="two")
    show("forced", client.apply(two, field_manager="two", force=True).to_dict())
    one.data = {}
    show("omitted", client.apply(one, field_manager="one").to_dict())


def generic(client):
    tank = Tank(metadata={"name": "a", "finalizers": [f"{GROUP}/drain"]}, spec={"size": 2})
    show("tank", client.create(tank).to_dict())
    refused("a bad tank", client.create, Tank(metadata={"name": "bad"}, spec={"size": 20}))
    status = {"status": {"level": 7}}
    show("status", client.patch(Tank.Status, "a", status, patch_type=PatchType.MERGE).to_dict())
    kind = {"apiVersion": f"{GROUP}/v1", "kind": "Tank"}
    body = Tank.from_dict(kind | {"metadata": {"name": "a"}, "spec": {"ports": [{"name": "http", "port": 80}]}})
    show("applied", client.apply(body, field_manager="ports").to_dict())
    for event, item in client.watch(Tank):
        show("event", [event, item.metadata.name, item.metadata.finalizers, bool(item.metadata.deletionTimestamp)])
        if event == "ADDED":
            client.delete(Tank, "a")
        elif event == "MODIFIED":
            client.patch(Tank, "a", {"metadata": {"finalizers": None}}, patch_type=PatchType.MERGE)
        else:
            break
    refused("gone", client.get, Tank, "a")


main()
