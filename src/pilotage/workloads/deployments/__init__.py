"""Deployments: each replaces the Pods of old templates by those of its own, with a ReplicaSet for each template.

- `replicasets`: which ReplicaSet is the new one, and the one to create
- `revisions`: the annotations with revisions and sizes
- `sizes`: how many Pods each ReplicaSet should have
- `status`: the counts and conditions
- `reconciler`: reads, decides by these, and writes
"""

from __future__ import annotations

from collections.abc import Awaitable

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.options import ControllerOptions
from pilotage.controller.request import Request
from pilotage.meta.owners import controller_of
from pilotage.types.apps.v1 import Deployment, ReplicaSet
from pilotage.workloads.context import POD_DEBOUNCE, Context
from pilotage.workloads.deployments.reconciler import DeploymentReconciler
from pilotage.workloads.pods.orphans import adopters, selector_of
from pilotage.workloads.pods.source import PodHandler, PodSource, Requests
from pilotage.workloads.pods.view import PodView

CONCURRENT_SYNCS = 5
"""How many Deployments are reconciled at a time, as by default in Kubernetes."""


def setup(context: Context) -> None:
    """Add the controller of Deployments."""
    builder = ControllerBuilder(context.manager).for_(Deployment).owns(ReplicaSet).named("deployment-controller")
    builder.watches(ReplicaSet, adopters(context.manager.cache, Deployment, selector_of))
    builder.watches_raw_source(PodSource(context.pods, _waiting_for_pods(context)))
    builder.with_options(ControllerOptions(max_concurrent_reconciles=CONCURRENT_SYNCS, debounce=POD_DEBOUNCE))
    builder.complete(DeploymentReconciler(context).reconcile)


def _waiting_for_pods(context: Context) -> PodHandler:
    """The Deployment that waits until its last old Pod has gone before it creates new ones."""

    def handle(before: PodView | None, after: PodView | None) -> Requests | Awaitable[Requests]:
        if after is not None or before is None or before.controller_kind != "ReplicaSet":
            return ()
        if context.pods.count_controlled_by(before.controller_uid):
            return ()
        return requests(before.namespace, before.controller_name)

    async def requests(namespace: str, name: str) -> Requests:
        cache = context.manager.cache
        replica_set = await cache.find(ReplicaSet, name, namespace=namespace)
        owner = controller_of(replica_set) if replica_set is not None else None
        if owner is None or owner.kind != "Deployment":
            return ()
        deployment = await cache.find(Deployment, owner.name, namespace=namespace)
        strategy = deployment.spec.strategy if deployment is not None else None
        return (Request(owner.name, namespace),) if strategy is not None and strategy.type == "Recreate" else ()

    return handle
