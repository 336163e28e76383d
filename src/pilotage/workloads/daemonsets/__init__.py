"""DaemonSets: each has a Pod on every node that it selects.

- `placement`: on which nodes, and how a Pod is bound to one
- `plan`, `rollout`, `status`: what is created, deleted and replaced, and what is reported
- `revisions`, `backoff`: the history of the template; how long failed Pods stay
- `reconciler`: reads, creates, deletes and writes
"""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.options import ControllerOptions
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import ControllerRevision, DaemonSet
from pilotage.types.core.v1 import Node
from pilotage.workloads.context import BURST, Context
from pilotage.workloads.daemonsets.nodes import daemon_sets_of_node
from pilotage.workloads.daemonsets.reconciler import DaemonSetReconciler
from pilotage.workloads.pods.orphans import adopters
from pilotage.workloads.pods.source import PodSource, adopted_by, owned_by

CONCURRENT_SYNCS = 2
"""How many DaemonSets are reconciled at a time, as by default in Kubernetes."""


def setup(context: Context) -> None:
    """Add the controller of DaemonSets."""
    builder = ControllerBuilder(context.manager).for_(DaemonSet).named("daemonset-controller")
    adopted = adopted_by(context.manager.cache, DaemonSet, _selects)
    builder.watches_raw_source(PodSource(context.pods, owned_by("DaemonSet"), adopted, debounce=BURST))
    builder.owns(ControllerRevision, predicates=[_is_no_create])
    builder.watches(ControllerRevision, adopters(context.manager.cache, DaemonSet, _selects))
    builder.watches(Node, daemon_sets_of_node(context))
    builder.with_options(ControllerOptions(max_concurrent_reconciles=CONCURRENT_SYNCS, debounce=BURST))
    builder.complete(DaemonSetReconciler(context).reconcile)


def _is_no_create(event: Event) -> bool:
    return event.type != "create"


def _selects(owner: DaemonSet, labels: Mapping[str, str]) -> bool:
    selector = Selector.from_label_selector(owner.spec.selector)
    return bool(selector) and selector.matches(labels)
