"""The kinds of the Device API, version v1alpha1: `device.nvidia.com/v1alpha1`, cluster-scoped."""

from __future__ import annotations

from typing import Annotated

from pilotage.meta.markers import Column, ListType
from pilotage.meta.models import Condition, Model, Resource, resource

GROUP = "device.nvidia.com"


class GPUSpec(Model):
    """The identity of a GPU."""

    uuid: str
    """The physical UUID: `GPU-` and 32 hexadecimal digits in five parts."""


class GPUStatus(Model):
    """The state of a GPU. Each provider has its own types of conditions; all consumers use `Ready`."""

    conditions: Annotated[list[Condition], ListType("map", "type")] = []
    recommended_action: str | None = None
    """What to do about it, such as COMPONENT_RESET; absent if there is nothing to do."""


@resource(
    group=GROUP,
    version="v1alpha1",
    kind="GPU",
    plural="gpus",
    scope="Cluster",
    status=True,
    selectable_fields=[".spec.uuid"],
    columns=[
        Column("UUID", ".spec.uuid"),
        Column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
        Column("Action", ".status.recommendedAction"),
    ],
)
class GPU(Resource):
    """A GPU of this node."""

    spec: GPUSpec
    status: GPUStatus = GPUStatus()
