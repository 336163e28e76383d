"""Simulated nodes, and the life of a Pod on them."""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.types.core.v1 import Node, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.kubelet.heartbeats import Heartbeats
from pilotage.workloads.kubelet.kubelet import Kubelet
from pilotage.workloads.kubelet.reporter import NodeReporter
from pilotage.workloads.stages.stage import POD


def setup(context: Context) -> None:
    """Add the controller that reports that simulated nodes are ready, and, unless Pods have stages, their kubelet."""
    of_nodes = ControllerBuilder(context.manager).for_(Node).named("node-reporter").complete(NodeReporter(context))
    context.nodes.subscribe(of_nodes.reconcile_object)
    if POD not in context.lifecycle.resources:
        _set_up_kubelet(context)


def _set_up_kubelet(context: Context) -> None:
    kubelet = Kubelet(context)
    of_pods = (
        ControllerBuilder(context.manager).for_(Pod, predicates=[kubelet.concerns]).named("kubelet").complete(kubelet)
    )

    def on_node(name: str) -> None:
        for pod in context.pods.on_node(name):
            of_pods.reconcile_object(pod.name, pod.namespace)

    def on_faults() -> None:
        kubelet.faults_changed()
        for name in context.nodes.names:
            on_node(name)

    if context.manager.cluster.server_url and not context.options.chooses("node-lifecycle-controller"):
        context.manager.add(Heartbeats(context))
    context.nodes.subscribe(on_node)
    context.faults.subscribe(on_faults)
