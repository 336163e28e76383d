"""konflux-ci/konflux-ci#5874: 15 controllers reconcile 1,350 times a second, and the logs look healthy.

Each reconcile changes the status, and changes it back when it ends. The events of these writes lead to the next
reconcile, because nothing filters events by the generation of the object.
"""

from __future__ import annotations

import pilotage as pt
from tests.chaos.hall import kit


class KonfluxSpec(pt.Model):
    size: int = 1


class KonfluxStatus(pt.Model):
    phase: str = ""


@pt.resource(group="konflux.pilotage.dev", version="v1", status=True)
class Konflux(pt.Resource):
    spec: KonfluxSpec
    status: KonfluxStatus | None = None


class Reconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        konflux = await self.client.get(Konflux, request)
        await self.client.patch_status(konflux, {"status": {"phase": "Progressing"}})
        await self.client.patch_status(konflux, {"status": {"phase": "Ready"}})


async def broken(manager: pt.Manager) -> None:
    pt.ControllerBuilder(manager).for_(Konflux).complete(Reconciler(manager))


async def fixed(manager: pt.Manager) -> None:
    builder = pt.ControllerBuilder(manager).for_(Konflux, predicates=[pt.generation_changed])
    builder.complete(Reconciler(manager))


def scenario(setup: kit.Setup) -> kit.Scenario:
    acts = (
        kit.create(lambda: Konflux(metadata=kit.meta(), spec=KonfluxSpec())),
        kit.patch(Konflux, size=2),
    )
    return kit.acted(setup, [Konflux], acts)


BUG = kit.Bug(
    reference="konflux-ci/konflux-ci#5874",
    kind="loop",
    broken=broken,
    fixed=fixed,
    scenario=scenario,
    difference="Konflux default/main",
)
