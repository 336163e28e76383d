"""Stored objects that are damaged: the server starts, lists the rest with a warning, and lets them be deleted."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pilotage.errors import ApiError, Forbidden
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, DeleteOptions, ListOptions, PatchType, User, Verb, WriteOptions
from pilotage.rest.response import Page, Response
from pilotage.server.registry import Registry
from pilotage.server.soundness import is_object
from pilotage.storage.interface import Delete, Put
from pilotage.storage.memory import MemoryStorage

from .registries import DEFINITIONS, WIDGETS, Api, definition, widget

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
SERVICES = GroupVersionResource("", "v1", "services")
KEY = "/default/core/configmaps/default/bad"


def resource(group: str, version: str, plural: str) -> GroupVersionResource:
    return GroupVersionResource(group, version, plural)


def head(api_version: str, kind: str, name: str, namespace: str = "", **more: Any) -> Document:
    metadata = {"name": name, "uid": f"uid-of-{name}", "creationTimestamp": "2026-01-02T03:04:05Z"}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata | ({"namespace": namespace} if namespace else {}),
    } | more


def config_map(name: str = "bad", **more: Any) -> Document:
    return head("v1", "ConfigMap", name, "default", **more)


@contextmanager
def failures() -> Iterator[list[str]]:
    """The messages about loops that fail."""
    found: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "loop failed" in record.getMessage():
                found.append(f"{record.getMessage()} {vars(record)}")

    handler, log = Handler(), logging.getLogger("pilotage.server")
    log.addHandler(handler)
    try:
        yield found
    finally:
        log.removeHandler(handler)


class Server:
    """An API server on a storage in memory, with all of its loops and plugins."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.registry = Registry(cluster_context(self.storage))

    async def put(self, key: str, value: object) -> None:
        data = value if isinstance(value, bytes) else msgspec.json.encode(value)
        await self.storage.commit(Put(key, data))

    async def page(self, gvr: GroupVersionResource) -> Page:
        return await self.registry.list(APIRequest(Verb.LIST, gvr))

    async def names(self, gvr: GroupVersionResource) -> list[str]:
        return [json.loads(bytes(item))["metadata"]["name"] for item in (await self.page(gvr)).items]

    async def idle(self) -> None:
        """Wait until the loops have processed everything; the failure of one is an error."""
        with failures() as found:
            async with asyncio.timeout(60):
                while self.registry.busy():
                    await asyncio.sleep(0)
                    assert not found
            assert not found

    async def call(
        self, verb: Verb, gvr: GroupVersionResource, name: str, namespace: str = "", **more: Any
    ) -> Response:
        return await self.registry.call(APIRequest(verb, gvr, namespace, name, **more))


DAMAGED: list[object] = [
    [],
    b"",
    b"\xff",
    b"{",
    {},
    config_map("other"),
    config_map(data=[1]),
    config_map(data={"n": 3}),
    config_map() | {"metadata": {"name": "bad", "namespace": "default"}},
    config_map() | {"apiVersion": "example.com/v1"},
    config_map() | {"kind": "Secret"},
    json.dumps(config_map(), indent=1).encode(),
]


@pytest.mark.parametrize("value", DAMAGED, ids=range(len(DAMAGED)))
async def test_a_damaged_object_is_left_out_with_a_warning_and_can_be_deleted(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server()
    await server.put(KEY, value)
    async with server.registry:
        created = APIRequest(Verb.CREATE, CONFIG_MAPS, "default", body=msgspec.json.encode(config_map("good")))
        await server.registry.call(created)
        for _ in range(2):
            page = await server.page(CONFIG_MAPS)
            assert [json.loads(bytes(item))["metadata"]["name"] for item in page.items] == ["good"]
            (warning,) = page.warnings
            assert 'configmaps "default/bad" cannot be read from the storage: ' in warning
        again = config_map("bad")
        for verb, more in (
            (Verb.GET, {}),
            (Verb.UPDATE, {"body": msgspec.json.encode(again)}),
            (Verb.PATCH, {"body": b"{}", "content_type": "application/merge-patch+json"}),
        ):
            with pytest.raises(ApiError, match="cannot be read from the storage") as raised:
                await server.call(verb, CONFIG_MAPS, "bad", "default", **more)
            assert (raised.value.status.code, raised.value.status.reason) == (500, "StorageReadError")
        with pytest.raises(ApiError, match="cannot be read from the storage"):
            await server.registry.call(APIRequest(Verb.CREATE, CONFIG_MAPS, "default", body=msgspec.json.encode(again)))
        answer = await server.call(Verb.DELETE, CONFIG_MAPS, "bad", "default")
        assert json.loads(answer.body)["status"] == "Success"
        assert "it was removed without its finalizers" in answer.warnings[0]
        assert (await server.page(CONFIG_MAPS)).warnings == ()
        await server.registry.call(APIRequest(Verb.CREATE, CONFIG_MAPS, "default", body=msgspec.json.encode(again)))
    logged = [record for record in caplog.records if "Stored object cannot be read" in record.getMessage()]
    assert len(logged) == 1
    assert KEY in str(vars(logged[0]))


ENTRIES: list[object] = [
    {},
    {"manager": "m", "operation": "Eat", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}},
    {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": None}},
    {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": [1]}},
    {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"": {}}},
]


@pytest.mark.parametrize("entry", ENTRIES, ids=range(len(ENTRIES)))
async def test_an_object_with_damaged_managed_fields_is_updated_and_applied(entry: object) -> None:
    server, document = Server(), config_map(data={"a": "1"})
    document["metadata"] |= {"managedFields": [entry]}
    await server.put(KEY, document)
    async with server.registry:
        api = Api(server.registry)
        update = {"metadata": {"name": "bad"}, "data": {"a": "2"}}
        assert (await api.update(CONFIG_MAPS, update, "default"))["data"] == {"a": "2"}
        await server.put(KEY, document)
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "3"}}).encode()
        write = WriteOptions(field_manager="me", force=True)
        await server.call(
            Verb.PATCH, CONFIG_MAPS, "bad", "default", body=body, write=write, content_type=PatchType.APPLY.value
        )
        assert (await api.get(CONFIG_MAPS, "bad", "default"))["data"]["b"] == "3"


