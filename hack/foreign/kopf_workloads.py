"""A kopf operator whose objects are ready when their Deployment is: its server must simulate workloads."""

import asyncio
import logging
import sys

import kopf
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from report import definition, deployment, show, until, until_served

GROUP, NAMESPACE = "shops.example.com", sys.argv[2]
SHOPS = {"group": GROUP, "version": "v1", "namespace": NAMESPACE, "plural": "shops"}


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


@kopf.on.create(GROUP, "v1", "shops")
def create(name, spec, **_):
    body = deployment(name)
    body["spec"]["replicas"] = spec["size"]
    kopf.adopt(body)
    client.AppsV1Api().create_namespaced_deployment(NAMESPACE, body)


@kopf.on.event("apps", "v1", "deployments")
def watch(name, spec, status, **_):
    if status.get("readyReplicas") == spec["replicas"]:
        body = {"status": {"phase": "Open"}}
        client.CustomObjectsApi().patch_namespaced_custom_object_status(**SHOPS, name=name, body=body)


def job():
    """What a user of the operator does."""
    custom, core = client.CustomObjectsApi(), client.CoreV1Api()
    shop = {"apiVersion": f"{GROUP}/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"size": 2}}
    custom.create_namespaced_custom_object(**SHOPS, body=shop)
    until(lambda: phase(custom) == "Open", "two ready Pods")
    pods = core.list_namespaced_pod(NAMESPACE).items
    show("phases", [pod.status.phase for pod in pods])
    show("on nodes", all(pod.spec.node_name for pod in pods))
    custom.delete_namespaced_custom_object(**SHOPS, name="a", propagation_policy="Background")
    until(lambda: not core.list_namespaced_pod(NAMESPACE).items, "the Pods to be gone")
    show("gone")


def phase(custom):
    return custom.get_namespaced_custom_object(**SHOPS, name="a").get("status", {}).get("phase")


def install():
    extensions, custom = client.ApiextensionsV1Api(), client.CustomObjectsApi()
    client.CoreV1Api().create_namespace({"metadata": {"name": NAMESPACE}})
    extensions.create_custom_resource_definition(definition(GROUP, "Shop"))
    until_served(lambda: custom.list_namespaced_custom_object(**SHOPS), ApiException, lambda error: error.status)


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


asyncio.run(main())
