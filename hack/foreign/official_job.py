"""The official Python client: typed API, watch, custom objects, dynamic client, server-side apply."""

import json
import sys
import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from report import definition, deployment, masked, show, until, until_served

GROUP, NAMESPACE = "official.example.com", sys.argv[2]
TANK = {"group": GROUP, "version": "v1", "namespace": NAMESPACE, "plural": "tanks"}


def main():
    config.load_kube_config(sys.argv[1])
    api = client.ApiClient()
    version = client.VersionApi(api).get_code()
    show("version", [version.major, version.minor])
    client.CoreV1Api(api).create_namespace({"metadata": {"name": NAMESPACE}})
    typed_objects(api)
    pages(api)
    watched(api)
    workloads(api)
    accounts(api)
    install(api)
    custom_objects(api)
    dynamic_client(api)
    client.ApiextensionsV1Api(api).delete_custom_resource_definition(f"tanks.{GROUP}")


def plain(api, value):
    return api.sanitize_for_serialization(value)


def refused(label, call, *arguments, **options):
    """Print how the server refuses a request."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        status = json.loads(error.body)
        causes = [[cause.get("reason"), cause.get("field")] for cause in status.get("details", {}).get("causes", [])]
        show(label, [error.status, error.reason, status["reason"], status["message"], causes])
    else:
        show(label, "not refused")


def typed_objects(api):
    core = client.CoreV1Api(api)
    body = client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name="settings", labels={"part": "one"}), data={"colour": "blue", "size": "1"}
    )
    created = core.create_namespaced_config_map(NAMESPACE, body)
    show("created", plain(api, created))
    refused("created again", core.create_namespaced_config_map, NAMESPACE, body)
    refused("unknown", core.read_namespaced_config_map, "nothing", NAMESPACE)
    patched = core.patch_namespaced_config_map("settings", NAMESPACE, {"data": {"colour": None, "shape": "round"}})
    show("patched", plain(api, patched))
    created.data["size"] = "2"
    refused("stale", core.replace_namespaced_config_map, "settings", NAMESPACE, created)
    patched.data["size"] = "3"
    show("replaced", plain(api, core.replace_namespaced_config_map("settings", NAMESPACE, patched)))
    operations = [{"op": "test", "path": "/data/size", "value": "3"}, {"op": "remove", "path": "/data/shape"}]
    show("JSON patch", plain(api, core.patch_namespaced_config_map("settings", NAMESPACE, operations)))
    dry = core.patch_namespaced_config_map("settings", NAMESPACE, {"data": {"dry": "yes"}}, dry_run="All")
    show("dry run", [dry.data, core.read_namespaced_config_map("settings", NAMESPACE).data])
    secret = client.V1Secret(metadata=client.V1ObjectMeta(generate_name="key-"), string_data={"token": "abc"})
    made = core.create_namespaced_secret(NAMESPACE, secret)
    show("secret", [made.data, made.type, made.metadata.name.startswith("key-"), len(made.metadata.name)])
    refused("a bad name", core.create_namespaced_config_map, NAMESPACE, {"metadata": {"name": "Not_A_Name"}})


def pages(api):
    core = client.CoreV1Api(api)
    for number in range(7):
        labels = {"set": "pages", "even": str(number % 2 == 0).lower()}
        core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": f"page-{number}", "labels": labels}})
    token = None
    while token != "":
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="set=pages", limit=3, _continue=token)
        token = page.metadata._continue or ""
        show("page", [[item.metadata.name for item in page.items], page.metadata.remaining_item_count, bool(token)])
    chosen = core.list_namespaced_config_map(NAMESPACE, label_selector="set in (pages),even!=true")
    show("selected", [item.metadata.name for item in chosen.items])
    named = core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=page-3")
    show("by field", [item.metadata.name for item in named.items])
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="set=pages")
    show("left", len(core.list_namespaced_config_map(NAMESPACE, label_selector="set=pages").items))


def watched(api):
    """Watch in one thread what another one does."""
    core = client.CoreV1Api(api)
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def write():
        writer = client.CoreV1Api(client.ApiClient())
        writer.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "watched"}, "data": {"step": "1"}})
        writer.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"step": "2"}})
        writer.delete_namespaced_config_map("watched", NAMESPACE)

    thread = threading.Thread(target=write)
    thread.start()
    stream = watch.Watch()
    events = stream.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=30)
    for event in events:
        show("event", [event["type"], event["object"].metadata.name, event["object"].data])
        if event["type"] == "DELETED":
            stream.stop()
    thread.join()


def workloads(api):
    apps = client.AppsV1Api(api)
    show("deployment", plain(api, apps.create_namespaced_deployment(NAMESPACE, deployment("web"))))
    show("scale", plain(api, apps.read_namespaced_deployment_scale("web", NAMESPACE)))
    scaled = apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 4}})
    show("scaled", plain(api, scaled))
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}]}}}}
    changed = apps.patch_namespaced_deployment("web", NAMESPACE, image)
    show("strategic patch", plain(api, changed.spec.template.spec.containers))
    status = {"status": {"replicas": 4, "updatedReplicas": 4, "observedGeneration": changed.metadata.generation}}
    show("status", plain(api, apps.patch_namespaced_deployment_status("web", NAMESPACE, status).status))
    wrong = deployment("wrong")
    wrong["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    wrong["spec"]["template"]["spec"]["containers"] = []
    refused("a wrong deployment", apps.create_namespaced_deployment, NAMESPACE, wrong)
    show("deleted", plain(api, apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Background")))
    pod = {"metadata": {"name": "one"}, "spec": deployment("one")["spec"]["template"]["spec"]}
    core = client.CoreV1Api(api)
    show("pod", plain(api, core.create_namespaced_pod(NAMESPACE, pod)))
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="one"))
    show("evicted", plain(api, core.create_namespaced_pod_eviction("one", NAMESPACE, eviction)))


def accounts(api):
    core, rbac = client.CoreV1Api(api), client.RbacAuthorizationV1Api(api)
    core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": "robot"}})
    request = client.AuthenticationV1TokenRequest(
        spec=client.V1TokenRequestSpec(audiences=None, expiration_seconds=900)
    )
    token = core.create_namespaced_service_account_token("robot", NAMESPACE, request).status.token
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    rbac.create_namespaced_role(NAMESPACE, {"metadata": {"name": "reader"}, "rules": rules})
    rbac.create_namespaced_role_binding(
        NAMESPACE,
        {
            "metadata": {"name": "robot-reads"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": NAMESPACE}],
        },
    )
    settings = client.Configuration.get_default_copy()
    settings.api_key = {"authorization": f"Bearer {token}"}
    robot = client.ApiClient(settings)
    review = client.AuthenticationV1Api(robot).create_self_subject_review(client.V1SelfSubjectReview())
    show("robot is", [review.status.user_info.username, review.status.user_info.groups])
    reads = client.CoreV1Api(robot)
    until(lambda: allowed(robot), "the role")
    show("robot reads", reads.read_namespaced_config_map("settings", NAMESPACE).data)
    refused("robot writes", reads.patch_namespaced_config_map, "settings", NAMESPACE, {"data": {"a": "b"}})
    refused("robot reads secrets", reads.list_namespaced_secret, NAMESPACE)


def allowed(api):
    """The authorizer of the real server sees roles a moment after they are written."""
    attributes = {"namespace": NAMESPACE, "verb": "get", "resource": "configmaps", "name": "settings"}
    review = {"spec": {"resourceAttributes": attributes}}
    return client.AuthorizationV1Api(api).create_self_subject_access_review(review).status.allowed


def install(api):
    extensions, custom = client.ApiextensionsV1Api(api), client.CustomObjectsApi(api)
    extensions.create_custom_resource_definition(definition(GROUP, "Tank"))
    name = f"tanks.{GROUP}"
    stream = watch.Watch()
    for event in stream.stream(
        extensions.list_custom_resource_definition, field_selector=f"metadata.name={name}", timeout_seconds=30
    ):
        conditions = event["object"].status.conditions or []
        if any(one.type == "Established" and one.status == "True" for one in conditions):
            stream.stop()
    until_served(lambda: custom.list_namespaced_custom_object(**TANK), ApiException, lambda error: error.status)
    until_served(lambda: custom.get_api_resources(GROUP, "v1"), ApiException, lambda error: error.status)
    show("names", plain(api, extensions.read_custom_resource_definition(name).status.accepted_names))


def custom_objects(api):
    custom = client.CustomObjectsApi(api)
    tank = {"apiVersion": f"{GROUP}/v1", "kind": "Tank", "metadata": {"name": "a"}, "spec": {"size": 2}}
    tank["metadata"]["finalizers"] = [f"{GROUP}/drain"]
    show("tank", custom.create_namespaced_custom_object(**TANK, body=tank))
    for spec in ({"size": 20}, {}, {"size": 3, "mode": "fast"}, {"size": "2"}, {"size": 2, "mode": "slow"}):
        body = tank | {"metadata": {"name": "bad"}, "spec": spec}
        refused("a bad tank", custom.create_namespaced_custom_object, **TANK, body=body)
    one = TANK | {"name": "a"}
    show("status", custom.patch_namespaced_custom_object_status(**one, body={"status": {"level": 7, "replicas": 1}}))
    show("spec", custom.patch_namespaced_custom_object(**one, body={"spec": {"size": 4}, "status": {"level": 9}}))
    for replicas in (3, 4):  # the second is the first to change replicas that an entry of managedFields has
        show("scale", custom.patch_namespaced_custom_object_scale(**one, body={"spec": {"replicas": replicas}}))
        show("scaled", custom.get_namespaced_custom_object(**one))
        custom.patch_namespaced_custom_object(**one, body={"spec": {"replicas": replicas * 2}})
    custom.delete_namespaced_custom_object(**one)
    terminating = custom.get_namespaced_custom_object(**one)
    show("terminating", terminating)
    terminating["metadata"]["finalizers"] = []
    custom.replace_namespaced_custom_object(**one, body=terminating)
    refused("gone", custom.get_namespaced_custom_object, **one)


def dynamic_client(api):
    found = dynamic.DynamicClient(api)
    tanks = found.resources.get(api_version=f"{GROUP}/v1", kind="Tank")
    show("discovered", [tanks.name, tanks.namespaced, sorted(tanks.verbs), sorted(tanks.subresources)])
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Tank", "metadata": {"name": "b"}}
    ports = [{"name": "http", "port": 80}]
    apply = {"namespace": NAMESPACE, "name": "b"}
    first = body | {"spec": {"size": 2, "ports": ports}}
    show("applied", tanks.server_side_apply(first, field_manager="one", **apply).to_dict())
    second = body | {"spec": {"size": 6, "ports": [{"name": "metrics", "port": 90}]}}
    refused("conflict", tanks.server_side_apply, second, field_manager="two", **apply)
    forced = tanks.server_side_apply(second, field_manager="two", force_conflicts=True, **apply)
    show("forced", forced.to_dict())
    without = body | {"spec": {"size": 6}}
    show("omitted", tanks.server_side_apply(without, field_manager="two", **apply).to_dict())
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    show("configmaps", masked(maps.get(namespace=NAMESPACE, name="settings").to_dict()))
    for event in tanks.watch(namespace=NAMESPACE, timeout=30):
        show("event", [event["type"], event["object"].metadata.name])
        if event["type"] == "DELETED":
            break
        tanks.delete(name="b", namespace=NAMESPACE)


main()
