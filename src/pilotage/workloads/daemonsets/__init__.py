"""DaemonSets: each has a Pod on every node that it selects.

- `placement`: on which nodes, and how a Pod is bound to one
- `plan`, `rollout`, `status`: what is created, deleted and replaced, and what is reported
- `revisions`, `backoff`: the history of the template; how long failed Pods stay
- `reconciler`: reads, creates, deletes and writes
"""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.options import ControllerOptions
from pilotage.types.apps.v1 import ControllerRevision, DaemonSet
from pilotage.types.core.v1 import Node
from pilotage.workloads.context import POD_DEBOUNCE, Context
from pilotage.workloads.daemonsets.nodes import daemon_sets_of_node
from pilotage.workloads.daemonsets.reconciler import DaemonSetReconciler
from pilotage.workloads.pods.orphans import adopters, adopters_of_pods, selector_of
from pilotage.workloads.pods.source import PodSource, owned_by

CONCURRENT_SYNCS = 2
"""How many DaemonSets are reconciled at a time, as by default in Kubernetes."""


def setup(context: Context) -> None:
    """Add the controller of DaemonSets."""
    builder = ControllerBuilder(context.manager).for_(DaemonSet).named("daemonset-controller")
    adopted = adopters_of_pods(context.manager.cache, DaemonSet, selector_of)
    builder.watches_raw_source(PodSource(context.pods, owned_by("DaemonSet"), adopted, debounce=POD_DEBOUNCE))
    builder.owns(ControllerRevision, predicates=[_is_no_create])
    builder.watches(ControllerRevision, adopters(context.manager.cache, DaemonSet, selector_of))
    builder.watches(Node, daemon_sets_of_node(context))
    builder.with_options(ControllerOptions(max_concurrent_reconciles=CONCURRENT_SYNCS, debounce=POD_DEBOUNCE))
    builder.complete(DaemonSetReconciler(context).reconcile)


def _is_no_create(event: Event) -> bool:
    return event.type != "create"