async def test_an_answer_names_ten_damaged_objects_and_the_number_of_all() -> None:
    server = Server()
    for number in range(1_234):
        await server.put(f"/default/core/configmaps/default/a{number}", [])
    async with server.registry:
        warnings = (await server.page(CONFIG_MAPS)).warnings
        assert len(warnings) == 11
        assert warnings[-1] == "1,234 objects cannot be read in all; the log has their keys"


async def test_a_page_of_damaged_objects_does_not_end_a_list() -> None:
    server = Server()
    for number in range(5):
        await server.put(f"/default/core/configmaps/default/a{number}", [])
    async with server.registry:
        for name in ("b", "c"):
            body = msgspec.json.encode(config_map(name))
            await server.registry.call(APIRequest(Verb.CREATE, CONFIG_MAPS, "default", body=body))
        found, token = [], ""
        while True:
            page = await server.registry.list(
                APIRequest(Verb.LIST, CONFIG_MAPS, "default", options=ListOptions(limit=1, continue_token=token))
            )
            found += [json.loads(bytes(item))["metadata"]["name"] for item in page.items]
            token = page.continue_token
            if not token:
                break
        assert found == ["b", "c"]


async def test_a_watch_goes_on_past_an_object_that_becomes_damaged() -> None:
    server = Server()
    async with server.registry:
        version = (await server.page(CONFIG_MAPS)).resource_version
        request = APIRequest(Verb.WATCH, CONFIG_MAPS, "default", options=ListOptions(resource_version=version))
        async with asyncio.timeout(60), server.registry.watch(request) as events:
            for value in (config_map(), [], [1], config_map(data={"a": "b"}), {}):
                await server.put(KEY, value)
            await server.call(Verb.DELETE, CONFIG_MAPS, "bad", "default")
            await server.put("/default/core/configmaps/default/last", config_map("last"))
            seen = []
            async for kind, data in events:
                seen.append((kind, json.loads(bytes(data))["metadata"]["name"]))
                if seen[-1][1] == "last":
                    break
    assert seen == [("ADDED", "bad"), ("DELETED", "bad"), ("ADDED", "bad"), ("DELETED", "bad"), ("ADDED", "last")]


async def test_only_a_user_with_the_verb_for_it_may_delete_a_damaged_object() -> None:
    server = Server()
    await server.put(KEY, [])
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete"]}]
    role = head(f"{group}/v1", "ClusterRole", "deleter", rules=rules)
    subjects = [{"apiGroup": group, "kind": "User", "name": "ann"}]
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": "deleter"}
    binding = head(f"{group}/v1", "ClusterRoleBinding", "deleter", subjects=subjects, roleRef=reference)
    await server.put(f"/default/{group}/clusterroles/deleter", role)
    await server.put(f"/default/{group}/clusterrolebindings/deleter", binding)
    async with server.registry:
        with pytest.raises(Forbidden, match="unsafe-delete-ignore-read-errors"):
            await server.call(Verb.DELETE, CONFIG_MAPS, "bad", "default", user=User("ann", ()))
        uid = DeleteOptions(uid="uid-of-bad")
        with pytest.raises(ApiError, match="cannot be read"):
            await server.call(Verb.DELETE, CONFIG_MAPS, "bad", "default", delete=uid)
        await server.call(Verb.DELETE, CONFIG_MAPS, "bad", "default", user=User("root", ("system:masters",)))


