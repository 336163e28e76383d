"""argoproj/argo-rollouts#243: several AnalysisRuns for one step of a Rollout.

The controller creates an AnalysisRun with a generated name, and notes the name in the status of the Rollout. If it
reconciles again before its cache shows the status, it creates another AnalysisRun.
"""

from __future__ import annotations

from contextlib import suppress

import pilotage as pt
from pilotage.errors import AlreadyExists
from pilotage.testing import Environment
from tests.chaos.hall import kit


class RolloutSpec(pt.Model):
    image: str
    replicas: int = 1


class AnalysisRunSpec(pt.Model):
    image: str


class RolloutStatus(pt.Model):
    image: str = ""
    """What the run analyses."""
    run: str = ""


@pt.resource(group="rollouts.pilotage.dev", version="v1", status=True)
class Rollout(pt.Resource):
    spec: RolloutSpec
    status: RolloutStatus | None = None


@pt.resource(group="rollouts.pilotage.dev", version="v1")
class AnalysisRun(pt.Resource):
    spec: AnalysisRunSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        rollout = await self.client.get(Rollout, request)
        if rollout.status is None or rollout.status.image != rollout.spec.image:
            run = await self.start(rollout)
            await self.client.patch_status(rollout, {"status": {"image": rollout.spec.image, "run": run}})

    async def start(self, rollout: Rollout) -> str:
        metadata = pt.ObjectMeta(generate_name=f"{rollout.metadata.name}-", namespace=kit.NAMESPACE)
        run = AnalysisRun(metadata=metadata, spec=AnalysisRunSpec(image=rollout.spec.image))
        pt.set_controller_reference(rollout, run)
        await self.client.create(run)
        return run.metadata.name


class Fixed(Broken):
    """The name follows from what is analysed."""

    async def start(self, rollout: Rollout) -> str:
        name = f"{rollout.metadata.name}-{rollout.spec.image}"
        run = AnalysisRun(metadata=kit.meta(name), spec=AnalysisRunSpec(image=rollout.spec.image))
        pt.set_controller_reference(rollout, run)
        with suppress(AlreadyExists):
            await self.client.create(run)
        return name


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Rollout).owns(AnalysisRun).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    async def check(env: Environment) -> None:
        found = await env.client.list(AnalysisRun, namespace=kit.NAMESPACE)
        assert len(found) == 1, f"AnalysisRun default/main-*: {len(found)} objects"

    acts = (
        kit.create(lambda: Rollout(metadata=kit.meta(), spec=RolloutSpec(image="blue"))),
        kit.patch(Rollout, replicas=2),
        check,
    )
    return kit.acted(setup, [Rollout, AnalysisRun], acts)


BUG = kit.Bug(
    reference="argoproj/argo-rollouts#243",
    kind="own write",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="AnalysisRun default/main-*: ",
    fault="killed-after",
    prevented=True,
)
