"""The options of simulated workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilotage.meta.bounds.optionfields import check_fields, count_field


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """The options of simulated workloads."""

    nodes: int = count_field(1)
    """How many simulated nodes there are: `node-1`, `node-2`, …"""
    controllers: Sequence[str] = ("*",)
    """Which controllers run, by the names and in the form of kube-controller-manager's flag `--controllers`:
    `("*", "-cronjob-controller")` are all but one. Two more names are `scheduler` and `kubelet`."""
    seed: int = 0
    """Decides what is random: the jitter of delays and the choice between nodes that are equally good."""
    events: bool = True
    """Whether the controllers and nodes record Events, as Kubernetes' do. Without them, many Pods need less time."""

    def __post_init__(self) -> None:
        check_fields(self)
