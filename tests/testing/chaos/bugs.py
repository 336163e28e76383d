"""Reconcilers with one mistake each, and their correct forms: what each fault must find, and must not find."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pilotage as pt
from pilotage.errors import ApiError, Conflict
from pilotage.testing import Environment, chaos
from pilotage.types.core.v1 import ConfigMap, Secret


class StoreSpec(pt.Model):
    size: int = 1


class StoreStatus(pt.Model):
    phase: str = ""


@pt.resource(group="stores.pilotage.dev", version="v1", status=True)
class Store(pt.Resource):
    spec: StoreSpec
    status: StoreStatus | None = None


FINALIZER = "stores.pilotage.dev/claim"
NAMESPACE = "default"


def meta(name: str = "main") -> pt.ObjectMeta:
    return pt.ObjectMeta(name=name, namespace=NAMESPACE)


class Reconciler:
    """Watches Stores, and ConfigMaps and Secrets that they own."""

    def __init__(self, manager: pt.Manager) -> None:
        self.manager = manager
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        raise NotImplementedError

    async def find(self, name: str) -> ConfigMap | None:
        return await self.client.find(ConfigMap, name, namespace=NAMESPACE)

    def config(self, store: Store, **data: str) -> ConfigMap:
        config = ConfigMap(metadata=meta(store.metadata.name), data=data)
        pt.set_controller_reference(store, config)
        return config


class StatusFirst(Reconciler):
    """It reports that the work is done before it is."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if store.status is None:
            await self.client.patch_status(store, {"status": {"phase": "Ready"}})
            await self.client.create(self.config(store))


class StatusLast(Reconciler):
    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if store.status is None:
            await pt.create_or_patch(self.client, self.config(store), owner=store)
            await self.client.patch_status(store, {"status": {"phase": "Ready"}})


class DeletesByName(Reconciler):
    """It deletes the claim of a Store that is being deleted, also if it belongs to the next Store of that name."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if store.metadata.deletion_timestamp is not None:
            await self.clean_up(store)
            return
        if FINALIZER not in store.metadata.finalizers:
            store.metadata.finalizers.append(FINALIZER)
            await self.client.update(store)
        if await self.find(request.name) is None:
            config = self.config(store)
            config.metadata.labels = {"uid": store.metadata.uid}
            await self.client.create(config)

    async def clean_up(self, store: Store) -> None:
        claim = await self.find(store.metadata.name)
        if claim is not None:
            await self.client.delete(claim)
        store.metadata.finalizers.remove(FINALIZER)
        await self.client.update(store)


class DeletesByUid(DeletesByName):
    """It asks the server for the claim, and whose it is."""

    async def clean_up(self, store: Store) -> None:
        claim = await self.manager.api_reader.find(ConfigMap, store.metadata.name, namespace=NAMESPACE)
        if claim is not None and claim.metadata.labels["uid"] == store.metadata.uid:
            await self.client.delete(claim)
        store.metadata.finalizers.remove(FINALIZER)
        await self.client.update(store)


class NeedsDeleteEvent(Reconciler):
    """It removes a claim when it sees that the Store is deleted, and nothing brings it back to a missed deletion."""

    async def reconcile(self, request: pt.Request) -> None:
        if await self.client.find(Store, request.name, namespace=NAMESPACE) is None:
            if (claim := await self.find(request.name)) is not None:
                await self.client.delete(claim)
        elif await self.find(request.name) is None:
            await self.client.create(ConfigMap(metadata=meta()))


class RepeatsCreate(Reconciler):
    """After an error it creates another object with a generated name."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if store.status is None:
            config = ConfigMap(metadata=pt.ObjectMeta(generate_name="main-", namespace=NAMESPACE))
            pt.set_controller_reference(store, config)
            await self.client.create(config)
            await self.client.patch_status(store, {"status": {"phase": "Ready"}})


class DropsConflict(Reconciler):
    """It takes a conflict for somebody else's success."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if store.status is None:
            store.status = StoreStatus(phase="Ready")
            try:
                await self.client.update_status(store)
            except Conflict:
                return


class DropsErrors(Reconciler):
    """It logs errors of writes, and does not try again."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if await self.find(request.name) is None:
            try:
                await self.client.create(self.config(store))
            except ApiError:
                return


