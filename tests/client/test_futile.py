"""A write that had no effect is not sent again, until the object or the desired state changes."""

from __future__ import annotations

import pytest

from pilotage.client import Client
from pilotage.client.futile import FutileWrites, Write
from pilotage.client.outcome import Outcome, create_or_patch, create_or_update
from pilotage.meta.bounds.recent import Recent
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import Verb

from ..environments import Environment
from .kinds import GROUP, definition
from .test_outcome import Spy

CRATE = GroupVersionKind(GROUP, "v1", "Crate")
_ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "default": 1}}}
_PARTS = {"type": "object", "properties": {"parts": {"type": "array", "items": _ITEM}}}
CRATES = definition("Crate", {"spec": _PARTS, "status": _PARTS}, subresources={"status": {}})
"""A kind with a default inside a list, which a client that has no class does not know."""


def crate(namespace: str, *names: str, status: tuple[str, ...] = ()) -> Unstructured:
    document: Document = {"spec": {"parts": [{"name": name} for name in names]}}
    if status:
        document["status"] = {"parts": [{"name": name} for name in status]}
    return Unstructured(
        {"apiVersion": CRATE.api_version, "kind": "Crate", "metadata": {"name": "one", "namespace": namespace}}
        | document
    )


async def test_a_patch_that_changes_nothing_is_sent_once(environment: Environment) -> None:
    await environment.install(CRATES)
    spy, namespace = Spy(environment.transport), environment.namespace
    client = Client(spy)
    assert await create_or_patch(client, crate(namespace, "a")) is Outcome.CREATED
    for _ in range(3):
        again = crate(namespace, "a")
        assert await create_or_patch(client.with_namespace(namespace), again) is Outcome.UNCHANGED
        assert again["spec"] == {"parts": [{"name": "a", "weight": 1}]}
    assert [request.verb for request in spy.writes] == [Verb.CREATE, Verb.PATCH]


async def test_another_desired_state_is_sent_and_both_are_remembered(environment: Environment) -> None:
    await environment.install(CRATES)
    spy, namespace = Spy(environment.transport), environment.namespace
    client = Client(spy)
    await create_or_patch(client, crate(namespace, "a"))
    await create_or_patch(client, crate(namespace, "a"))
    assert await create_or_patch(client, crate(namespace, "b")) is Outcome.UPDATED
    assert await create_or_patch(client, crate(namespace, "b")) is Outcome.UNCHANGED
    spy.writes.clear()
    assert await create_or_patch(client, crate(namespace, "b")) is Outcome.UNCHANGED
    assert not spy.writes
    assert await create_or_patch(client, crate(namespace, "a")) is Outcome.UPDATED


@pytest.mark.parametrize(
    "change", [{"spec": {"parts": [{"name": "a", "weight": 2}]}}, {"metadata": {"labels": {"l": "1"}}}]
)
async def test_a_change_by_another_client_is_a_reason_to_send_again(environment: Environment, change: Document) -> None:
    await environment.install(CRATES)
    spy, namespace = Spy(environment.transport), environment.namespace
    client = Client(spy)
    await create_or_patch(client, crate(namespace, "a"))
    await create_or_patch(client, crate(namespace, "a"))
    await environment.client.patch(CRATE, change, name="one", namespace=namespace)
    spy.writes.clear()
    restored = crate(namespace, "a")
    outcome = await create_or_patch(client, restored)
    assert [request.verb for request in spy.writes] == [Verb.PATCH]
    assert outcome is (Outcome.UPDATED if "spec" in change else Outcome.UNCHANGED)
    assert restored["spec"]["parts"] == [{"name": "a", "weight": 1}]


async def test_an_object_created_again_is_another_object(environment: Environment) -> None:
    await environment.install(CRATES)
    spy, namespace = Spy(environment.transport), environment.namespace
    client = Client(spy)
    for _ in range(2):
        spy.writes.clear()
        await create_or_patch(client, crate(namespace, "a"))
        await create_or_patch(client, crate(namespace, "a"))
        assert [request.verb for request in spy.writes] == [Verb.CREATE, Verb.PATCH]
        await environment.client.delete(CRATE, "one", namespace=namespace)


async def test_the_status_and_the_rest_are_remembered_apart(environment: Environment) -> None:
    await environment.install(CRATES)
    spy, namespace = Spy(environment.transport), environment.namespace
    client = Client(spy)
    await create_or_patch(client, crate(namespace, "a", status=("s",)))
    assert await create_or_patch(client, crate(namespace, "a", status=("s",))) is Outcome.UNCHANGED
    spy.writes.clear()
    assert await create_or_patch(client, crate(namespace, "a", status=("s",))) is Outcome.UNCHANGED
    assert not spy.writes
    assert await create_or_patch(client, crate(namespace, "a", status=("t",))) is Outcome.UPDATED_STATUS_ONLY
    assert [request.subresource for request in spy.writes] == ["status"], "another status does not concern the spec"


async def test_an_update_that_changes_nothing_is_sent_once(environment: Environment) -> None:
    await environment.install(CRATES)
    spy, namespace = Spy(environment.transport), environment.namespace
    client = Client(spy)

    def want(found: Unstructured) -> None:
        found["spec"] = {"parts": [{"name": "a"}]}

    assert await create_or_update(client, crate(namespace), want) is Outcome.CREATED
    for _ in range(3):
        assert await create_or_update(client, crate(namespace), want) is Outcome.UNCHANGED
    assert [request.verb for request in spy.writes] == [Verb.CREATE, Verb.UPDATE]


@pytest.mark.parametrize("by_patch", [True, False])
async def test_a_change_of_the_status_is_no_reason_to_send_again(environment: Environment, by_patch: bool) -> None:
    await environment.install(CRATES)
    spy, namespace = Spy(environment.transport), environment.namespace
    client = Client(spy)

    def want(found: Unstructured) -> None:
        found["spec"] = {"parts": [{"name": "a"}]}

    async def write() -> Outcome:
        if by_patch:
            return await create_or_patch(client, crate(namespace, "a"))
        return await create_or_update(client, crate(namespace), want)

    await write()
    await write()
    status = {"status": {"parts": [{"name": "s"}]}}
    await environment.client.patch(CRATE, status, name="one", namespace=namespace, subresource="status")
    spy.writes.clear()
    assert await write() is Outcome.UNCHANGED
    assert not spy.writes


def test_only_the_last_writes_are_remembered() -> None:
    known: FutileWrites = Recent(2)
    found: list[Document] = [{"metadata": {"uid": str(index)}} for index in range(3)]
    for document in found:
        assert not Write(document, {"spec": 1}).has_effect(document, known)
    assert [Write(document, {"spec": 1}).is_futile(known) for document in found] == [False, True, True]
