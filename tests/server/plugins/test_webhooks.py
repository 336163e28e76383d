from __future__ import annotations

import json
from typing import Any

from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, User, Verb
from pilotage.server.registry import Registry
from pilotage.storage.interface import Snapshot
from pilotage.storage.memory import MemoryStorage
from tests.server.registries import CONFIG_MAPS, Api
from tests.server.webhooks.servers import allowed, patched
from tests.server.webhooks.test_failures import cluster, install, webhook

PODS = GroupVersionResource("", "v1", "pods")
URL = "https://hooks.test/x"


def _rules(*resources: str) -> list[Document]:
    return [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": list(resources)}]


class _Lists(MemoryStorage):
    def __init__(self) -> None:
        super().__init__()
        self.prefixes: list[str] = []

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        self.prefixes.append(prefix)
        return await super().list(prefix, start=start, limit=limit, revision=revision)


async def test_a_write_without_webhooks_does_not_look_for_any_in_the_storage() -> None:
    storage = _Lists()
    async with Registry(cluster_context(storage)) as registry:
        api = Api(registry)
        await api.create(CONFIG_MAPS, {"metadata": {"name": "first"}}, "default")
        storage.prefixes.clear()
        for number in range(20):
            await api.create(CONFIG_MAPS, {"metadata": {"name": f"n{number}"}}, "default")
    assert [prefix for prefix in storage.prefixes if prefix.endswith("admissionregistration.k8s.io/")] == []


async def test_plugins_that_run_a_second_time_add_nothing_twice() -> None:
    """A webhook that changes a Pod makes all plugins look at it again."""

    async def label(review: Document) -> Document:
        return patched(review, {"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}})

    async with cluster() as api:
        await api.create(GroupVersionResource("", "v1", "serviceaccounts"), {"metadata": {"name": "me"}}, "default")
        spec = {"serviceAccountName": "me", "containers": [{"name": "c", "image": "i"}]}
        before = await api.create(PODS, {"metadata": {"name": "before"}, "spec": spec}, "default")
        api.registry.local_webhooks.add(URL, label)
        await install(api, "Mutating", webhook({"url": URL}, rules=_rules("pods")))
        after = await api.create(PODS, {"metadata": {"name": "after"}, "spec": spec}, "default")
    assert after["metadata"]["labels"] == {"by": "webhook"}
    assert len(after["spec"]["volumes"]) == len(before["spec"]["volumes"]) == 1
    assert len(after["spec"]["containers"][0]["volumeMounts"]) == 1
    assert after["spec"]["tolerations"] == before["spec"]["tolerations"]


async def test_a_review_has_the_user_of_the_request() -> None:
    users: list[Any] = []

    async def note(review: Document) -> Document:
        users.append(review["request"]["userInfo"])
        return allowed(review)

    async with cluster() as api:
        api.registry.local_webhooks.add(URL, note)
        await install(api, "Validating", webhook({"url": URL}))
        user = User("alice", ("system:masters", "team"), {"scopes": ("a", "b")}, "42")
        body = json.dumps({"metadata": {"name": "a"}}).encode()
        await api.registry.call(APIRequest(Verb.CREATE, CONFIG_MAPS, namespace="default", body=body, user=user))
    assert users == [
        {"username": "alice", "uid": "42", "groups": ["system:masters", "team"], "extra": {"scopes": ["a", "b"]}}
    ]


async def test_configurations_are_called_in_the_order_of_their_names_and_webhooks_in_theirs() -> None:
    called: list[str] = []

    def noting(name: str) -> Any:
        async def note(review: Document) -> Document:
            called.append(name)
            return allowed(review)

        return note

    async with cluster() as api:
        for name in ("b-1", "b-2", "a-1"):
            api.registry.local_webhooks.add(f"https://hooks.test/{name}", noting(name))
        for configuration, names in (("b", ("b-1", "b-2")), ("a", ("a-1",))):
            hooks = [webhook({"url": f"https://hooks.test/{name}"}, name=f"{name}.example.com.test") for name in names]
            await install(api, "Mutating", *hooks, name=configuration)
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
    assert called == ["a-1", "b-1", "b-2"]


async def test_a_webhook_that_asks_for_it_sees_what_a_later_one_has_changed() -> None:
    seen: list[tuple[str, Any]] = []

    async def first(review: Document) -> Document:
        seen.append(("first", review["request"]["object"].get("data")))
        return allowed(review)

    async def second(review: Document) -> Document:
        seen.append(("second", review["request"]["object"].get("data")))
        return patched(review, {"op": "add", "path": "/data", "value": {"by": "second"}})

    async with cluster() as api:
        api.registry.local_webhooks.add("https://hooks.test/1", first)
        api.registry.local_webhooks.add("https://hooks.test/2", second)
        again = webhook({"url": "https://hooks.test/1"}, name="a.example.com.test", reinvocationPolicy="IfNeeded")
        await install(api, "Mutating", again, webhook({"url": "https://hooks.test/2"}, name="b.example.com.test"))
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
    assert seen == [("first", None), ("second", None), ("first", {"by": "second"})]
