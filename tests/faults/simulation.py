"""A story in virtual time: an operator on an embedded API server, users that act, and a network with faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pilotage as pt
from pilotage.cluster import Cluster
from pilotage.meta.documents import copied
from pilotage.meta.objects import document_of
from pilotage.rest import Transport
from pilotage.schema.generate.crd import crd
from pilotage.testing import loop as virtual

from .network import Link, cluster_on
from .operators import Operator

OPTIONS = pt.ManagerOptions(graceful_shutdown_timeout=0, handle_signals=False)
BETWEEN_STEPS = 100.0
"""Seconds from one step of the users to the next: longer than a crash and a restart."""
RESTART = 5.0


class CrashingLink(Link):
    """A link whose program can be killed."""

    def __init__(self, server: Transport) -> None:
        super().__init__(server)
        self.crashed = asyncio.Event()

    def crash(self) -> None:
        self.cut()
        self.crashed.set()


NewLink = Callable[[Transport, int], CrashingLink]
"""The link of the program in its n-th life, from 0."""


@dataclass(frozen=True)
class Outcome:
    """The objects in the end, and how often the operator was started."""

    state: dict[str, Any]
    lives: int
    still: bool
    """Whether nothing was written any more in the end."""


def simulate(operator: Operator, new_link: NewLink, seed: int = 0, between_steps: float = BETWEEN_STEPS) -> Outcome:
    return virtual.run(_story(operator, new_link, between_steps), seed=seed)


async def _story(operator: Operator, new_link: NewLink, between_steps: float) -> Outcome:
    lives = 0

    async def live() -> None:
        nonlocal lives
        while True:
            link = new_link(server.registry, lives)
            lives += 1
            await _one_life(operator, link)
            await asyncio.sleep(RESTART)

    async with Cluster.embedded("memory:") as server:
        for kind in operator.installed:
            await server.client.create(pt.Unstructured(copied(_definition(kind))))
        users = server.client.with_namespace("default")
        living = asyncio.ensure_future(live())
        await asyncio.sleep(10)
        for step in operator.steps:
            await step(users)
            await asyncio.sleep(between_steps)
        await asyncio.sleep(between_steps)
        before = await _state(operator, server.client)
        await asyncio.sleep(between_steps)
        after = await _state(operator, server.client)
        living.cancel()
        await asyncio.wait([living])
        assert living.cancelled(), living.exception()
    return Outcome({key: _masked(found, operator.times) for key, found in after.items()}, lives, before == after)


async def _one_life(operator: Operator, link: CrashingLink) -> None:
    """Run the program until it is killed. What it still does then reaches nothing."""
    async with pt.Manager(cluster_on(link), OPTIONS) as manager:
        await operator.setup(manager)
        running = asyncio.ensure_future(manager.start())
        crashed = asyncio.ensure_future(link.crashed.wait())
        try:
            await asyncio.wait([running, crashed], return_when=asyncio.FIRST_COMPLETED)
            assert not running.done(), f"the manager ended: {running.exception()!r}"
        finally:
            running.cancel()
            crashed.cancel()
            await asyncio.wait([running, crashed])


@cache
def _definition(kind: type[pt.Resource]) -> dict[str, Any]:
    """A definition that allows everything: to compile a schema with a template of Pods takes longer than a story."""
    document = crd(kind)
    for version in document["spec"]["versions"]:
        version.pop("selectableFields", None)
        version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return document


async def _state(operator: Operator, client: pt.Client) -> dict[str, dict[str, Any]]:
    return {
        f"{kind.__name__} {one.metadata.namespace}/{one.metadata.name}": document_of(one)
        for kind in operator.compared
        for one in await client.list(kind)
    }


_VOLATILE = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
_GENERATED = ("controller-uid", "batch.kubernetes.io/controller-uid")
"""Labels of Jobs with the uid of their own."""


def _masked(value: Any, times: tuple[str, ...]) -> Any:
    """A document without what no two runs have in common."""
    if isinstance(value, dict):
        found = {name: _masked(each, times) for name, each in value.items() if name not in _VOLATILE + _GENERATED}
        return found | {name: "some time" for name in times if name in found}
    return [_masked(each, times) for each in value] if isinstance(value, list) else value
