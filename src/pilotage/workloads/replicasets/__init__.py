"""ReplicaSets: each has the number of Pods that it asks for. ReplicationControllers are the same under another kind.

- `status`: what to do and what to report, decided from the Pods
- `reconciler`: reads, creates, deletes and writes
"""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.options import ControllerOptions
from pilotage.types.apps.v1 import ReplicaSet
from pilotage.workloads.context import POD_DEBOUNCE, Context
from pilotage.workloads.pods.orphans import adopters_of_pods
from pilotage.workloads.pods.source import PodSource, owned_by
from pilotage.workloads.replicasets.reconciler import K, ReplicaReconciler, selector_of

CONCURRENT_SYNCS = 5
"""How many ReplicaSets are reconciled at a time, as by default in Kubernetes."""


def setup(context: Context) -> None:
    """Add the controller of ReplicaSets."""
    set_up_kind(context, ReplicaSet, "replicaset-controller", "replicaset-controller")


def set_up_kind(context: Context, kind: type[K], name: str, component: str) -> None:
    """Add the controller of a kind that keeps a number of Pods."""
    adopted = adopters_of_pods(context.manager.cache, kind, selector_of)
    builder = ControllerBuilder(context.manager).for_(kind).named(name)
    builder.watches_raw_source(PodSource(context.pods, owned_by(kind.__name__), adopted, debounce=POD_DEBOUNCE))
    builder.with_options(ControllerOptions(max_concurrent_reconciles=CONCURRENT_SYNCS, debounce=POD_DEBOUNCE))
    builder.complete(ReplicaReconciler(context, kind, component).reconcile)
