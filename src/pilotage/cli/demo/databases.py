"""What `pilotage demo` shows: an operator at work on the embedded server and on fake GPUs, line by line."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from pilotage.cli.demo.gpus import GPUs
from pilotage.cli.demo.output import IDLE_SECONDS, say
from pilotage.cli.stop import Stop
from pilotage.client.outcome import Outcome, create_or_patch
from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Event, Request, Result, enqueue_requests_from
from pilotage.errors import Invalid, MissingExtra
from pilotage.manager.manager import Manager
from pilotage.meta.finalizers import add_finalizer, remove_finalizer
from pilotage.meta.markers import Column, Minimum, Rule
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.types.apps.v1 import StatefulSet, StatefulSetSpec
from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec, Secret
from pilotage.types.meta.v1 import LabelSelector

FINALIZER = "demo.pilotage.dev/stateful-set"


class DatabaseSpec(Model):
    """What the user wants."""

    engine: Literal["postgres", "mysql"]
    replicas: Annotated[int, Minimum(1)] = 1


class DatabaseStatus(Model):
    phase: Literal["Pending", "Running", "Failed"] = "Pending"


@resource(
    group="demo.pilotage.dev",
    version="v1alpha1",
    short_names=["db"],
    status=True,
    columns=[Column("Phase", ".status.phase")],
    rules=[Rule("self.spec.replicas <= 9", "at most nine replicas", field_path=".spec.replicas")],
)
class Database(Resource):
    """A database, for the demonstration."""

    spec: DatabaseSpec
    status: DatabaseStatus | None = None


class DatabaseReconciler:
    """Keeps a StatefulSet for each Database, once its password is there."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: Request) -> Result:
        database = await self.client.find(Database, request)
        if database is None:
            say(f"  reconcile {request}: the Database no longer exists; nothing to do")
            return Result()
        if database.metadata.deletion_timestamp is not None:
            return await self._clean_up(database)
        if add_finalizer(database, FINALIZER):
            await self.client.update(database)
            say(f"  reconcile {request}: finalizer added, so that it can clean up before the Database is deleted")
        if await self.client.find(Secret, f"{request.name}-password", namespace=request.namespace) is None:
            say(f"  reconcile {request}: its Secret does not exist yet; try again in 5 s, or when it is created")
            return Result(requeue_after=5)
        outcome = await create_or_patch(self.client, stateful_set_for(database), owner=database)
        if outcome is Outcome.UNCHANGED:
            say(f"  reconcile {request}: nothing to change")
        else:
            say(f"  reconcile {request}: StatefulSet {outcome}, {database.spec.replicas} replicas")
        if database.status is None or database.status.phase != "Running":
            await self.client.patch_status(database, {"status": {"phase": "Running"}})
            say(f"  reconcile {request}: status set to Running")
        return Result()

    async def _clean_up(self, database: Database) -> Result:
        meta = database.metadata
        if await self.client.find(StatefulSet, meta.name, namespace=meta.namespace) is not None:
            await self.client.delete(StatefulSet, meta.name, namespace=meta.namespace)
        remove_finalizer(database, FINALIZER)
        await self.client.update(database)
        say(f"  reconcile {meta.namespace}/{meta.name}: it is being deleted; StatefulSet deleted, finalizer removed")
        return Result()

    def setup_with_manager(self, manager: Manager) -> None:
        (
            ControllerBuilder(manager)
            .for_(Database)
            .owns(StatefulSet)
            .watches(Secret, enqueue_requests_from(database_of))
            .with_event_filter(shown)
            .complete(self)
        )


def stateful_set_for(database: Database) -> StatefulSet:
    """What the operator wants of a Database's StatefulSet."""
    meta, labels = database.metadata, {"database": database.metadata.name}
    return StatefulSet(
        metadata=ObjectMeta(name=meta.name, namespace=meta.namespace, labels=labels),
        spec=StatefulSetSpec(
            replicas=database.spec.replicas,
            service_name=meta.name,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=[Container(name="database", image=database.spec.engine)]),
            ),
        ),
    )


def database_of(secret: Secret) -> list[Request]:
    name = secret.metadata.labels.get("database")
    return [Request(name, secret.metadata.namespace)] if name else []


def shown(event: Event) -> bool:
    """A predicate that accepts every event and prints it: the reason for what is reconciled next."""
    kind = event.object.kind
    say(f"  because   {kind} {event.object.metadata.name}: {event.type}")
    return True


async def demonstration(*, once: bool) -> None:
    """Let the operator meet a new object, a late Secret, a tampered child, a change, a refusal and a deletion."""
    say("An API server starts in this process, on memory: no cluster, no socket. An operator runs on it.")
    say("Indented lines are the operator's: `because` names an event that it received, `reconcile` what it then did.")
    cluster = Cluster.embedded("memory:")
    async with GPUs(lively=not once) as gpus, Manager(cluster) as manager:
        await _install(cluster)
        DatabaseReconciler(manager).setup_with_manager(manager)
        gpus.join(manager)
        await _story(cluster, manager)
        await gpus.story(cluster, manager)
        if not once:
            with Stop.on_signals() as stop:
                say("That was the demonstration; the operator still runs. Press Ctrl-C to stop it.")
                await stop.asked.wait()
    say("Done.")


async def _story(cluster: Cluster, manager: Manager) -> None:
    client = cluster.client
    say("You create the Database main, with 3 replicas.")
    spec = DatabaseSpec(engine="postgres", replicas=3)
    database = await client.create(Database(metadata=ObjectMeta(name="main", namespace="default"), spec=spec))
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    say("You create the Secret it waits for.")
    meta = ObjectMeta(name="main-password", namespace="default", labels={"database": "main"})
    await client.create(Secret(metadata=meta, string_data={"password": "correct horse"}))
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    say("Another client scales the StatefulSet down to 1, which the operator does not want.")
    await client.patch(StatefulSet, {"spec": {"replicas": 1}}, name="main", namespace="default")
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    say("You ask for 12 replicas.")
    try:
        await client.patch(database, {"spec": {"replicas": 12}})
    except Invalid as error:
        say(f"  refused   {error}")
    say("You ask for 5 replicas.")
    await client.patch(database, {"spec": {"replicas": 5}})
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    say("You delete the Database.")
    await client.delete(database)
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    left = await client.list(StatefulSet, namespace="default")
    say(f"StatefulSets that are left: {len(left)}.")


async def _install(cluster: Cluster) -> None:
    say("The class Database becomes a CustomResourceDefinition, and is served at once.")
    try:
        await cluster.install(Database)
    except MissingExtra as error:
        say(f"  (its CEL rule is left out: {error})")
        Database.__resource__ = dataclasses.replace(Database.__resource__, rules=())
        await cluster.install(Database)
