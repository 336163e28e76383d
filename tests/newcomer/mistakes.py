"""An operator with mistakes, for the page "Why does it not reconcile?". Each has an object that shows it."""

from __future__ import annotations

import asyncio

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap, LimitRange, PodTemplate, Secret, Service


class Configs:
    """What happens to a ConfigMap depends on its name."""

    def __init__(self, client: pt.Client) -> None:
        self.client = client

    async def reconcile(self, request: pt.Request) -> pt.Result:
        found = await self.client.get(ConfigMap, request)
        if request.name == "fails":
            raise KeyError("owner")
        if request.name == "terminal":
            raise pt.TerminalError("the name is not allowed")
        if request.name == "later":
            return pt.Result(requeue_after=3600)
        if request.name == "loops":
            await self.client.patch(found, {"data": {"count": str(int(found.data.get("count", 0)) + 1)}})
        if request.name == "kept" and not found.metadata.finalizers:
            await self.client.patch(found, {"metadata": {"finalizers": ["example.com/clean-up"]}})
        return pt.Result()


async def nothing(request: pt.Request) -> None:
    pass


async def hangs(request: pt.Request) -> None:
    if request.name == "hangs":
        await asyncio.sleep(100_000)


def setup(manager: pt.Manager) -> None:
    build = pt.ControllerBuilder
    build(manager).for_(ConfigMap).complete(Configs(manager.client))
    build(manager).for_(Service, predicates=[pt.generation_changed]).complete(nothing)
    build(manager).for_(LimitRange).watches(PodTemplate, pt.enqueue_requests_from(owners_of)).complete(nothing)
    build(manager).for_(Secret).complete(hangs)


def owners_of(template: PodTemplate) -> list[pt.Request]:
    return [pt.Request(name) for name in template.metadata.labels.values()]
