"""Subresources that are actions or connections: eviction, binding, tokens, logs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilotage.errors import (
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    MethodNotSupported,
    NotFound,
    TooManyRequests,
)
from pilotage.kubernetes.policy.evictions import check_budget
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb, WriteOptions

from ....server.registries import NAMESPACES, SECRETS, Api, opened
from ...environments import PODS, SERVICE_ACCOUNTS, pod

BUDGETS = GroupVersionResource("policy", "v1", "poddisruptionbudgets")
SERVICES = GroupVersionResource("", "v1", "services")
BINDINGS = GroupVersionResource("", "v1", "bindings")


async def act(
    api: Api,
    resource: GroupVersionResource,
    name: str,
    subresource: str,
    body: Document | None = None,
    verb: Verb = Verb.CREATE,
    **more: Any,
) -> Document:
    data = json.dumps(body or {}).encode() if verb is Verb.CREATE else b""
    request = APIRequest(
        verb,
        resource,
        namespace="default",
        name=name,
        subresource=subresource,
        body=data,
        parameters=more.pop("query", {}),
        **more,
    )
    response = await api.registry.call(request)
    return json.loads(response.body) if response.body else {"code": response.code}


async def running(api: Api, name: str = "a", **labels: str) -> None:
    document = pod(name, nodeName="n")
    document["metadata"]["labels"] = labels
    await api.create(PODS, document, "default")
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await api.patch(PODS, name, {"status": ready}, "default", "status")


async def budget(api: Api, name: str = "b", **status: int) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await api.create(BUDGETS, {"metadata": {"name": name}, "spec": spec}, "default")
    if status:
        await api.patch(BUDGETS, name, {"status": {"observedGeneration": 1} | status}, "default", "status")


async def test_a_pod_without_a_budget_is_evicted() -> None:
    async with opened() as api:
        await running(api, app="web")
        answer = await act(api, PODS, "a", "eviction", {"metadata": {"name": "a"}})
        assert answer == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        evicted = await api.get(PODS, "a", "default")
        assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30
        condition = evicted["status"]["conditions"][-1]
        assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "EvictionByEvictionAPI")


async def test_an_eviction_has_the_preconditions_of_a_delete() -> None:
    async with opened() as api:
        await running(api)
        version = (await api.get(PODS, "a", "default"))["metadata"]["resourceVersion"]
        for wrong in ({"uid": "u"}, {"resourceVersion": "1"}):
            body = {"metadata": {"name": "a"}, "deleteOptions": {"preconditions": wrong}}
            with pytest.raises(Conflict, match="in the precondition"):
                await act(api, PODS, "a", "eviction", body)
        assert (await api.get(PODS, "a", "default"))["metadata"]["resourceVersion"] == version, "it is not marked"
        options = {"preconditions": {"resourceVersion": version}}
        body = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "a"}}
        await act(api, PODS, "a", "eviction", body | {"deleteOptions": options})
        assert "deletionTimestamp" in (await api.get(PODS, "a", "default"))["metadata"]


async def test_an_eviction_spends_the_budget() -> None:
    async with opened() as api:
        await running(api, app="web")
        await running(api, "c", app="web")
        await budget(api, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1, expectedPods=2)
        await act(api, PODS, "a", "eviction", {"metadata": {"name": "a"}, "deleteOptions": {"dryRun": ["All"]}})
        assert (await api.get(BUDGETS, "b", "default"))["status"]["disruptionsAllowed"] == 1, "a dry run spends nothing"
        await act(api, PODS, "a", "eviction", {"metadata": {"name": "a"}})
        stored = await api.get(BUDGETS, "b", "default")
        status = stored["status"]
        assert "kube-apiserver" in [entry["manager"] for entry in stored["metadata"]["managedFields"]]
        assert status["disruptionsAllowed"] == 0
        assert list(status["disruptedPods"]) == ["a"]
        assert status["conditions"][0]["reason"] == "InsufficientPods"
        with pytest.raises(TooManyRequests, match="violate the pod's disruption budget") as caught:
            await act(api, PODS, "c", "eviction", {"metadata": {"name": "c"}})
        assert caught.value.status.details is not None
        [cause] = caught.value.status.details.causes
        assert cause.message == "The disruption budget b does not allow evicting pods currently"


@pytest.mark.parametrize(
    ("healthy", "reason", "message", "expected"),
    [
        (1, "", "", "needs 1 healthy pods and has 1 currently"),
        (2, "", "", "does not allow evicting pods currently"),
        (2, "Why", "so", "does not allow evicting pods currently (Why): so"),
        (1, "SyncFailed", "so", "does not allow evicting pods currently because it failed sync: so"),
    ],
)
def test_a_budget_that_allows_nothing_explains_why(healthy: int, reason: str, message: str, expected: str) -> None:
    condition = {"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": message}
    status = {"currentHealthy": healthy, "desiredHealthy": 1, "conditions": [condition]}
    with pytest.raises(TooManyRequests) as caught:
        check_budget({"metadata": {"name": "b"}, "status": status})
    assert caught.value.status.details is not None
    assert caught.value.status.details.causes[0].message == f"The disruption budget b {expected}"


async def test_a_budget_that_no_controller_has_seen_allows_nothing_yet() -> None:
    async with opened() as api:
        await running(api, app="web")
        await budget(api)
        with pytest.raises(TooManyRequests) as caught:
            await act(api, PODS, "a", "eviction", {"metadata": {"name": "a"}})
        assert caught.value.retry_after_seconds == 10
        await api.create(PODS, pod("waiting") | {"metadata": {"name": "waiting", "labels": {"app": "web"}}}, "default")
        await act(api, PODS, "waiting", "eviction", {"metadata": {"name": "waiting"}})
        with pytest.raises(NotFound):
            await api.get(PODS, "waiting", "default")


async def test_a_pod_has_one_budget() -> None:
    async with opened() as api:
        await running(api, app="web")
        await budget(api, "b")
        await budget(api, "c")
        with pytest.raises(ApiError, match="more than one PodDisruptionBudget") as caught:
            await act(api, PODS, "a", "eviction", {"metadata": {"name": "a"}})
        assert caught.value.status.code == 500


async def test_a_binding_assigns_a_pod_to_a_node_once() -> None:
    async with opened() as api:
        await api.create(PODS, pod(), "default")
        target = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
        await act(api, PODS, "a", "binding", target, write=WriteOptions(dry_run=True))
        assert not (await api.get(PODS, "a", "default"))["spec"].get("nodeName")
        await act(api, PODS, "a", "binding", target | {"metadata": {"name": "a", "annotations": {"by": "me"}}})
        bound = await api.get(PODS, "a", "default")
        assert bound["spec"]["nodeName"] == "n"
        assert bound["metadata"]["annotations"] == {"by": "me"}
        assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
        with pytest.raises(Conflict, match='pods/binding "a": pod a is already assigned to node "n"'):
            await act(api, PODS, "a", "binding", target)


async def test_the_older_form_of_a_binding_names_the_pod_in_the_body() -> None:
    async with opened() as api:
        await api.create(PODS, pod(), "default")
        await api.create(BINDINGS, {"metadata": {"name": "a"}, "target": {"name": "n"}}, "default")
        assert (await api.get(PODS, "a", "default"))["spec"]["nodeName"] == "n"


@pytest.mark.parametrize(
    ("target", "message"),
    [({"kind": "Pod", "name": "n"}, "target.kind: Unsupported value"), ({}, "target.name: Required value")],
)
async def test_a_binding_needs_a_node(target: Document, message: str) -> None:
    async with opened() as api:
        await api.create(PODS, pod(), "default")
        with pytest.raises(ApiError, match=message):
            await act(api, PODS, "a", "binding", {"metadata": {"name": "a"}, "target": target})


async def test_another_name_in_the_body_is_an_error() -> None:
    async with opened() as api:
        await api.create(PODS, pod(), "default")
        for action, kind in (("eviction", "Eviction"), ("binding", "Binding")):
            with pytest.raises(BadRequest, match=f"name in URL does not match name in {kind} object"):
                await act(api, PODS, "a", action, {"metadata": {"name": "b"}})
        with pytest.raises(BadRequest, match="name in URL does not match name in Binding object"):
            await act(api, PODS, "a", "binding", {"target": {"name": "n"}})


async def test_a_token_is_issued_for_a_service_account() -> None:
    async with opened() as api:
        account = await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
        answer = await act(api, SERVICE_ACCOUNTS, "robot", "token", {"spec": {"expirationSeconds": 600}})
        assert answer["kind"] == "TokenRequest"
        assert answer["metadata"]["uid"] == account["metadata"]["uid"]
        assert answer["spec"] == {
            "audiences": ["https://kubernetes.default.svc"],
            "expirationSeconds": 600,
            "boundObjectRef": None,
        }
        [entry] = answer["metadata"]["managedFields"]
        assert (entry["subresource"], entry["fieldsV1"]) == ("token", {"f:spec": {"f:expirationSeconds": {}}})
        found = await api.registry.context.service_accounts.user_of(answer["status"]["token"])
        assert found is not None
        user, audiences = found
        assert user.name == "system:serviceaccount:default:robot"
        assert audiences == ["https://kubernetes.default.svc"]


async def test_a_token_is_bound_to_an_object_of_any_version_of_its_kind() -> None:
    async with opened() as api:
        await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
        await api.create(SECRETS, {"metadata": {"name": "s"}}, "default")
        reference = {"kind": "Secret", "apiVersion": "v2", "name": "s"}
        answer = await act(api, SERVICE_ACCOUNTS, "robot", "token", {"spec": {"boundObjectRef": reference}})
        assert answer["spec"]["boundObjectRef"] == reference, "as it was sent"


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ({"spec": {"expirationSeconds": 5}}, Invalid, "may not specify a duration less than 10 minutes"),
        ({"spec": {"expirationSeconds": 2**32 + 1}}, Invalid, "may not specify a duration larger than"),
        ({"metadata": {"name": "other"}}, Invalid, "must match the service account name if specified"),
        (
            {"spec": {"boundObjectRef": {"kind": "Foo", "apiVersion": "v1"}}},
            BadRequest,
            "to object of type /v1, Kind=Foo",
        ),
        (
            {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}}},
            NotFound,
            'pods "x" not found',
        ),
    ],
)
async def test_a_token_request_that_cannot_be_met_is_refused(
    body: Document, error: type[ApiError], message: str
) -> None:
    async with opened() as api:
        await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
        with pytest.raises(error, match=message):
            await act(api, SERVICE_ACCOUNTS, "robot", "token", body)


@pytest.mark.parametrize(
    ("name", "subresource", "query", "error", "message"),
    [
        ("bound", "log", {}, BadRequest, 'log of pods "bound": there are no nodes and no network here'),
        ("bound", "exec", {}, BadRequest, 'exec of pods "bound": there are no nodes'),
        ("two", "exec", {"container": "c"}, BadRequest, 'exec of pods "two": there are no nodes'),
        ("two", "portforward", {}, BadRequest, 'portforward of pods "two": there are no nodes'),
        ("two", "proxy", {}, BadRequest, 'proxy of pods "two": there are no nodes'),
        ("two:80", "proxy/a/b", {}, BadRequest, 'proxy of pods "two": there are no nodes'),
        ("none", "log", {}, NotFound, 'pods "none" not found'),
        ("none:80", "proxy", {}, NotFound, 'pods "none" not found'),
    ],
)
async def test_a_connection_to_an_object_that_exists_is_refused(
    name: str, subresource: str, query: dict[str, str], error: type[ApiError], message: str
) -> None:
    async with opened() as api:
        await api.create(PODS, pod("bound", nodeName="n"), "default")
        containers = [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]
        await api.create(PODS, pod("two", containers=containers), "default")
        with pytest.raises(error, match=message):
            await act(api, PODS, name, subresource, verb=Verb.GET, query=query)
        if subresource == "exec":
            with pytest.raises(error, match=message):
                await act(api, PODS, name, subresource, query=query)


async def test_a_pod_that_has_not_begun_has_an_empty_log() -> None:
    async with opened() as api:
        await api.create(PODS, pod(), "default")
        assert await act(api, PODS, "a", "log", verb=Verb.GET) == {"code": 204}


async def test_an_action_has_its_verbs() -> None:
    async with opened() as api:
        await api.create(PODS, pod(), "default")
        for verb, action in ((Verb.GET, "eviction"), (Verb.DELETE, "binding"), (Verb.CREATE, "log")):
            with pytest.raises(MethodNotSupported):
                await act(api, PODS, "a", action, verb=verb)
        with pytest.raises(NotFound):
            await act(api, PODS, "a", "nothing", verb=Verb.GET)
        with pytest.raises(NotFound):
            await act(api, NAMESPACES, "default", "eviction")
