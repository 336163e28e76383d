"""Reports the status of simulated nodes, once at their start and again when they recover, unless nodes have stages."""

from __future__ import annotations

from pilotage.controller.request import Request
from pilotage.errors import AlreadyExists, Conflict
from pilotage.meta.objects import copy_of
from pilotage.telemetry.logs import logger
from pilotage.types.core.v1 import Node
from pilotage.workloads.context import Context
from pilotage.workloads.kubelet.nodes import is_reported, is_simulated, node_named, reported
from pilotage.workloads.stages.stage import NODE

_log = logger("pilotage.workloads")


class NodeReporter:
    """Reconciles each Node: a simulated one that is alive is ready."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def reconcile(self, request: Request) -> None:
        """Report that a simulated node is ready, if its object does not say so."""
        context = self._context
        node = await context.client.find(Node, request.name)
        if node is None or not is_simulated(node):
            context.nodes.remove(request.name)
            return
        context.nodes.add(request.name)
        if context.nodes.is_alive(request.name) and not is_reported(node) and not _is_staged(context):
            node.status = reported(node, context.clock())
            await context.client.update_status(node)


async def register(context: Context) -> None:
    """Create the nodes of the options, with their status, before the controllers start."""
    numbered = [node_named(f"node-{number}") for number in range(1, context.options.nodes + 1)]
    for given in (*numbered, *context.options.more_nodes):
        await _register(context, given)


async def _register(context: Context, given: Node) -> None:
    given, base = copy_of(given), node_named(given.metadata.name)
    wanted = given.status
    given.metadata.labels = {**base.metadata.labels, **given.metadata.labels}
    given.metadata.annotations = {**base.metadata.annotations, **given.metadata.annotations}
    client = context.client.api_reader
    try:
        await client.create(given)
    except AlreadyExists:
        given = await client.get(Node, given.metadata.name)
        if not is_simulated(given):
            _log.warning("This node is not simulated: it exists, without the annotation", node=given.metadata.name)
            return
    else:
        given.status = wanted
    context.nodes.add(given.metadata.name)
    if not _is_staged(context):
        given.status = reported(given, context.clock())
    try:
        await client.update_status(given)
    except Conflict:
        return  # the controller of nodes reports it


def _is_staged(context: Context) -> bool:
    """Whether stages write the status of nodes."""
    return NODE in context.lifecycle.resources