async def test_dependents_of_a_damaged_owner_are_kept() -> None:
    server = Server()
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "bad", "uid": "uid-of-bad"}
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [owner]
    await server.put("/default/core/configmaps/default/child", child)
    await server.put(KEY, config_map())
    async with server.registry:
        await server.put(KEY, config_map(data=[]))
        await server.put(KEY, [])
        await server.idle()
        assert await server.names(CONFIG_MAPS) == ["child"]
        await server.call(Verb.DELETE, CONFIG_MAPS, "bad", "default")
        await server.idle()
        assert await server.names(CONFIG_MAPS) == []


async def test_a_namespace_is_deleted_with_its_damaged_objects() -> None:
    server = Server()
    async with server.registry:
        namespaces = resource("", "v1", "namespaces")
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        await server.registry.call(APIRequest(Verb.CREATE, namespaces, body=body))
        await server.put("/default/core/configmaps/team/bad", [])
        await server.call(Verb.DELETE, namespaces, "team")
        await server.idle()
        assert "team" not in await server.names(namespaces)
        assert (await server.storage.list("/default/core/configmaps/team/")).entries == []


def _without_names() -> Document:
    stored = head("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition()["metadata"]["name"])
    spec = {name: value for name, value in definition()["spec"].items() if name != "names"}
    return stored | {"spec": spec, "status": {"conditions": [{"type": "Established", "status": "True"}]}}


async def test_a_definition_without_a_plural_that_is_not_established_does_not_keep_others_from_being_served() -> None:
    server = Server()
    document = definition("gadgets")
    del document["spec"]["names"]["plural"]
    key = "/default/apiextensions.k8s.io/customresourcedefinitions/"
    name = document["metadata"]["name"]
    stored = head("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
    await server.put(key + name, stored | {"spec": document["spec"], "status": {"conditions": []}})
    async with server.registry:
        await Api(server.registry).create(DEFINITIONS, definition())
        assert WIDGETS in [info.gvr for info in await server.registry.context.catalogue.all()]


async def test_a_definition_without_names_does_not_keep_the_server_from_starting() -> None:
    server = Server()
    name = definition()["metadata"]["name"]
    await server.put(f"/default/apiextensions.k8s.io/customresourcedefinitions/{name}", _without_names())
    async with server.registry:
        assert await server.names(DEFINITIONS) == []
        with pytest.raises(ApiError, match="its resources cannot be served: acceptedNames is missing"):
            await server.call(Verb.GET, WIDGETS, "w", "default")
        await server.call(Verb.DELETE, DEFINITIONS, name)
        api = Api(server.registry)
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("w"), "default")


async def own_objects() -> dict[str, bytes]:
    """What a server stores itself when it starts for the first time, by its keys."""
    server = Server()
    async with server.registry:
        await server.idle()
        entries = (await server.storage.list("/default/")).entries
        return {each.key: each.value for each in entries if is_object(each.key)}


@pytest.mark.parametrize("at_once", [False, True], ids=["each", "all"])
async def test_a_server_starts_with_damaged_objects_of_its_own_and_creates_them_again(at_once: bool) -> None:
    found = await own_objects()
    assert len(found) > 100
    for damaged_ones in [list(found)] if at_once else [[key] for key in found]:
        server = Server()
        for key, value in found.items():
            await server.put(key, [] if key in damaged_ones else value)
        async with server.registry:
            await server.idle()
            if not at_once:
                namespace = "default" if "kube-public" in damaged_ones[0] else "kube-public"
                await Api(server.registry).create(CONFIG_MAPS, {"metadata": {"name": "good"}}, namespace)
        await server.storage.commit(*(Delete(key) for key in damaged_ones))
        second = Registry(cluster_context(server.storage))
        async with second:
            assert {*found} <= {each.key for each in (await server.storage.list("/default/")).entries}


_ADMISSION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
KINDS = [
    ("", "v1", "ConfigMap", "configmaps", True),
    ("", "v1", "Namespace", "namespaces", False),
    ("", "v1", "ResourceQuota", "resourcequotas", True),
    ("", "v1", "LimitRange", "limitranges", True),
    ("", "v1", "Service", "services", True),
    ("", "v1", "ServiceAccount", "serviceaccounts", True),
    ("", "v1", "Pod", "pods", True),
    ("", "v1", "Event", "events", True),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False),
    ("apiregistration.k8s.io", "v1", "APIService", "apiservices", False),
    (_ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False),
    (_ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False),
    (_ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False),
    (_ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False),
    (_RBAC, "v1", "ClusterRole", "clusterroles", False),
    (_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", False),
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", False),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", False),
    ("coordination.k8s.io", "v1", "Lease", "leases", True),
    ("networking.k8s.io", "v1", "IPAddress", "ipaddresses", False),
    ("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", False),
]
NAMES = {"customresourcedefinitions": definition()["metadata"]["name"], "ipaddresses": "10.0.0.77"}
"""The names of objects whose kind does not allow any name."""
"""Kinds of which the server itself reads fields, and one that it only stores."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
BASES: dict[str, Document] = {
    "configmaps": {"data": {"a": "b"}},
    "namespaces": {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
    "resourcequotas": {"spec": {"hard": {"configmaps": "5", "cpu": "1"}}, "status": {"hard": {"cpu": "1"}}},
    "limitranges": {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}},
    "services": {
        "spec": {
            "clusterIP": "10.96.0.9",
            "clusterIPs": ["10.96.0.9"],
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30001}],
            "type": "NodePort",
        },
        "status": {"loadBalancer": {}},
    },
    "pods": {"spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}, "status": {"phase": "Running"}},
    "customresourcedefinitions": {
        "spec": definition()["spec"],
        "status": {
            "acceptedNames": definition()["spec"]["names"],
            "conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}],
            "storedVersions": ["v1"],
        },
    },
    "validatingwebhookconfigurations": {
        "webhooks": [
            {
                "name": "a.example.com",
                "clientConfig": {"url": "https://localhost:1/"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "namespaceSelector": {},
                "objectSelector": {},
                "failurePolicy": "Ignore",
                "matchPolicy": "Equivalent",
                "timeoutSeconds": 1,
            }
        ]
    },
    "validatingadmissionpolicies": {
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}
                ],
            },
            "validations": [{"expression": "true"}],
        }
    },
    "validatingadmissionpolicybindings": {"spec": {"policyName": "bad", "validationActions": ["Deny"]}},
    "clusterroles": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "clusterrolebindings": {
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "bad"},
        "subjects": [{"kind": "User", "name": "ann", "apiGroup": _RBAC}],
    },
    "ipaddresses": {"spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "bad"}}},
    "servicecidrs": {
        "spec": {"cidrs": ["192.168.7.0/28"]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    },
    "leases": {"spec": {"holderIdentity": "one", "leaseDurationSeconds": 15}},
}
METADATA: Document = {
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "finalizers": ["example.com/a"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u"}],
    "managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {}}}],
}


@st.composite
def damaged(draw: st.DrawFn, document: Document) -> Any:
    """A document of which a part, or all of it, is something else or missing."""
    result: Any = copied(document)
    holder, steps = {"": result}, [""]
    for _ in range(draw(st.integers(0, 7))):
        inner = holder[steps[-1]]
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner))) if isinstance(inner, list) else []
        if not keys:
            break
        holder, steps = inner, [*steps, draw(st.sampled_from(keys))]
    if len(steps) == 1:
        return draw(JSON)
    if draw(st.booleans()):
        del holder[steps[-1]]
    else:
        holder[steps[-1]] = draw(JSON | st.just({}) | st.just([]) | st.just(""))
    return result


@given(st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_stored_the_server_starts_lists_and_deletes(data: st.DataObject) -> None:
    asyncio.run(_start_list_and_delete(data))


async def _start_list_and_delete(data: st.DataObject) -> None:
    server = Server()
    placed: list[tuple[GroupVersionResource, str]] = []
    for group, version, kind, plural, namespaced in data.draw(
        st.lists(st.sampled_from(KINDS), max_size=6, unique=True)
    ):
        namespace = "default" if namespaced else ""
        name = NAMES.get(plural, "bad")
        key = "/".join(filter(None, ("/default", group or "core", plural, namespace, name)))
        document = head(f"{group}/{version}".lstrip("/"), kind, name, namespace)
        document["metadata"] |= {each: METADATA[each] for each in data.draw(st.sets(st.sampled_from(sorted(METADATA))))}
        await server.put(key, data.draw(damaged(document | BASES.get(plural, {}))))
        placed.append((resource(group, version, plural), namespace))
    async with server.registry:
        await server.idle()
        for gvr, namespace in placed:
            page = await server.page(gvr)
            names = [json.loads(bytes(item))["metadata"]["name"] for item in page.items]
            name = NAMES.get(gvr.resource, "bad")
            assert not (name in names and page.warnings)
            if name in names or page.warnings:  # else it has an owner that does not exist
                await server.call(Verb.DELETE, gvr, name, namespace)
        api = Api(server.registry)  # in a namespace without a quota
        await api.create(CONFIG_MAPS, {"metadata": {"name": "good"}}, "kube-public")
        await api.create(SERVICES, {"metadata": {"name": "good"}, "spec": {"ports": [{"port": 80}]}}, "kube-public")
        assert "good" in await server.names(CONFIG_MAPS)
