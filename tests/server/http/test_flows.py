from __future__ import annotations

from typing import Any

import pytest

from pilotage.http.messages import Headers, HTTPRequest
from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.rest.request import User
from pilotage.server.access.rules import AccessAttributes
from pilotage.server.http.flows import REFRESH_SECONDS, Flows, matches
from pilotage.server.http.handler import HTTPHandler
from pilotage.storage.interface import Delete

from ..registries import opened

BOB = User("bob", groups=("dev", "system:authenticated"))
ROBOT = User("system:serviceaccount:ns:robot")
LIST = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["ns"]}
PATH = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/logs/*"]}


def user(name: str) -> dict[str, Any]:
    return {"kind": "User", "user": {"name": name}}


def rule(subject: dict[str, Any], **rules: Any) -> dict[str, Any]:
    return {"subjects": [subject], "resourceRules": [LIST], "nonResourceRules": [PATH]} | rules


@pytest.mark.parametrize(
    ("subject", "who", "expected"),
    [
        (user("bob"), BOB, True),
        (user("*"), BOB, True),
        (user("alice"), BOB, False),
        ({"kind": "Group", "group": {"name": "dev"}}, BOB, True),
        ({"kind": "Group", "group": {"name": "ops"}}, BOB, False),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "robot"}}, ROBOT, True),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "*"}}, ROBOT, True),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "other", "name": "*"}}, ROBOT, False),
    ],
)
def test_a_rule_matches_its_subjects(subject: dict[str, Any], who: User, expected: bool) -> None:
    assert matches(rule(subject), AccessAttributes(who, "list", "", "pods", namespace="ns")) is expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (AccessAttributes(BOB, "list", "", "pods", namespace="ns"), True),
        (AccessAttributes(BOB, "get", "", "pods", namespace="ns"), False),
        (AccessAttributes(BOB, "list", "apps", "pods", namespace="ns"), False),
        (AccessAttributes(BOB, "list", "", "pods", "status", namespace="ns"), False),
        (AccessAttributes(BOB, "list", "", "pods", namespace="other"), False),
        (AccessAttributes(BOB, "list", "", "pods"), False),
        (AccessAttributes(BOB, "get", path="/healthz"), True),
        (AccessAttributes(BOB, "get", path="/logs/x"), True),
        (AccessAttributes(BOB, "get", path="/other"), False),
    ],
)
def test_a_rule_matches_what_a_request_does(attributes: AccessAttributes, expected: bool) -> None:
    assert matches(rule(user("bob")), attributes) is expected


async def test_the_flow_schema_with_the_lowest_precedence_is_in_the_headers() -> None:
    async with opened(contents=NamespaceContents()) as api:
        flows = Flows(api.registry.context.storage, api.registry.context.prefix, lambda: 0.0)
        admin = AccessAttributes(User("admin", groups=("system:masters",)), "list", "", "pods", namespace="default")
        anybody = AccessAttributes(User("x", groups=("system:unauthenticated",)), "list", "", "pods")
        first, second = dict(await flows.headers(admin)), dict(await flows.headers(anybody))
        assert first.keys() == {"x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"}
        assert first != second


async def test_a_deleted_flow_schema_is_not_in_the_headers_after_the_next_read() -> None:
    now = 0.0
    async with opened(contents=NamespaceContents()) as api:
        storage, prefix = api.registry.context.storage, api.registry.context.prefix
        flows = Flows(storage, prefix, lambda: now)
        asked = AccessAttributes(BOB, "list", "", "pods", namespace="default")
        assert await flows.headers(asked) == await flows.headers(asked) != ()
        snapshot = await storage.list(f"{prefix}flowcontrol.apiserver.k8s.io/flowschemas/")
        await storage.commit(*(Delete(entry.key) for entry in snapshot.entries))
        now = 2 * REFRESH_SECONDS
        assert await flows.headers(asked) == ()


async def test_a_long_running_request_has_no_flow_schema() -> None:
    async with opened(contents=NamespaceContents()) as api:
        handler = HTTPHandler(api.registry, "secret")
        names = {}
        for target in ("/api/v1/namespaces/default/pods/p", "/api/v1/namespaces/default/pods/p/log"):
            headers = Headers([("authorization", "Bearer secret")])
            names[target[-1]] = {name for name, _ in (await handler(HTTPRequest("GET", target, headers))).headers}
        assert names["p"] - names["g"] == {"x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"}
