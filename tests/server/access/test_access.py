"""Requests of users with few rights, over HTTP: what a kube-apiserver answers to the same requests."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from pilotage.errors import Invalid, InvalidDefinition
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, Peer
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, PatchType, User
from pilotage.server.access.authentication import Authenticator, read_token_file, user_of_certificate
from pilotage.server.decoding import bodies
from pilotage.server.decoding.fieldproblems import FieldProblems
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.offload import LARGE
from pilotage.server.resources import ResourceInfo
from tests.counting import counted_lines

from ..registries import CONFIG_MAPS, Api, opened

GROUP = "rbac.authorization.k8s.io"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "roles")
BINDINGS = GroupVersionResource("rbac.authorization.k8s.io", "v1", "rolebindings")
CLUSTER_ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
CLUSTER_BINDINGS = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
REVIEWS = "/apis/authorization.k8s.io/v1"
USERS = {
    "masters": User("admin", ("system:masters",)),
    "alice": User("alice"),
    "bob": User("bob", ("team",), uid="7"),
}


class Asking:
    """Sends requests with the token of a user."""

    def __init__(self, api: Api, *, anonymous: bool = False) -> None:
        tokens = api.registry.context.service_accounts
        self._handler = HTTPHandler(api.registry, Authenticator(USERS, tokens, anonymous=anonymous))

    async def __call__(
        self, who: str, target: str, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[int, Any]:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if who:
            given["authorization"] = f"Bearer {who}"
        content = b"" if body is None else json.dumps(body).encode()
        answer = await self._handler(HTTPRequest(method, target, Headers(given.items()), content))
        assert isinstance(answer, HTTPResponse)
        is_json = ("content-type", "application/json") in answer.headers
        return answer.status, json.loads(answer.body) if is_json else answer.body


def role(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": [*rules]}


def rule(verbs: str, resources: str, group: str = "") -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


def binding(name: str, role: str, *users: str, kind: str = "Role") -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user} for user in users],
    }


async def grant(api: Api, user: str, *rules: dict[str, Any]) -> None:
    await api.create(ROLES, role(f"{user}s", *rules), "default")
    await api.create(BINDINGS, binding(f"{user}s", f"{user}s", user), "default")


async def grant_everywhere(api: Api, user: str, *rules: dict[str, Any]) -> None:
    """Grant rules by a role and a binding of the cluster."""
    await api.create(CLUSTER_ROLES, role(f"{user}s", *rules) | {"kind": "ClusterRole"})
    bound = binding(f"{user}s", f"{user}s", user, kind="ClusterRole") | {"kind": "ClusterRoleBinding"}
    await api.create(CLUSTER_BINDINGS, bound)


async def test_a_user_may_do_what_a_binding_allows_and_nothing_else() -> None:
    async with opened() as api:
        await grant(api, "alice", rule("get create", "configmaps"))
        ask = Asking(api)
        assert (await ask("alice", "/api/v1/namespaces/default/configmaps/x"))[0] == 404
        assert (await ask("alice", "/api/v1/namespaces/kube-system/configmaps/x"))[0] == 403
        code, status = await ask("alice", "/api/v1/namespaces/default/configmaps")
        assert (code, status["reason"], status["details"]) == (403, "Forbidden", {"kind": "configmaps"})
        assert status["message"] == (
            'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" '
            'in the namespace "default"'
        )


async def test_a_change_of_a_binding_or_of_its_role_counts_for_the_next_request() -> None:
    async with opened() as api:
        ask, target = Asking(api), "/api/v1/namespaces/default/configmaps/x"

        async def codes() -> list[int]:
            return [(await ask(user, target))[0] for user in ("alice", "bob")]

        assert await codes() == [403, 403]
        await grant(api, "alice", rule("get", "configmaps"))
        assert await codes() == [404, 403]
        await api.update(BINDINGS, binding("alices", "alices", "bob"), "default")
        assert await codes() == [403, 404]
        await api.update(ROLES, role("alices", rule("list", "configmaps")), "default")
        assert await codes() == [403, 403]
        await api.update(ROLES, role("alices", rule("get", "configmaps")), "default")
        assert await codes() == [403, 404]
        await api.delete(BINDINGS, "alices", "default")
        assert await codes() == [403, 403]


async def test_bindings_of_other_users_cost_a_request_little() -> None:
    async with opened() as api:
        await grant(api, "alice", rule("get", "configmaps"))
        ask, target = Asking(api), "/api/v1/namespaces/default/configmaps/x"
        counts = []
        for bindings in (0, 50):
            for number in range(bindings):
                await api.create(BINDINGS, binding(f"other-{number}", "alices", f"user-{number}"), "default")
            await ask("alice", target)
            with counted_lines() as lines:
                await ask("alice", target)
            counts.append(lines.count)
        assert counts[1] < counts[0] + 2 * 50  # the storage lists them


async def test_what_is_forbidden_is_named_as_a_cluster_names_it() -> None:
    async with opened() as api:
        ask = Asking(api)
        messages = {
            "/api/v1/nodes": 'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" '
            "at the cluster scope",
            "/api/v1/namespaces/default/pods/x/status": 'pods "x" is forbidden: User "alice" cannot get resource '
            '"pods/status" in API group "" in the namespace "default"',
            "/api/v1/configmaps?watch=1": 'configmaps is forbidden: User "alice" cannot watch resource "configmaps" '
            'in API group "" at the cluster scope',
            "/api/v1/namespaces/default": 'namespaces "default" is forbidden: User "alice" cannot get resource '
            '"namespaces" in API group "" in the namespace "default"',
        }
        for target, message in messages.items():
            assert (await ask("alice", target))[1]["message"] == message


async def test_a_check_of_the_health_needs_a_permission_that_all_checks_together_do_not() -> None:
    async with opened() as api:
        ask = Asking(api)
        assert (await ask("alice", "/livez"))[0] == 200
        code, status = await ask("alice", "/livez/ping")
        assert (code, status["message"]) == (403, 'forbidden: User "alice" cannot get path "/livez/ping"')


async def test_a_method_that_no_resource_has_is_a_verb_without_a_name() -> None:
    async with opened() as api:
        _, status = await Asking(api)("alice", "/api/v1/namespaces/default/pods", "OPTIONS")
        assert 'User "alice" cannot  resource "pods" in API group ""' in status["message"]


@pytest.mark.parametrize("selector", ["metadata.name=one", "metadata.name==one"])
async def test_a_list_of_one_name_needs_a_permission_for_that_name(selector: str) -> None:
    async with opened() as api:
        await grant(api, "alice", rule("list", "configmaps") | {"resourceNames": ["one"]})
        ask, target = Asking(api), "/api/v1/namespaces/default/configmaps"
        assert (await ask("alice", f"{target}?fieldSelector={selector}"))[0] == 200
        assert (await ask("alice", f"{target}?fieldSelector=metadata.name!=one"))[0] == 403


@pytest.mark.parametrize(
    ("target", "verb", "name", "place"),
    [
        ("namespaces/default", "get", ' "default"', 'in the namespace "default"'),
        ("watch/namespaces/default", "watch", ' "default"', 'in the namespace "default"'),
        ("namespaces?fieldSelector=metadata.name=default", "list", ' "default"', "at the cluster scope"),
        ("namespaces?fieldSelector=metadata.name=default&watch=1", "watch", ' "default"', "at the cluster scope"),
        ("watch/namespaces?fieldSelector=metadata.name=default", "watch", "", "at the cluster scope"),
    ],
)
async def test_a_namespace_is_in_itself_unless_a_selector_names_it(
    target: str, verb: str, name: str, place: str
) -> None:
    async with opened() as api:
        code, status = await Asking(api)("alice", f"/api/v1/{target}")
        what = f'User "alice" cannot {verb} resource "namespaces" in API group "" {place}'
        assert (code, status["message"]) == (403, f"namespaces{name} is forbidden: {what}")


async def test_browsers_may_not_guess_the_type_of_what_is_forbidden() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, Authenticator(USERS, api.registry.context.service_accounts))
        for who, more in (("alice", {}), ("masters", {"impersonate-uid": "5"})):
            headers = Headers({"authorization": f"Bearer {who}", **more}.items())
            answer = await handler(HTTPRequest("GET", "/api/v1/nodes", headers))
            assert ("x-content-type-options", "nosniff") in answer.headers


async def test_a_binding_of_a_role_that_does_not_exist_is_named() -> None:
    async with opened() as api:
        await api.create(BINDINGS, binding("dangling", "nope", "alice"), "default")
        _, status = await Asking(api)("alice", "/api/v1/namespaces/default/configmaps")
        assert status["message"].endswith(': RBAC: role.rbac.authorization.k8s.io "nope" not found')


async def test_every_user_may_read_discovery_and_no_other_paths() -> None:
    async with opened() as api:
        ask = Asking(api)
        for target in ("/api", "/apis", "/apis/apps/v1", "/openapi/v3", "/version"):
            assert (await ask("alice", target))[0] == 200
        code, status = await ask("alice", "/")
        assert (code, status["message"]) == (403, 'forbidden: User "alice" cannot get path "/"')


@pytest.mark.parametrize("path", ["/apis/apps/v9", "/api/v2", "/apis/", "/healthz/", "/healthz/etcd", "/nope"])
async def test_a_path_that_may_not_be_read_is_forbidden_whether_it_exists_or_not(path: str) -> None:
    async with opened() as api:
        code, status = await Asking(api, anonymous=True)("", path)
        assert (code, status["message"]) == (403, f'forbidden: User "system:anonymous" cannot get path "{path}"')


async def test_a_wrong_token_is_unauthorized_and_none_is_anonymous_only_if_that_is_asked_for() -> None:
    async with opened() as api:
        assert (await Asking(api)("wrong", "/api/v1/namespaces"))[0] == 401
        assert (await Asking(api)("", "/api/v1/namespaces"))[0] == 401
        ask = Asking(api, anonymous=True)
        assert (await ask("wrong", "/api/v1/namespaces"))[0] == 401
        code, status = await ask("", "/api/v1/namespaces")
        assert (code, 'User "system:anonymous"' in status["message"]) == (403, True)
        assert (await ask("", "/apis"))[0] == 403
        assert (await ask("", "/version"))[0] == 200


async def test_no_user_grants_more_than_they_have() -> None:
    async with opened() as api:
        await grant(
            api, "alice", rule("get create", "configmaps"), rule("create update", "roles", "rbac.authorization.k8s.io")
        )
        ask = Asking(api)
        target = f"{RBAC}/namespaces/default/roles"
        wanted = role("more", rule("get", "secrets"), rule("get create", "configmaps"))
        code, status = await ask("alice", target, "POST", wanted)
        assert (code, status["message"]) == (
            403,
            'roles.rbac.authorization.k8s.io "more" is forbidden: user "alice" (groups=["system:authenticated"]) is '
            "attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
        )
        assert (await ask("alice", target, "POST", role("same", rule("get", "configmaps"))))[0] == 201


async def test_a_role_is_bound_by_who_has_its_rules_or_may_bind_it() -> None:
    async with opened() as api:
        group = "rbac.authorization.k8s.io"
        await grant(api, "alice", rule("get", "configmaps"), rule("create", "rolebindings", group))
        await api.create(ROLES, role("secrets", rule("get", "secrets")), "default")
        await api.create(ROLES, role("maps", rule("get", "configmaps")), "default")
        ask = Asking(api)
        target = f"{RBAC}/namespaces/default/rolebindings"
        assert (await ask("alice", target, "POST", binding("one", "secrets", "bob")))[0] == 403
        assert (await ask("alice", target, "POST", binding("two", "maps", "bob")))[0] == 201
        code, status = await ask("alice", target, "POST", binding("three", "absent", "bob"))
        assert (code, status["message"]) == (404, f'rolebindings.{group} "absent" not found')
        bind = rule("bind", "roles", group) | {"resourceNames": ["secrets"]}
        await api.create(ROLES, role("binder", bind), "default")
        await api.create(BINDINGS, binding("binder", "binder", "alice"), "default")
        assert (await ask("alice", target, "POST", binding("four", "secrets", "bob")))[0] == 201


async def test_a_role_that_aggregates_others_is_written_by_who_may_do_everything() -> None:
    async with opened() as api:
        await grant_everywhere(api, "alice", rule("create update patch", "clusterroles", GROUP))
        ask = Asking(api)
        refused = "must have cluster-admin privileges to use the aggregationRule"
        aggregation = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        body = {"metadata": {"name": "all"}, "aggregationRule": aggregation}
        code, status = await ask("alice", f"{RBAC}/clusterroles", "POST", body)
        message = f'clusterroles.{GROUP} "all" is forbidden: {refused}'
        assert (code, status["message"]) == (403, message)
        made = await api.create(CLUSTER_ROLES, body)
        target = f"{RBAC}/clusterroles/all"
        for patch in ({"aggregationRule": None}, {"metadata": {"labels": {"c": "d"}}}):
            code, status = await ask("alice", target, "PATCH", patch, content_type=PatchType.MERGE.value)
            assert (code, status["message"]) == (403, message)
        assert (await ask("alice", target, "PUT", made))[0] == 200
        await grant_everywhere(api, "bob", rule("*", "*", "*"), {"nonResourceURLs": ["*"], "verbs": ["*"]})
        assert (await ask("bob", target, "PATCH", {"aggregationRule": None}, content_type=PatchType.MERGE.value))[
            0
        ] == 200


@pytest.mark.parametrize("target", ["clusterroles/cluster-admin", "clusterrolebindings/cluster-admin"])
async def test_a_label_of_what_grants_more_than_a_user_has_is_not_theirs_to_change(target: str) -> None:
    async with opened() as api:
        await grant_everywhere(api, "alice", rule("patch", "clusterroles clusterrolebindings", GROUP))
        ask = Asking(api)

        async def patched(metadata: dict[str, Any]) -> tuple[int, Any]:
            body = {"metadata": metadata}
            return await ask("alice", f"{RBAC}/{target}", "PATCH", body, content_type=PatchType.MERGE.value)

        code, status = await patched({"labels": {"a": "b"}})
        assert (code, "attempting to grant RBAC permissions not currently held" in status["message"]) == (403, True)
        owner = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "1"}
        assert (await patched({"finalizers": ["example.com/a"], "ownerReferences": [owner]}))[0] == 200
        assert (await patched({}))[0] == 200


async def test_the_right_to_escalate_one_role_does_not_create_it() -> None:
    async with opened() as api:
        escalate = rule("escalate", "roles", GROUP) | {"resourceNames": ["more"]}
        await grant(api, "alice", rule("create update", "roles", GROUP), escalate)
        ask = Asking(api)
        target, wanted = f"{RBAC}/namespaces/default/roles", role("more", rule("get", "secrets"))
        assert (await ask("alice", target, "POST", wanted))[0] == 403  # a create names no object
        await api.create(ROLES, role("more"), "default")
        assert (await ask("alice", f"{target}/more", "PUT", wanted))[0] == 200


async def test_an_update_that_creates_needs_the_right_to_create() -> None:
    async with opened() as api:
        await grant(api, "alice", rule("update", "endpoints"))
        body = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}}
        code, status = await Asking(api)("alice", "/api/v1/namespaces/default/endpoints/e", "PUT", body)
        refusal = 'endpoints "e" is forbidden: User "alice" cannot create resource "endpoints" in API group ""'
        assert (code, status["message"]) == (403, f'{refusal} in the namespace "default"')


async def test_an_apply_that_creates_needs_the_right_to_create() -> None:
    async with opened() as api:
        await grant(api, "alice", rule("patch", "configmaps"))
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}
        target = "/api/v1/namespaces/default/configmaps/a?fieldManager=test"
        ask = Asking(api)
        code, status = await ask("alice", target, "PATCH", body, content_type=PatchType.APPLY.value)
        refusal = 'configmaps "a" is forbidden: User "alice" cannot create resource "configmaps" in API group ""'
        assert (code, status["message"]) == (403, f'{refusal} in the namespace "default"')
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        assert (await ask("alice", target, "PATCH", body, content_type=PatchType.APPLY.value))[0] == 200


async def test_an_apply_creates_where_requests_are_not_authorized() -> None:
    async with opened(authorization=False) as api:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        target = "/api/v1/namespaces/default/configmaps/a?fieldManager=test"
        assert (await Asking(api)("alice", target, "PATCH", body, content_type=PatchType.APPLY.value))[0] == 201


async def test_reviews_answer_what_a_user_may() -> None:
    async with opened() as api:
        await grant(api, "alice", rule("get", "configmaps"))
        ask = Asking(api)
        what = {"namespace": "default", "verb": "get", "resource": "configmaps"}
        code, review = await ask(
            "alice", f"{REVIEWS}/selfsubjectaccessreviews", "POST", {"spec": {"resourceAttributes": what}}
        )
        assert code == 201
        assert review["status"] == {
            "allowed": True,
            "reason": 'RBAC: allowed by RoleBinding "alices/default" of Role "alices" to User "alice"',
        }
        spec = {"user": "alice", "resourceAttributes": what | {"verb": "delete"}}
        _, review = await ask("masters", f"{REVIEWS}/subjectaccessreviews", "POST", {"spec": spec})
        assert review["status"] == {"allowed": False}
        _, review = await ask("alice", f"{REVIEWS}/selfsubjectrulesreviews", "POST", {"spec": {"namespace": "default"}})
        assert {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]} in review["status"]["resourceRules"]


@pytest.mark.parametrize(
    ("resource", "spec", "message"),
    [
        (
            "selfsubjectaccessreviews",
            {},
            "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes "
            "must be specified",
        ),
        (
            "subjectaccessreviews",
            {"resourceAttributes": {"verb": "get", "resource": "pods"}},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            "namespaces/default/localsubjectaccessreviews",
            {"user": "a", "resourceAttributes": {"namespace": "other", "verb": "get", "resource": "pods"}},
            'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
        ),
    ],
)
async def test_a_review_that_asks_nothing_is_invalid(resource: str, spec: dict[str, Any], message: str) -> None:
    async with opened() as api:
        code, status = await Asking(api)("masters", f"{REVIEWS}/{resource}", "POST", {"spec": spec})
        assert (code, status["message"]) == (422, f'.authorization.k8s.io "" is invalid: {message}')


async def test_users_and_tokens_are_reviewed() -> None:
    async with opened() as api:
        ask = Asking(api)
        base = "/apis/authentication.k8s.io/v1"
        _, review = await ask("bob", f"{base}/selfsubjectreviews", "POST", {})
        info = {"username": "bob", "uid": "7", "groups": ["team", "system:authenticated"]}
        assert review["status"] == {"userInfo": info}
        _, review = await ask("masters", f"{base}/tokenreviews", "POST", {"spec": {"token": "bob"}})
        assert (review["status"]["authenticated"], review["status"]["user"]) == (True, info)
        _, review = await ask("masters", f"{base}/tokenreviews", "POST", {"spec": {"token": "bad"}})
        assert review["status"] == {"user": {}, "error": "invalid bearer token"}
        assert (await ask("masters", f"{base}/tokenreviews", "POST", {"spec": {}}))[0] == 400


async def test_the_token_of_a_service_account_lasts_as_long_as_the_account() -> None:
    async with opened() as api:
        account = await api.create(ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
        issued = await api.registry.context.service_accounts.issue(account, ["https://kubernetes.default.svc"], 3600)
        ask = Asking(api)
        _, review = await ask(issued.token, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "POST", {})
        user = review["status"]["userInfo"]
        assert user["username"] == "system:serviceaccount:default:robot"
        assert user["groups"] == [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ]
        await api.delete(ACCOUNTS, "robot", "default")
        assert (await ask(issued.token, "/apis"))[0] == 401
        forged = f"{issued.token[:-4]}AAAA"
        assert (await ask(forged, "/apis"))[0] == 401


@pytest.mark.parametrize("kind", ["Secret", "Node", "Pod"])
async def test_a_token_ends_with_the_object_that_it_is_bound_to(kind: str) -> None:
    async with opened() as api:
        ask = Asking(api)
        await api.create(ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
        spec = {"serviceAccountName": "robot", "nodeName": "n", "containers": [{"name": "a", "image": "b"}]}
        resource = GroupVersionResource("", "v1", f"{kind.lower()}s")
        namespace = "" if kind == "Node" else "default"
        await api.create(resource, {"metadata": {"name": "b"}} | ({"spec": spec} if kind == "Pod" else {}), namespace)
        wanted = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": "b"}}}
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        _, issued = await ask("masters", f"{accounts}/robot/token", "POST", wanted)

        async def reviewed() -> Any:
            reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
            return (await ask("masters", reviews, "POST", {"spec": {"token": issued["status"]["token"]}}))[1]["status"]

        named = {f"{key.rpartition('/')[2]}": value for key, value in (await reviewed())["user"]["extra"].items()}
        names = {key: value for key, value in named.items() if key.endswith("-name")}
        assert (
            names
            == {
                "Secret": {},
                "Node": {"node-name": ["b"]},
                "Pod": {"pod-name": ["b"], "node-name": ["n"]},
            }[kind]
        )
        await api.delete(resource, "b", namespace, grace_period_seconds=0)
        error = "[invalid bearer token, service account token has been invalidated]"
        assert await reviewed() == {"user": {}, "error": error}
        assert (await ask(issued["status"]["token"], "/apis"))[0] == 401


async def test_a_token_is_valid_for_its_audiences_alone() -> None:
    async with opened() as api:
        ask = Asking(api)
        account = await api.create(ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
        issued = await api.registry.context.service_accounts.issue(account, ["vault", "store"], 3600)
        assert (await ask(issued.token, "/apis"))[0] == 401

        async def reviewed(*audiences: str) -> Any:
            spec = {"token": issued.token, "audiences": audiences}
            reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
            return (await ask("masters", reviews, "POST", {"spec": spec}))[1]["status"]

        assert (await reviewed("other", "store"))["audiences"] == ["store"]
        assert await reviewed("other") == {
            "user": {},
            "error": '[invalid bearer token, token audiences ["vault" "store"] is invalid for the target audiences '
            '["other"]]',
        }


async def test_a_review_of_rules_has_no_managed_fields() -> None:
    async with opened() as api:
        body = {"spec": {"namespace": "default"}}
        _, review = await Asking(api)("alice", f"{REVIEWS}/selfsubjectrulesreviews", "POST", body)
        assert review["metadata"] == {}


async def test_a_large_review_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    read, threads = bodies.read, list[threading.Thread]()

    def noted(request: APIRequest, info: ResourceInfo) -> tuple[Document, FieldProblems]:
        threads.append(threading.current_thread())
        return read(request, info)

    monkeypatch.setattr(bodies, "read", noted)
    async with opened() as api:
        spec = {"resourceAttributes": {"verb": "get", "name": "x" * LARGE}}
        code, _ = await Asking(api)("alice", f"{REVIEWS}/selfsubjectaccessreviews", "POST", {"spec": spec})
    assert code == 201
    assert threads
    assert threading.current_thread() not in threads


async def test_impersonation_needs_a_name() -> None:
    async with opened() as api:
        code, status = await Asking(api)("masters", "/apis", impersonate_group="g")
        assert code == 400
        assert status["message"] == (
            'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} '
            "without impersonating a user name"
        )


async def test_an_empty_name_impersonates_no_user() -> None:
    async with opened() as api:
        code, _ = await Asking(api)("masters", "/apis", impersonate_user="")
        assert code == 200


async def test_the_role_of_a_binding_is_shown_as_kube_apiserver_shows_it() -> None:
    async with opened() as api:
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        await api.create(BINDINGS, {"metadata": {"name": "b"}, "roleRef": reference}, "default")
        changed = {"metadata": {"name": "b"}, "roleRef": reference | {"name": "s"}}
        with pytest.raises(Invalid) as caught:
            await api.update(BINDINGS, changed, "default")
        shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}'
        assert shown in caught.value.status.message


@pytest.mark.parametrize("token", ["a.b.c", "..", "a" * 100_000 + ".b.c", "\udcff.b.c", "e30.e30.AAAA"])
async def test_what_is_no_token_is_refused(token: str) -> None:
    async with opened() as api:
        assert await api.registry.context.service_accounts.user_of(token) is None


async def test_impersonation_needs_the_right_to_impersonate() -> None:
    async with opened() as api:
        ask = Asking(api)
        code, status = await ask("alice", "/apis", impersonate_user="bob")
        assert (code, status["message"]) == (
            403,
            'forbidden: User "alice" cannot impersonate-on:user-info:get path "/apis"',
        )
        _, review = await ask(
            "masters",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            "POST",
            {},
            impersonate_user="carol",
            impersonate_group="g",
            impersonate_uid="u",
            impersonate_extra_scopes="x",
        )
        assert review["status"]["userInfo"] == {
            "username": "carol",
            "uid": "u",
            "groups": ["g", "system:authenticated"],
            "extra": {"scopes": ["x"]},
        }
        assert (await ask("masters", "/apis", impersonate_group="g"))[0] == 400


async def test_aggregated_roles_have_the_rules_of_the_roles_that_they_select() -> None:
    async with opened() as api:
        labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        metadata = {"name": "view-widgets", "labels": labels}
        await api.create(CLUSTER_ROLES, {"metadata": metadata, "rules": [rule("get", "widgets", "test.example.com")]})
        prefix = f"{api.registry.context.prefix}rbac.authorization.k8s.io/clusterroles/"
        async for _ in api.registry.context.storage.watch(f"{prefix}admin", since=1):
            found = await api.get(CLUSTER_ROLES, "admin")
            if any("widgets" in each.get("resources", ()) for each in found.get("rules") or ()):
                break  # view is part of edit, and edit of admin


async def test_the_aggregated_roles_of_a_new_cluster_have_their_rules_from_its_start() -> None:
    async with opened() as api:
        view, edit, admin = [(await api.get(CLUSTER_ROLES, name))["rules"] for name in ("view", "edit", "admin")]
        assert view
        assert all(rule in edit for rule in view)
        assert all(rule in admin for rule in edit)


async def test_the_roles_of_a_cluster_are_there() -> None:
    async with opened() as api:
        names = set(await api.names(CLUSTER_ROLES))
        assert {"cluster-admin", "admin", "edit", "view", "system:discovery", "system:node"} <= names


async def test_in_process_nothing_is_checked() -> None:
    async with opened() as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")


def test_a_certificate_names_its_user_and_groups() -> None:
    subject = ((("organizationName", "team"),), (("commonName", "alice"),))
    assert user_of_certificate({"subject": subject}) == User("alice", ("team", "system:authenticated"))
    assert user_of_certificate({"subject": ()}) is None


def test_a_token_file_has_a_user_on_each_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('t1,alice,1,"a,b"\nt2,bob,2\n')
    assert read_token_file(path) == {"t1": User("alice", ("a", "b"), uid="1"), "t2": User("bob", uid="2")}
    path.write_text("t1,alice\n")
    with pytest.raises(InvalidDefinition, match=r"tokens\.csv, line 1: a line has a token"):
        read_token_file(path)


async def test_a_certificate_authenticates() -> None:
    async with opened() as api:
        subject = ((("organizationName", "system:masters"),), (("commonName", "root"),))
        handler = HTTPHandler(api.registry, Authenticator({}))
        peer = Peer(secure=True, certificate={"subject": subject})
        answer = await handler(HTTPRequest("GET", "/api/v1/namespaces", peer=peer))
        assert answer.status == 200
