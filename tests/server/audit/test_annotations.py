"""What webhooks and policies add to audit events."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from pilotage.errors import StorageError
from pilotage.http import messages as http
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document
from pilotage.rest.request import User
from pilotage.server.access.authentication import Authenticator
from pilotage.server.audit.policy import everything
from pilotage.server.http.auditing import Auditor
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ..webhooks.servers import allowed
from ..webhooks.test_failures import webhook

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def noted(level: str, *configurations: tuple[str, Document]) -> dict[str, str]:
    """The annotations of a create, with these webhook configurations."""
    lines: list[bytes] = []

    async def answer(review: Document) -> Document:
        patch = base64.b64encode(b'[{"op":"add","path":"/data","value":{"x":"1"}}]').decode()
        return allowed(review, auditAnnotations={"seen": "yes"}, patch=patch, patchType="JSONPatch")

    async def validate(review: Document) -> Document:
        return allowed(review, auditAnnotations={"checked": "yes"})

    users = Authenticator({"t": User("admin", ("system:masters",))})
    async with Registry(cluster_context(MemoryStorage())) as registry:
        registry.local_webhooks.add("https://mutate.test/x", answer)
        registry.local_webhooks.add("https://validate.test/x", validate)
        handler = HTTPHandler(registry, users, Auditor(everything(level), lines.append))
        for resource, document in configurations:
            await send(handler, f"{WEBHOOKS}/{resource}", document)
        await send(handler, CONFIG_MAPS, {"metadata": {"name": "a"}})
    found: dict[str, str] = json.loads(lines[-1])["annotations"]
    return {key: value for key, value in found.items() if not key.startswith("authorization")}


async def send(handler: HTTPHandler, target: str, document: Any) -> None:
    headers = http.Headers([("authorization", "Bearer t"), ("content-type", "application/json")])
    answer = await handler(http.HTTPRequest("POST", target, headers, json.dumps(document).encode()))
    assert answer.status == 201, answer


@pytest.mark.parametrize(
    "name",
    ["token", "access_token", "id-token", "Authorization", "password", "apikey", "%74oken", "+token", "t%6Fken%20"],
)
async def test_credentials_in_a_query_are_not_logged(name: str) -> None:
    lines: list[bytes] = []
    async with Registry(cluster_context(MemoryStorage())) as registry:
        handler = HTTPHandler(registry, "t", Auditor(everything("RequestResponse"), lines.append))
        for target in (f"{CONFIG_MAPS}?{name}=hidden&limit=1", f"/nope?limit=1&{name}=hidden"):
            await handler(http.HTTPRequest("GET", target))
    assert not [line for line in lines if b"hidden" in line]
    uris = {json.loads(line)["requestURI"] for line in lines}
    assert uris == {f"{CONFIG_MAPS}?{name}=<redacted>&limit=1", f"/nope?limit=1&{name}=<redacted>"}


def hooks(*webhooks: Document) -> Document:
    return {"metadata": {"name": "hooks"}, "webhooks": list(webhooks)}


MUTATING = hooks(webhook({"url": "https://mutate.test/x"}) | {"name": "m.example.com"})
VALIDATING = hooks(webhook({"url": "https://validate.test/x"}) | {"name": "v.example.com"})
MUTATION = '{"configuration":"hooks","webhook":"m.example.com","mutated":true}'
PATCH = (
    '{"configuration":"hooks","webhook":"m.example.com",'
    '"patch":[{"op":"add","path":"/data","value":{"x":"1"}}],"patchType":"JSONPatch"}'
)


@pytest.mark.parametrize("level", ["Metadata", "Request"])
async def test_webhooks_annotate_and_what_they_change_is_noted(level: str) -> None:
    found = await noted(
        level, ("mutatingwebhookconfigurations", MUTATING), ("validatingwebhookconfigurations", VALIDATING)
    )
    patch = {"patch.webhook.admission.k8s.io/round_0_index_0": PATCH} if level == "Request" else {}
    assert found == patch | {
        "m.example.com/seen": "yes",
        "v.example.com/checked": "yes",
        "mutation.webhook.admission.k8s.io/round_0_index_0": MUTATION,
    }


async def test_a_webhook_whose_failure_is_ignored_is_noted() -> None:
    away = webhook({"url": "https://127.0.0.1:1/x"}, failurePolicy="Ignore") | {"name": "away.example.com"}
    found = await noted(
        "Metadata", ("mutatingwebhookconfigurations", hooks(away)), ("validatingwebhookconfigurations", hooks(away))
    )
    value = '{"configuration":"hooks","webhook":"away.example.com","mutated":false}'
    assert found == {
        "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "away.example.com",
        "mutation.webhook.admission.k8s.io/round_0_index_0": value,
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "away.example.com",
    }


async def test_a_storage_that_fails_does_not_keep_a_request_from_being_answered_and_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[bytes] = []
    storage = MemoryStorage()
    async with Registry(cluster_context(storage)) as registry:
        handler = HTTPHandler(registry, "t", Auditor(everything(), lines.append))

        async def fail(*_: object, **__: object) -> Any:
            raise StorageError("away")

        monkeypatch.setattr(storage, "get", fail)
        monkeypatch.setattr(storage, "list", fail)
        headers = http.Headers([("authorization", "Bearer t")])
        answer = await handler(http.HTTPRequest("GET", CONFIG_MAPS + "/a", headers))
        monkeypatch.undo()
    assert answer.status == 500
    assert json.loads(lines[-1])["responseStatus"]["code"] == 500


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", CONFIG_MAPS + "?" + "&".join(f"a{number}=1" for number in range(200)), b""),
        ("GET", "//api/v1/%ff/..", b""),
        ("POST", CONFIG_MAPS, b"\xff\xfe"),
        ("POST", CONFIG_MAPS, b"[" * 5000),
        ("POST", CONFIG_MAPS, b'{"metadata":[]}'),
        ("PATCH", CONFIG_MAPS + "/a", b"a: &a [*a]"),
        ("DELETE", CONFIG_MAPS + "/a", b"[1]"),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", b'{"spec":1}'),
    ],
)
async def test_what_is_sent_changes_no_answer_for_being_logged(method: str, target: str, body: bytes) -> None:
    lines: list[bytes] = []
    headers = [("authorization", "Bearer t"), ("content-type", "application/json")]
    if method == "PATCH":
        headers[1] = ("content-type", "application/apply-patch+yaml")
    request = http.HTTPRequest(method, target, http.Headers(headers), body)
    async with Registry(cluster_context(MemoryStorage())) as registry:
        plain = await HTTPHandler(registry, "t")(request)
        logged = await HTTPHandler(registry, "t", Auditor(everything("RequestResponse"), lines.append))(request)
    assert plain.status == logged.status
    assert json.loads(lines[-1])["responseStatus"]["code"] == plain.status


async def test_a_request_that_takes_its_own_permission_away_is_noted_as_allowed() -> None:
    lines: list[bytes] = []
    users = Authenticator({"t": User("admin", ("system:masters",)), "u": User("carol")})
    rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    binding = {
        "metadata": {"name": "carol"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "carol"}],
    }
    async with Registry(cluster_context(MemoryStorage())) as registry:
        handler = HTTPHandler(registry, users, Auditor(everything(), lines.append))
        await send(handler, rbac, binding)
        own = http.Headers([("authorization", "Bearer u")])
        answer = await handler(http.HTTPRequest("DELETE", f"{rbac}/carol", own, b""))
    assert answer.status == 200, answer
    annotations = json.loads(lines[-1])["annotations"]
    assert annotations["authorization.k8s.io/decision"] == "allow"
    assert 'ClusterRoleBinding "carol"' in annotations["authorization.k8s.io/reason"]