class TakesErrorForNotFound(Reconciler):
    """Its live read fails, and it goes on without."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if await self.find(request.name) is None:
            try:
                found = await self.manager.api_reader.get(Secret, "login", namespace=NAMESPACE)
                user = "known" if found.data else "empty"
            except ApiError:
                user = "nobody"
            await self.client.create(self.config(store, user=user))


class NeedsOrder(Reconciler):
    """It looks for a Secret once, in a cache of another kind."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if await self.find(request.name) is None:
            login = await self.client.find(Secret, "login", namespace=NAMESPACE)
            await self.client.create(self.config(store, user="nobody" if login is None else "known"))


class MeasuresByClock(Reconciler):
    """It gives up a Store whose creation seems to be an hour ago."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        created = store.metadata.creation_timestamp
        if await self.find(request.name) is None:
            await self.client.create(self.config(store))
        if store.status is None and created is not None:
            is_late = self.manager.clock() - created > timedelta(minutes=30)
            await self.client.patch_status(store, {"status": {"phase": "TimedOut" if is_late else "Ready"}})


class GeneratesAgain(Reconciler):
    """Each process makes a password of its own."""

    def __init__(self, manager: pt.Manager) -> None:
        super().__init__(manager)
        self.password = secrets.token_hex(8)

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        secret = Secret(metadata=meta(), string_data={"password": self.password})
        await pt.create_or_patch(self.client, secret, owner=store)


class KeepsPassword(GeneratesAgain):
    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if await self.client.find(Secret, request.name, namespace=NAMESPACE) is None:
            secret = Secret(metadata=meta(), string_data={"password": self.password})
            pt.set_controller_reference(store, secret)
            await self.client.create(secret)


Step = Callable[[pt.Client], Awaitable[object]]


async def create_store(client: pt.Client) -> object:
    return await client.create(Store(metadata=meta(), spec=StoreSpec()))


async def delete_store(client: pt.Client) -> object:
    await client.delete(Store, "main", namespace=NAMESPACE)
    return None


async def create_login(client: pt.Client) -> object:
    return await client.create(Secret(metadata=meta("login"), string_data={"user": "ada"}))


@dataclass(frozen=True)
class Bug:
    """A reconciler, what users do, and the fault that finds its mistake."""

    fault: str
    wrong: type[Reconciler]
    right: type[Reconciler] | None
    difference: str
    """A part of the difference."""
    steps: tuple[Step, ...] = (create_store,)
    together: bool = False
    """Whether all steps are made at once."""


BUGS = (
    Bug("killed-after", StatusFirst, StatusLast, "ConfigMap default/main: missing"),
    Bug(
        "stale",
        DeletesByName,
        DeletesByUid,
        "ConfigMap default/main: deleted by the program",
        (create_store, delete_store, create_store),
    ),
    Bug("down", NeedsDeleteEvent, DeletesByUid, "ConfigMap default/main: left behind", (create_store, delete_store)),
    Bug("answer-lost", RepeatsCreate, StatusLast, "ConfigMap default/main-*: 2 objects instead of 1"),
    Bug("timeout", RepeatsCreate, StatusLast, "ConfigMap default/main-*: 2 objects instead of 1"),
    Bug("conflict", DropsConflict, StatusLast, "Store default/main: status.phase"),
    Bug("refused", DropsErrors, StatusLast, "ConfigMap default/main: missing"),
    Bug("internal", DropsErrors, StatusLast, "ConfigMap default/main: missing"),
    Bug("throttled", DropsErrors, StatusLast, "ConfigMap default/main: missing"),
    Bug(
        "unavailable", TakesErrorForNotFound, None, "data.user is 'nobody'", (create_login, create_store), together=True
    ),
    Bug("late", NeedsOrder, None, "data.user is 'nobody'", (create_login, create_store), together=True),
    Bug("clock", MeasuresByClock, None, "status.phase is 'TimedOut'"),
    Bug("stale-start", GeneratesAgain, KeepsPassword, "generated again", (create_store, create_login)),
)


def scenario_of(reconciler: type[Reconciler], steps: tuple[Step, ...], *, together: bool = False) -> chaos.Scenario:
    """Users act one after the other."""

    async def setup(manager: pt.Manager) -> None:
        builder: Any = pt.ControllerBuilder(manager).for_(Store)
        builder.owns(ConfigMap).owns(Secret).complete(reconciler(manager))

    async def scenario(env: Environment) -> None:
        await env.cluster.install(Store)
        async with env.running(setup):
            await env.run_until_idle()
            for step in steps:
                await step(env.client)
                if together:
                    await asyncio.sleep(1)  # virtual: without faults, the caches have seen the step by then
                else:
                    await env.run_until_idle()
            await env.run_until_idle()

    return scenario
