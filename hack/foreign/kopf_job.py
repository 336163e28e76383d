"""A kopf operator: handlers of create, update and delete, with its finalizer, its status and its events."""

import asyncio
import json
import logging
import sys

import kopf
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from report import definition, show, until, until_served

GROUP, NAMESPACE = "kopf.example.com", sys.argv[2]
TANK = {"group": GROUP, "version": "v1", "namespace": NAMESPACE, "plural": "tanks"}


@kopf.on.login()
def login(**_):
    settings = client.Configuration.get_default_copy()
    token = settings.get_api_key_with_prefix("authorization") or settings.get_api_key_with_prefix("BearerToken")
    return kopf.ConnectionInfo(
        server=settings.host,
        ca_path=settings.ssl_ca_cert,
        scheme="Bearer",
        token=token.removeprefix("Bearer "),
        default_namespace=NAMESPACE,
    )


@kopf.on.create(GROUP, "v1", "tanks")
def create(spec, name, patch, **_):
    body = {"metadata": {"name": name}, "data": {"size": str(spec["size"])}}
    kopf.adopt(body)
    client.CoreV1Api().create_namespaced_config_map(NAMESPACE, body)
    patch.status["phase"] = "Filled"
    show("create", dict(spec))
    return {"size": spec["size"]}


@kopf.on.update(GROUP, "v1", "tanks", field="spec.size")
def resize(old, new, name, patch, **_):
    client.CoreV1Api().patch_namespaced_config_map(name, NAMESPACE, {"data": {"size": str(new)}})
    patch.status["phase"] = "Resized"
    show("update", [old, new])


@kopf.on.delete(GROUP, "v1", "tanks")
def drain(name, retry, **_):
    show("delete", retry)
    if retry == 0:
        raise kopf.TemporaryError("not empty yet", delay=0.1)
    client.CoreV1Api().delete_namespaced_config_map(name, NAMESPACE)


def job():
    """What a user of the operator does."""
    custom, core = client.CustomObjectsApi(), client.CoreV1Api()
    one = TANK | {"name": "a"}
    tank = {"apiVersion": f"{GROUP}/v1", "kind": "Tank", "metadata": {"name": "a"}, "spec": {"size": 2}}
    custom.create_namespaced_custom_object(**TANK, body=tank)
    show("filled", until(lambda: handled(custom, one, "Filled", 2), "the create handler"))
    show("config map", core.read_namespaced_config_map("a", NAMESPACE).data)
    custom.patch_namespaced_custom_object(**one, body={"spec": {"size": 4}})
    show("resized", until(lambda: handled(custom, one, "Resized", 4), "the update handler"))
    show("config map", core.read_namespaced_config_map("a", NAMESPACE).data)
    custom.delete_namespaced_custom_object(**one)
    until(lambda: gone(custom, one), "the delete handler")
    show("config map gone", gone_map(core))


def handled(custom, one, phase, size):
    """The object, once kopf has removed its progress and has stored what it handled last."""
    tank = custom.get_namespaced_custom_object(**one)
    status, metadata = tank.get("status", {}), tank["metadata"]
    last = metadata.get("annotations", {}).get("kopf.zalando.org/last-handled-configuration", "")
    if status.get("phase") != phase or f'"size":{size}' not in last or status.get("kopf"):
        return None
    return [tank["spec"], status, metadata["finalizers"], json.loads(last), metadata["generation"]]


def gone(custom, one):
    try:
        custom.get_namespaced_custom_object(**one)
    except ApiException as error:
        return error.status == 404
    return False


def gone_map(core):
    try:
        core.read_namespaced_config_map("a", NAMESPACE)
    except ApiException as error:
        return error.status == 404
    return False


def install():
    extensions, custom = client.ApiextensionsV1Api(), client.CustomObjectsApi()
    client.CoreV1Api().create_namespace({"metadata": {"name": NAMESPACE}})
    extensions.create_custom_resource_definition(definition(GROUP, "Tank"))
    until_served(lambda: custom.list_namespaced_custom_object(**TANK), ApiException, lambda error: error.status)


async def main():
    config.load_kube_config(sys.argv[1])
    logging.basicConfig(level=logging.INFO)
    install()
    ready, stop = asyncio.Event(), asyncio.Event()
    operator = asyncio.create_task(
        kopf.operator(standalone=True, namespaces=[NAMESPACE], ready_flag=ready, stop_flag=stop)
    )
    await ready.wait()
    await asyncio.to_thread(job)
    stop.set()
    await operator
    client.ApiextensionsV1Api().delete_custom_resource_definition(f"tanks.{GROUP}")


asyncio.run(main())
