"""What `pilotage demo` shows: a kind and its objects on the embedded server, told line by line."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from typing import Annotated, Literal

from pilotage.cluster import Cluster
from pilotage.errors import Conflict, Invalid, MissingExtra
from pilotage.meta.markers import Column, Minimum, Rule
from pilotage.meta.models import Model, ObjectMeta, Resource, resource


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
    rules=[Rule("self.spec.replicas <= 9", "at most nine replicas")],
)
class Database(Resource):
    """A database, for the tour."""

    spec: DatabaseSpec
    status: DatabaseStatus | None = None


async def tour(*, once: bool) -> None:
    """Create, watch, refuse, conflict, delete; then wait for Ctrl-C unless `once`."""
    say("An API server starts in this process, on memory: no cluster, no socket.")
    async with Cluster.embedded("memory:") as cluster:
        await _install(cluster)
        async with cluster.client.watch(Database, namespace="default") as events:
            await _change(cluster)
            say("A watch that was open all the while saw:")
            async for event in events:
                found = event.object
                phase = found.status.phase if found.status else "no status"
                say(f"  {event.type:8} {found.metadata.name}: {found.spec.replicas} replicas, {phase}")
                if event.type == "DELETED":
                    break
        if not once:
            await _interrupted()
    say("Done.")


def say(line: str) -> None:
    print(line, flush=True)


async def _install(cluster: Cluster) -> None:
    say("The class Database becomes a CustomResourceDefinition, and is served at once.")
    try:
        await cluster.install(Database)
    except MissingExtra as error:
        say(f"  (its CEL rule is left out: {error})")
        Database.__resource__ = dataclasses.replace(Database.__resource__, rules=())
        await cluster.install(Database)


async def _change(cluster: Cluster) -> None:
    client = cluster.client
    wanted = Database(
        metadata=ObjectMeta(name="main", namespace="default"),
        spec=DatabaseSpec(engine="postgres", replicas=3),
    )
    created = await client.create(wanted)
    say(f"created   database main, uid {created.metadata.uid}, resourceVersion {created.metadata.resource_version}")
    stale = await client.get(Database, "main", namespace="default")
    await client.patch_status(created, {"status": {"phase": "Running"}})
    say(f"patched   its status: Running, resourceVersion {created.metadata.resource_version}")
    for replicas in (0, 12):
        try:
            await client.patch(created, {"spec": {"replicas": replicas}})
        except Invalid as error:
            say(f"refused   {replicas} replicas: {error}")
    stale.spec.replicas = 5
    try:
        await client.update(stale)
    except Conflict as error:
        say(f"refused   an update of an old version: {error}")
    await client.patch(created, {"spec": {"replicas": 5}})
    say(f"patched   to {created.spec.replicas} replicas, generation {created.metadata.generation}")
    await client.delete(created)
    say("deleted   database main")


async def _interrupted() -> None:
    """Wait for Ctrl-C, which is the proper end here and no failure."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    say("That was the tour. Press Ctrl-C to stop the server.")
    await stop.wait()
