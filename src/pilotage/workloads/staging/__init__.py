"""Controllers that play stages: one for each kind that has some.

| module | contents |
|---|---|
| `player` | the controller of a kind: chooses a stage for each object, waits for its delay, plays it |
| `waiting` | what a player knows of an object: its next stage, and those that it has had |
| `writing` | the actions of a stage, written to the API server |
| `places` | which objects are simulated, and the addresses of nodes and Pods |
"""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.workloads.context import Context
from pilotage.workloads.stages.stage import NODE, POD, ResourceRef
from pilotage.workloads.staging.player import Player


def setup(context: Context) -> None:
    """Add a controller for each kind that has stages."""
    for resource in context.lifecycle.resources:
        _add(context, resource)


def _add(context: Context, resource: ResourceRef) -> None:
    player = Player(context, resource)
    name = f"stages-{resource.kind.lower()}-{player.kind.group or 'core'}"
    controller = ControllerBuilder(context.manager).for_(player.kind).named(name).complete(player)

    def on_node(name: str) -> None:
        for pod in context.pods.on_node(name):
            controller.reconcile_object(pod.name, pod.namespace)

    if resource == NODE:
        context.nodes.subscribe(controller.reconcile_object)
    if resource == POD:
        context.nodes.subscribe(on_node)
