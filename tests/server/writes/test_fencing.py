"""A write of a former leader is refused in the transaction that would store it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from pilotage.errors import Forbidden
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.fence import Fence, LeaderTerm
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.server.registry import Registry
from pilotage.server.writes.fencing import STALE_LEADER
from pilotage.storage.interface import Operation, Put
from pilotage.storage.memory import MemoryStorage

from ..registries import CONFIG_MAPS, Api, registry_context

LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
PODS = GroupVersionResource("", "v1", "pods")
MINE = (Fence(LeaderTerm("default", "leader", "me", 3)),)
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Interfering(MemoryStorage):
    """Runs a function before the next commit of a ConfigMap: between the checks of a write and its commit."""

    def __init__(self) -> None:
        super().__init__()
        self.before: list[Any] = []

    async def commit(self, *operations: Operation) -> int:
        first = operations[0]
        if self.before and isinstance(first, Put) and "configmaps" in first.key:
            await self.before.pop(0)()
        return await super().commit(*operations)


@asynccontextmanager
async def opened(storage: MemoryStorage | None = None) -> AsyncIterator[Api]:
    """A registry with the lease."""
    async with Registry(registry_context(storage or MemoryStorage())) as registry:
        api = Api(registry)
        await api.create(LEASES, {"metadata": {"name": "leader"}, "spec": lease("me", 3)}, "default")
        yield api


def lease(holder: str, transitions: int) -> dict[str, Any]:
    return {"holderIdentity": holder, "leaseTransitions": transitions, "leaseDurationSeconds": 15}


async def hold(api: Api, holder: str, transitions: int) -> None:
    await api.patch(LEASES, "leader", {"spec": lease(holder, transitions)}, "default")


def create(name: str = "a") -> APIRequest:
    body = json.dumps({"metadata": {"name": name}}).encode()
    return APIRequest(Verb.CREATE, CONFIG_MAPS, "default", body=body, fences=MINE)


def patch(kind: PatchType, document: object, **more: Any) -> APIRequest:
    body = json.dumps(document).encode()
    return APIRequest(Verb.PATCH, CONFIG_MAPS, "default", "a", body=body, content_type=kind.value, fences=MINE, **more)


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": "value"}}
WRITES = {
    "create": create("b"),
    "update": APIRequest(Verb.UPDATE, CONFIG_MAPS, "default", "a", body=json.dumps(CONFIG_MAP).encode(), fences=MINE),
    "patch": patch(PatchType.MERGE, {"data": {"key": "value"}}),
    "apply": patch(PatchType.APPLY, CONFIG_MAP, write=WriteOptions(field_manager="m")),
    "delete": APIRequest(Verb.DELETE, CONFIG_MAPS, "default", "a", fences=MINE),
    "finalizers": patch(PatchType.MERGE, {"metadata": {"finalizers": ["example.com/f"]}}),
    "delete collection": APIRequest(Verb.DELETE_COLLECTION, CONFIG_MAPS, "default", fences=MINE),
    "bind": APIRequest(
        Verb.CREATE,
        PODS,
        "default",
        "p",
        "binding",
        body=b'{"metadata":{"name":"p"},"target":{"name":"n"}}',
        fences=MINE,
    ),
    "evict": APIRequest(Verb.CREATE, PODS, "default", "p", "eviction", body=b'{"metadata":{"name":"p"}}', fences=MINE),
}


async def send(api: Api, request: APIRequest) -> object:
    listing = request.verb is Verb.DELETE_COLLECTION
    return await (api.registry.list(request) if listing else api.registry.call(request))


@pytest.mark.covers("F8", "F13")
@pytest.mark.parametrize("write", WRITES)
async def test_every_write_of_a_former_leader_is_refused(write: str) -> None:
    async with opened() as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        await api.create(PODS, POD, "default")
        await hold(api, "other", 4)
        revision = api.registry.context.storage.revision
        with pytest.raises(
            Forbidden, match="default/leader, held by me since transition 3, which has ended"
        ) as refused:
            await send(api, WRITES[write])
        assert [cause.reason for cause in refused.value.causes] == [STALE_LEADER]
        assert api.registry.context.storage.revision == revision


@pytest.mark.parametrize("write", WRITES)
async def test_every_write_of_the_leader_is_accepted(write: str) -> None:
    async with opened() as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        await api.create(PODS, POD, "default")
        revision = api.registry.context.storage.revision
        await send(api, WRITES[write])
        assert api.registry.context.storage.revision > revision


@pytest.mark.parametrize(("holder", "transitions"), [("me", 4), ("other", 3), ("", 3)])
async def test_a_term_ends_with_its_holder_or_its_number(holder: str, transitions: int) -> None:
    async with opened() as api:
        await hold(api, holder, transitions)
        with pytest.raises(Forbidden):
            await api.registry.call(create())


async def test_a_lease_that_does_not_exist_proves_no_leadership() -> None:
    async with opened() as api:
        await api.registry.call(APIRequest(Verb.DELETE, LEASES, "default", "leader"))
        with pytest.raises(Forbidden):
            await api.registry.call(create())


async def test_a_renewal_in_the_moment_of_the_commit_does_not_disturb_it() -> None:
    storage = Interfering()
    async with opened(storage) as api:
        renewal = {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
        storage.before.append(lambda: api.patch(LEASES, "leader", renewal, "default"))
        assert (await api.registry.call(create())).code == 201
        assert not storage.before


@pytest.mark.covers("F8")
async def test_a_lease_that_is_taken_in_the_moment_of_the_commit_refuses_it() -> None:
    storage = Interfering()
    async with opened(storage) as api:
        storage.before.append(lambda: hold(api, "other", 4))
        with pytest.raises(Forbidden):
            await api.registry.call(create())
        assert not storage.before


async def test_the_deadline_of_the_holder_is_checked_before_the_commit() -> None:
    async with opened() as api:

        def passed() -> None:
            raise asyncio.CancelledError

        revision = api.registry.context.storage.revision
        with pytest.raises(asyncio.CancelledError):
            await api.registry.call(replace(create(), fences=(Fence(None, passed),)))
        assert api.registry.context.storage.revision == revision


async def test_a_leader_may_write_its_own_lease() -> None:
    async with opened() as api:
        body = b'{"metadata":{"labels":{"a":"b"}}}'
        request = APIRequest(
            Verb.PATCH, LEASES, "default", "leader", body=body, content_type=PatchType.MERGE.value, fences=MINE
        )
        assert b'"a":"b"' in (await api.registry.call(request)).body
        await hold(api, "other", 4)
        with pytest.raises(Forbidden):
            await api.registry.call(replace(request, body=b'{"metadata":{"labels":{"a":"c"}}}'))
