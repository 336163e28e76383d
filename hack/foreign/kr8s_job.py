"""kr8s: create, list, watch, scale, patch, label, wait, and a kind of its own."""

import sys

import kr8s
from kr8s.objects import ConfigMap, Deployment, Namespace, new_class
from report import definition, deployment, show, until_served

GROUP, NAMESPACE = "kr8s.example.com", sys.argv[2]
CustomResourceDefinition = new_class("CustomResourceDefinition", "apiextensions.k8s.io/v1", namespaced=False)
Tank = new_class("Tank", f"{GROUP}/v1", namespaced=True, scalable=True, scalable_spec="replicas")


def main():
    api = kr8s.api(kubeconfig=sys.argv[1], namespace=NAMESPACE)
    Namespace({"metadata": {"name": NAMESPACE}}, api=api).create()
    builtin(api)
    crd = CustomResourceDefinition(definition(GROUP, "Tank"), api=api)
    crd.create()
    until_served(
        lambda: list(api.get(Tank, namespace=NAMESPACE)), kr8s.ServerError, lambda error: error.response.status_code
    )
    custom(api)
    crd.delete()


def refused(label, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kr8s.ServerError as error:
        show(label, [error.status["code"], error.status["reason"], error.status["message"]])
    except kr8s.NotFoundError:
        show(label, "not found")
    else:
        show(label, "not refused")


def builtin(api):
    settings = ConfigMap({"metadata": {"name": "settings", "namespace": NAMESPACE}, "data": {"a": "1"}}, api=api)
    settings.create()
    show("created", settings.raw.to_dict())
    refused("created again", settings.create)
    settings.label(part="one")
    settings.annotate(note="two")
    settings.patch({"data": {"a": None, "b": "2"}})
    show("patched", settings.raw.to_dict())
    settings.patch([{"op": "replace", "path": "/data/b", "value": "3"}], type="json")
    show("JSON patch", settings.data.to_dict())
    show("listed", [one.name for one in api.get("configmaps", namespace=NAMESPACE, label_selector={"part": "one"})])
    web = Deployment(deployment("web") | {"metadata": {"name": "web", "namespace": NAMESPACE}}, api=api)
    web.create()
    web.patch({"spec": {"replicas": 4}}, subresource="scale")
    web.refresh()
    show("scaled", web.spec.to_dict())
    web.scale(2)
    show("scaled again", web.raw.to_dict())
    web.delete()
    show("exists", web.exists())


def custom(api):
    metadata = {"name": "a", "namespace": NAMESPACE, "finalizers": [f"{GROUP}/drain"]}
    tank = Tank({"metadata": metadata, "spec": {"size": 2}}, api=api)
    tank.create()
    refused("a bad patch", tank.patch, {"spec": {"size": 20}})
    tank.patch({"status": {"level": 7}}, subresource="status")
    show("status", tank.raw.to_dict())
    tank.scale(3)
    show("scaled", tank.raw.to_dict())
    for event, item in api.watch(Tank, namespace=NAMESPACE):
        show("event", [event, item.name, "deletionTimestamp" in item.metadata])
        if event == "ADDED":
            tank.delete()
        elif event == "MODIFIED":
            tank.patch({"metadata": {"finalizers": None}})
        else:
            break
    refused("gone", tank.refresh)


main()
