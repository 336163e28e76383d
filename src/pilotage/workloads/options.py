"""The options of simulated workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.types.core.v1 import Node
from pilotage.workloads.stages.stage import Stage


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """The options of simulated workloads."""

    nodes: int = count_field(1)
    """How many simulated nodes there are: `node-1`, `node-2`, …"""
    more_nodes: Sequence[Node] = ()
    """More simulated nodes, as they are given: with labels, taints and a capacity in their status. Objects that exist
    already are simulated, too, if they have the annotation `workloads.pilotage.dev/node: simulated`."""
    controllers: Sequence[str] = ("*",)
    """Which controllers run, by the names and in the form of kube-controller-manager's flag `--controllers`:
    `("*", "-cronjob-controller")` are all but one. Three more names are `scheduler`, `kubelet` and
    `storage-provisioner`."""
    seed: int = count_field(0)
    """Decides what is random: the jitter of delays and the choice between nodes that are equally good."""
    pull_seconds: SecondsField = seconds_field(1.0)
    """How long an image takes to pull, on a node that does not have it."""
    jitter_seconds: SecondsField = seconds_field(0.5)
    """What is added to that at most, by the seed."""
    faults: Sequence[str] = ()
    """Faults from the beginning, as text: `image-pull image=example.com/shop:2`."""
    stages: Sequence[Stage] = ()
    """Stages of objects, of Stage files of kwok or in Python. Stages of Pods replace what simulated nodes do with Pods,
    and faults do not apply to such Pods; stages of Nodes replace the status that simulated nodes report."""
    events: bool = True
    """Whether the controllers and nodes record Events, as Kubernetes' do. Without them, many Pods need less time."""

    def __post_init__(self) -> None:
        check_fields(self)

    def chooses(self, controller: str) -> bool:
        """Whether a controller runs."""
        return f"-{controller}" not in self.controllers and ("*" in self.controllers or controller in self.controllers)
