"""What the controllers of simulated workloads share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from random import Random

from pilotage.client.client import Client
from pilotage.cluster.events import EventAPI, EventRecorder
from pilotage.controller.debounce import Debounce
from pilotage.manager.manager import Manager
from pilotage.workloads.faults.faults import Faults
from pilotage.workloads.nodes.simulated import SimulatedNodes
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.pods.index import Pods
from pilotage.workloads.progress import Progress
from pilotage.workloads.recording import NO_EVENTS
from pilotage.workloads.stages.lifecycle import Lifecycle

POD_DEBOUNCE = Debounce(0.02, 0.2)
"""For controllers that look at all Pods of an object: when many of them change at the same time, they look once."""


@dataclass(frozen=True, slots=True)
class Context:
    """What each controller is set up with."""

    manager: Manager
    options: WorkloadOptions
    pods: Pods
    """All Pods, as controllers see them."""
    nodes: SimulatedNodes
    faults: Faults
    progress: Progress
    random: Random
    lifecycle: Lifecycle
    """The stages of the options."""

    @property
    def client(self) -> Client:
        """Reads from the cache, writes live."""
        return self.manager.client

    def clock(self) -> datetime:
        """The current time of the API server."""
        return self.manager.clock()

    def recorder(self, component: str, api_version: EventAPI = "v1") -> EventRecorder:
        """A recorder of Events with this component as their source, or one that records none."""
        if not self.options.events:
            return NO_EVENTS
        return self.manager.cluster.event_recorder_for(component, api_version=api_version)
