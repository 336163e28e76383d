"""Requests for the DaemonSets that a change of a node concerns."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable

from pilotage.controller.event import Event
from pilotage.controller.handlers import Handler
from pilotage.controller.request import Request
from pilotage.types.apps.v1 import DaemonSet
from pilotage.types.core.v1 import Node
from pilotage.workloads.context import Context
from pilotage.workloads.daemonsets.placement import Placement
from pilotage.workloads.nodes.view import NodeView, view_of


def daemon_sets_of_node(context: Context) -> Handler[Node]:
    """A handler of Nodes: the DaemonSets that need a Pod on a node, have one that must not stay, or count one on it as
    misplaced. Only a new node, and a change of labels and taints, concerns them."""

    async def requests(node: NodeView) -> Iterable[Request]:
        owners = await context.manager.cache.list(DaemonSet)
        running = {pod.controller_uid for pod in context.pods.on_node(node.name)}
        return [Request.of(owner) for owner in owners if concerns(owner, node, owner.metadata.uid in running)]

    def handle(event: Event[Node]) -> Iterable[Request] | Awaitable[Iterable[Request]]:
        if event.new_header is None:
            return ()  # its Pods are deleted with it, which concerns their DaemonSets
        node = view_of(event.object)
        return () if event.old is not None and view_of(event.old) == node else requests(node)

    return handle


def concerns(owner: DaemonSet, node: NodeView, is_running: bool) -> bool:
    """Whether a change of a node, on which a Pod of the DaemonSet runs or not, makes something to do or to count."""
    fit = Placement(owner).fit(node)
    if not is_running:
        return fit.should_run
    misplaced = owner.status.number_misscheduled if owner.status is not None else 0
    return not fit.should_continue or misplaced > 0
