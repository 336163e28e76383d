"""Simulated nodes, and the life of a Pod on them."""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.types.core.v1 import Node, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.kubelet.heartbeats import Heartbeats
from pilotage.workloads.kubelet.kubelet import Kubelet
from pilotage.workloads.kubelet.reporter import NodeReporter


def setup(context: Context) -> None:
    """Add the kubelet of all simulated nodes, and the controller that reports that they are ready."""
    kubelet, reporter = Kubelet(context), NodeReporter(context)
    of_pods = (
        ControllerBuilder(context.manager).for_(Pod, predicates=[kubelet.concerns]).named("kubelet").complete(kubelet)
    )
    of_nodes = ControllerBuilder(context.manager).for_(Node).named("node-reporter").complete(reporter)

    def on_node(name: str) -> None:
        of_nodes.reconcile_object(name)
        for pod in context.pods.on_node(name):
            of_pods.reconcile_object(pod.name, pod.namespace)

    def on_faults() -> None:
        kubelet.faults_changed()
        for name in context.nodes.names:
            for pod in context.pods.on_node(name):
                of_pods.reconcile_object(pod.name, pod.namespace)

    if context.manager.cluster.server_url and not context.options.chooses("node-lifecycle-controller"):
        context.manager.add(Heartbeats(context))
    context.nodes.subscribe(on_node)
    context.faults.subscribe(on_faults)
