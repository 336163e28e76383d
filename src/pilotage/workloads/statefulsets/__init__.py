"""StatefulSets: each has Pods with stable names, claims and revisions.

- `plan`: the next steps, decided from what is observed
- `status`: the status, counted from the Pods
- `identity`, `retention`: names, volumes and claims of Pods; who owns the claims
- `control`: the writes of Pods and claims, with their Events
- `reconciler`: reads, does the steps and writes the status
"""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.options import ControllerOptions
from pilotage.types.apps.v1 import StatefulSet
from pilotage.workloads.context import Context
from pilotage.workloads.pods.orphans import adopters_of_pods, selector_of
from pilotage.workloads.pods.source import PodSource, owned_by
from pilotage.workloads.statefulsets.reconciler import StatefulSetReconciler

CONCURRENT_SYNCS = 5
"""How many StatefulSets are reconciled at a time, as by default in Kubernetes."""


def setup(context: Context) -> None:
    """Add the controller of StatefulSets."""
    adopted = adopters_of_pods(context.manager.cache, StatefulSet, selector_of)
    builder = ControllerBuilder(context.manager).for_(StatefulSet).named("statefulset-controller")
    builder.watches_raw_source(PodSource(context.pods, owned_by("StatefulSet"), adopted))
    builder.with_options(ControllerOptions(max_concurrent_reconciles=CONCURRENT_SYNCS))
    builder.complete(StatefulSetReconciler(context).reconcile)
