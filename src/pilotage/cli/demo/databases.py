"""The cluster's part of `pilotage demo`: the kind Database, its reconciler, and the steps of the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from pilotage.cli.demo.gpus import IDLE_SECONDS, DemoGPUs, print_line
from pilotage.client.outcome import create_or_patch
from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request, Result, enqueue_requests_from
from pilotage.errors import Invalid, MissingExtra
from pilotage.kit.console.narration import narrated
from pilotage.kit.console.signals.stop import Stop
from pilotage.kit.console.terminal import BOLD, GREEN, standard_output
from pilotage.manager.manager import Manager
from pilotage.meta.finalizers import add_finalizer, remove_finalizer
from pilotage.meta.markers import Column, Minimum, Rule
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.types.apps.v1 import StatefulSet, StatefulSetSpec
from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec, Secret
from pilotage.types.meta.v1 import LabelSelector

FINALIZER = "demo.pilotage.dev/stateful-set"


class DatabaseSpec(Model):
    """The desired state of a Database."""

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
    """Creates a StatefulSet for each Database once its Secret exists, and keeps it up to date."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: Request) -> Result:
        database = await self.client.find(Database, request)
        if database is None:
            return Result()  # it was deleted
        if database.metadata.deletion_timestamp is not None:
            return await self._clean_up(database)
        if add_finalizer(database, FINALIZER):  # so that it can clean up before the Database is deleted
            await self.client.update(database)
        if await self.client.find(Secret, f"{request.name}-password", namespace=request.namespace) is None:
            return Result(requeue_after=5)  # or when it is created
        await create_or_patch(self.client, stateful_set_for(database), owner=database)
        if database.status is None or database.status.phase != "Running":
            await self.client.patch_status(database, {"status": {"phase": "Running"}})
        return Result()

    async def _clean_up(self, database: Database) -> Result:
        meta = database.metadata
        if await self.client.find(StatefulSet, meta.name, namespace=meta.namespace) is not None:
            await self.client.delete(StatefulSet, meta.name, namespace=meta.namespace)
        remove_finalizer(database, FINALIZER)
        await self.client.update(database)
        return Result()

    def setup_with_manager(self, manager: Manager) -> None:
        builder = ControllerBuilder(manager).for_(Database).owns(StatefulSet)
        builder.watches(Secret, enqueue_requests_from(database_of)).complete(self)


def stateful_set_for(database: Database) -> StatefulSet:
    """The desired StatefulSet of a Database."""
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


async def run_demo(*, once: bool) -> None:
    """Take the operator through a create, a late Secret, a changed child, an invalid and a valid update, a delete."""
    print_line("An API server starts in this process, on memory: no cluster, no socket. An operator runs on it.")
    print_line("Indented lines are the operator's: why it reconciles an object, what it changes, and the result.")
    cluster = Cluster.embedded("memory:")
    async with DemoGPUs.serving(changing=not once) as gpus, Manager(cluster) as manager:
        await _install(cluster)
        DatabaseReconciler(manager).setup_with_manager(manager)
        gpus.add_to(manager)
        with narrated(manager.history, standard_output()):
            await _run_steps(cluster, manager)
            await gpus.run_steps(cluster, manager)
            if not once:
                with Stop.on_signals() as stop:
                    print_line("That was the demonstration; the operator still runs. Press Ctrl-C to stop it.")
                    await stop.requested.wait()
    print_line("Done.")
    print_next()


def print_next() -> None:
    """Print where the program is, and what to type next."""
    output, here = standard_output(), Path(__file__)
    output.line(f"The operator is in {output.styled(str(here), GREEN)}")
    output.line(f"Its part for GPUs is in {output.styled(str(here.with_name('gpus.py')), GREEN)}")
    output.line(output.styled("next:", BOLD))
    output.line("  pilotage init guestbook  # start a project of your own")
    output.line("  pilotage serve           # serve the API to kubectl")


async def _run_steps(cluster: Cluster, manager: Manager) -> None:
    client = cluster.client
    print_line("You create the Database main, with 3 replicas.")
    spec = DatabaseSpec(engine="postgres", replicas=3)
    database = await client.create(Database(metadata=ObjectMeta(name="main", namespace="default"), spec=spec))
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    print_line("You create the Secret it waits for.")
    meta = ObjectMeta(name="main-password", namespace="default", labels={"database": "main"})
    await client.create(Secret(metadata=meta, string_data={"password": "correct horse"}))
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    print_line("Another client scales the StatefulSet down to 1, which the operator does not want.")
    await client.patch(StatefulSet, {"spec": {"replicas": 1}}, name="main", namespace="default")
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    print_line("You ask for 12 replicas.")
    try:
        await client.patch(database, {"spec": {"replicas": 12}})
    except Invalid as error:
        print_line(f"  refused  {error}")
    print_line("You ask for 5 replicas.")
    await client.patch(database, {"spec": {"replicas": 5}})
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    print_line("You delete the Database.")
    await client.delete(database)
    await manager.run_until_idle(timeout=IDLE_SECONDS)
    left = await client.list(StatefulSet, namespace="default")
    print_line(f"StatefulSets that are left: {len(left)}.")


async def _install(cluster: Cluster) -> None:
    print_line("The class Database becomes a CustomResourceDefinition, and is served at once.")
    try:
        await cluster.install(Database)
    except MissingExtra as error:
        print_line(f"  (skipping its CEL rule: {error})")
        Database.__resource__ = msgspec.structs.replace(Database.__resource__, rules=())
        await cluster.install(Database)
