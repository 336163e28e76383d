"""An operator as it is, as a scenario: its samples are applied, edited and deleted, and it is idle in between."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from pilotage.errors import ApiError, NotFound
from pilotage.meta.documents import Document, copied
from pilotage.meta.forms import gvk_of
from pilotage.meta.models import ObjectMeta, Resource
from pilotage.meta.unstructured import Unstructured
from pilotage.testing.chaos.editing import Edit, edits
from pilotage.testing.chaos.lives import Setup
from pilotage.testing.chaos.plan import Plan
from pilotage.testing.chaos.runs import ScenarioRunner
from pilotage.testing.environment import Environment
from pilotage.types.core.v1 import Namespace

_FIELD_OWNER = "chaos"
_WORKLOADS = frozenset(
    (
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "Job",
        "CronJob",
        "Pod",
        "ReplicationController",
        "Service",
    )
)
_OF_WORKLOADS = frozenset(("apps", "batch", ""))


@dataclass(frozen=True, slots=True)
class Operator:
    """A program with a `setup(manager)`, the kinds that it defines, and objects to try it with."""

    name: str
    setup: Setup
    kinds: tuple[type[Resource], ...]
    samples: tuple[Document, ...]
    """Applied in this order, and deleted in the other one."""
    edits: tuple[tuple[int, Edit], ...] = ()
    """Each with the number of its sample."""
    with_workloads: bool = False
    """Whether Deployments, Jobs and the others get Pods."""

    async def scenario(self, env: Environment) -> None:
        """Apply, edit and delete, and wait until all is idle after each."""
        await env.cluster.install(*self.kinds)
        await _create_namespaces(env, self.samples)
        async with AsyncExitStack() as exits:
            if self.with_workloads:
                await exits.enter_async_context(env.workloads())
            async with env.running(self.setup):
                await env.run_until_idle()
                for sample in self.samples:
                    await _apply(env, sample)
                await env.run_until_idle()
                for number, edit in self.edits:
                    await _edit(env, self.samples[number], edit)
                    await env.run_until_idle()
                for sample in reversed(self.samples):
                    await _delete(env, sample)
                await env.run_until_idle()

    def runner(self) -> ScenarioRunner:
        """Runs it."""
        runner = ScenarioRunner(self.scenario)
        runner.name = self.name
        return runner


@dataclass(frozen=True, slots=True)
class Preparation:
    """An operator with the edits under which it comes to rest without faults."""

    operator: Operator
    dropped: tuple[Edit, ...] = field(default=())
    """Edits after which it does not come to rest."""


def prepared(operator: Operator, *, count: int = 3, seed: int = 1, with_workloads: bool | None = None) -> Preparation:
    """Add edits from the schemas of its kinds, and simulated workloads where it uses such kinds.

    Raises the error of the operator if it does not come to rest without any edit.
    """
    found = _Declared()
    probe = replace(operator, setup=found.around(operator.setup), with_workloads=False)
    _run(probe, seed)
    uses = found.uses_workloads or any(one["kind"] in _WORKLOADS for one in operator.samples)
    operator = replace(operator, with_workloads=uses if with_workloads is None else with_workloads)
    if (error := _run(operator, seed)) is not None:
        raise error
    dropped: list[Edit] = []
    for number, edit in _edits(operator, count, seed):
        longer = replace(operator, edits=(*operator.edits, (number, edit)))
        if _run(longer, seed) is None:
            operator = longer
        else:
            dropped.append(edit)
    return Preparation(operator, tuple(dropped))


class _Declared:
    """The kinds that the controllers of a program watch."""

    def __init__(self) -> None:
        self.uses_workloads = False

    def around(self, setup: Setup) -> Setup:
        async def looked_at(manager: Any) -> None:
            await setup(manager)
            for watch in manager.declared.watches:
                gvk = gvk_of(watch.kind)
                self.uses_workloads |= gvk.kind in _WORKLOADS and gvk.group in _OF_WORKLOADS

        return looked_at


def _run(operator: Operator, seed: int) -> BaseException | None:
    return operator.runner().run(Plan(seed=seed)).error


def _edits(operator: Operator, count: int, seed: int) -> list[tuple[int, Edit]]:
    """Edits of the first sample of each kind."""
    found: list[tuple[int, Edit]] = []
    kinds = {f"{gvk_of(kind).api_version} {gvk_of(kind).kind}": kind for kind in operator.kinds}
    for number, sample in enumerate(operator.samples):
        kind = kinds.pop(f"{sample['apiVersion']} {sample['kind']}", None)
        if kind is not None:
            found += [(number, edit) for edit in edits(kind, sample=sample, count=count, seed=seed).edits]
    return found


async def _create_namespaces(env: Environment, samples: Sequence[Document]) -> None:
    names = {one["metadata"].get("namespace", "") for one in samples} - {"", "default"}
    for name in sorted(names - {one["metadata"]["name"] for one in samples if one["kind"] == "Namespace"}):
        await env.cluster.client.create(Namespace(metadata=ObjectMeta(name=name)))


async def _apply(env: Environment, sample: Document) -> None:
    await env.client.with_namespace("default").apply(Unstructured(copied(sample)), field_owner=_FIELD_OWNER, force=True)


async def _edit(env: Environment, sample: Document, edit: Edit) -> None:
    """Make an edit; one that a webhook of the operator refuses changes nothing, with faults and without."""
    obj, metadata = Unstructured(copied(sample)), sample["metadata"]
    namespace = metadata.get("namespace", "default")
    client = env.client.with_namespace(namespace)
    try:
        await client.patch(obj.gvk, edit.patch, name=metadata["name"])
    except ApiError:
        return


async def _delete(env: Environment, sample: Document) -> None:
    obj, metadata = Unstructured(copied(sample)), sample["metadata"]
    client = env.client.with_namespace(metadata.get("namespace", "default"))
    try:
        await client.delete(obj.gvk, metadata["name"])
    except NotFound:
        return
