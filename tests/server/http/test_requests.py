"""What is authorized is what the method and the URL of a request do, also with impersonation."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pilotage.http.messages import Headers, HTTPRequest, StreamingResponse
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import path
from pilotage.rest.request import User
from pilotage.server.access.authentication import Authenticator
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.rbac import attributes_of
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.http.requests import attributes_of_path

from ..registries import Api, opened

RBAC = "rbac.authorization.k8s.io"
ALICE = User("alice")
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", SECRETS),
        ("HEAD", SECRETS),
        ("GET", f"{SECRETS}/a"),
        ("GET", f"{SECRETS}/a?watch=true"),
        ("GET", f"{SECRETS}?watch"),
        ("GET", f"{SECRETS}?watch=false"),
        ("HEAD", f"{SECRETS}?watch=1"),
        ("GET", f"{SECRETS}?fieldSelector=metadata.name%3Da"),
        ("GET", f"{SECRETS}?watch=true&fieldSelector=metadata.name%3Da"),
        ("DELETE", SECRETS),
        ("DELETE", f"{SECRETS}?watch=true&fieldSelector=metadata.name%3Da"),
        ("DELETE", f"{SECRETS}/a"),
        ("POST", f"{SECRETS}?watch=true"),
        ("GET", "/api/v1/watch/secrets"),
        ("GET", "/api/v1/watch/secrets?watch=false"),
        ("GET", "/api/v1/watch/namespaces/default/secrets/a"),
        ("GET", "/api/v1/watch/namespaces/default/secrets/%2561"),
        ("GET", "/api/v1/watch/namespaces/default/secrets%2Fa"),
        ("GET", "/api/v1/watch/namespaces/default%2Fsecrets%2Fa"),
        ("GET", "/apis/apps/v1/watch/deployments"),
        ("GET", "/api/v1/namespaces"),
        ("GET", "/api/v1/namespaces/a"),
        ("PUT", "/api/v1/namespaces/a/finalize"),
        ("GET", "/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Da"),
        ("GET", "/apis/apps/v1/namespaces/default/deployments/a/scale"),
    ],
)
def test_the_url_and_the_request_to_the_registry_agree(method: str, target: str) -> None:
    request = replace(path.parse(path.EncodedRequest(method, target)), user=ALICE)
    assert attributes_of_path(HTTPRequest(method, target), ALICE) == attributes_of(request)


def test_a_query_that_cannot_be_parsed_is_ignored() -> None:
    found = attributes_of_path(HTTPRequest("GET", f"{SECRETS}?watch=%zz"), ALICE)
    assert found == AccessAttributes(ALICE, "list", "", "secrets", namespace="default")


async def allow(api: Api, user: str, *rules: dict[str, list[str]]) -> None:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": user}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": user}]
    metadata = {"name": user}
    await api.create(GroupVersionResource(RBAC, "v1", "clusterroles"), {"metadata": metadata, "rules": [*rules]})
    bindings = GroupVersionResource(RBAC, "v1", "clusterrolebindings")
    await api.create(bindings, {"metadata": metadata, "roleRef": reference, "subjects": subjects})


@pytest.mark.parametrize("target", ["/api/v1/secrets?watch=true", "/api/v1/watch/secrets"])
async def test_who_may_only_list_as_another_user_does_not_watch_as_that_user(target: str) -> None:
    act = {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"]}
    async with opened() as api:
        await allow(api, "alice", {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]})
        for verb in ("list", "watch"):
            on = {"apiGroups": [""], "resources": ["secrets"], "verbs": [f"impersonate-on:user-info:{verb}"]}
            await allow(api, f"{verb}er", act, on)
        handler = HTTPHandler(api.registry, Authenticator({"list": User("lister"), "watch": User("watcher")}))

        async def code(token: str, target: str) -> int:
            headers = Headers([("authorization", f"Bearer {token}"), ("impersonate-user", "alice")])
            answer = await handler(HTTPRequest("GET", target, headers))
            if isinstance(answer, StreamingResponse):
                await answer.chunks.aclose()  # type: ignore[attr-defined]
            return answer.status

        assert (await code("list", "/api/v1/secrets"), await code("watch", "/api/v1/secrets")) == (200, 403)
        assert (await code("list", target), await code("watch", target)) == (403, 200)
