"""The rows of Pods: the status is the reason that best describes the state of the pod."""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.meta.paths import is_condition_true, items, part
from pilotage.meta.scalars import times
from pilotage.server.kinds import Rows
from pilotage.server.tables import cells
from pilotage.server.tables.cells import Cell, Printer, text

_FINISHED_PHASES = ("Succeeded", "Failed")
_NODE_LOST = "NodeLost"


def pod(document: Document, now: datetime) -> list[Cell]:
    """Name, readiness, status, restarts, age; then addresses, nodes and readiness gates."""
    spec, status = part(document, "spec"), part(document, "status")
    shown = _Summary(document)
    restarts = str(shown.restarts)
    if shown.restarts and shown.last_restart is not None:
        restarts = f"{shown.restarts} ({times.rounded((now - shown.last_restart).total_seconds())} ago)"
    addresses = items(status, "podIPs")
    address = addresses[0].get("ip") if addresses else status.get("podIP")
    return [
        cells.name(document),
        f"{shown.ready}/{shown.total}",
        shown.reason,
        restarts,
        cells.age(document, now),
        text(address),
        text(spec.get("nodeName")),
        text(status.get("nominatedNodeName")),
        _readiness_gates(spec, status),
    ]


class _Summary:
    """A summary of the states of a pod's containers."""

    def __init__(self, document: Document) -> None:
        self._spec, self._status = part(document, "spec"), part(document, "status")
        self.total = len(items(self._spec, "containers"))
        self.ready = 0
        self.restarts = 0
        self.last_restart: datetime | None = None
        self._sidecar_restarts = 0
        self._sidecar_restart: datetime | None = None
        phase = str(self._status.get("phase", ""))
        self.reason = str(self._status.get("reason") or phase)
        if any(
            condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
            for condition in items(self._status, "conditions")
        ):
            self.reason = "SchedulingGated"
        initializing = self._count_init_containers()
        if not initializing or is_condition_true(document, "Initialized"):
            self._count_containers(is_ready=is_condition_true(document, "Ready"))
        if document["metadata"].get("deletionTimestamp"):
            if self._status.get("reason") == _NODE_LOST:
                self.reason = "Unknown"
            elif phase not in _FINISHED_PHASES:
                self.reason = "Terminating"

    def _count_init_containers(self) -> bool:
        """Count init containers; returns whether one has not finished, which is then the reason."""
        specified = items(self._spec, "initContainers")
        sidecars = {each.get("name") for each in specified if each.get("restartPolicy") == "Always"}
        self.total += len(sidecars)
        for index, container in enumerate(items(self._status, "initContainerStatuses")):
            sidecar = container.get("name") in sidecars
            self._count_restarts(container)
            if sidecar:
                self._sidecar_restarts += container.get("restartCount", 0)
                self._sidecar_restart = _later(self._sidecar_restart, _last_finished(container))
            terminated, waiting = part(container, "state", "terminated"), part(container, "state", "waiting")
            if "terminated" in part(container, "state") and not terminated.get("exitCode"):
                continue
            if sidecar and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if "terminated" in part(container, "state"):
                self.reason = f"Init:{_ending(terminated)}"
            elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{len(specified)}"
            return True
        return False

    def _count_containers(self, *, is_ready: bool) -> None:
        # Restarts of init containers no longer matter, except of those that run beside the containers.
        self.restarts, self.last_restart = self._sidecar_restarts, self._sidecar_restart
        running = False
        for container in reversed(items(self._status, "containerStatuses")):
            self._count_restarts(container)
            state = part(container, "state")
            waiting, terminated = part(state, "waiting"), part(state, "terminated")
            if waiting.get("reason"):
                self.reason = waiting["reason"]
            elif "terminated" in state:
                self.reason = _ending(terminated)
            elif container.get("ready") and "running" in state:
                running = True
                self.ready += 1
        if self.reason == "Completed" and running:
            self.reason = "Running" if is_ready else "NotReady"

    def _count_restarts(self, container: Document) -> None:
        self.restarts += container.get("restartCount", 0)
        self.last_restart = _later(self.last_restart, _last_finished(container))


def _last_finished(container: Document) -> datetime | None:
    return cells.timestamp(part(container, "lastState", "terminated").get("finishedAt"))


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((moment for moment in (one, other) if moment is not None), default=None)


def _ending(terminated: Document) -> str:
    """How a container ended: by its reason, else by the signal or the exit code."""
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _readiness_gates(spec: Document, status: Document) -> str:
    gates = items(spec, "readinessGates")
    if not gates:
        return cells.NONE
    true = {each.get("type") for each in items(status, "conditions") if each.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in true for gate in gates)}/{len(gates)}"


def pod_template(document: Document, now: datetime) -> list[Cell]:
    template = part(document, "template")
    return [
        cells.name(document),
        *cells.containers(part(template, "spec")),
        cells.labels(part(template, "metadata").get("labels")),
    ]


_ENDED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def conditions(document: Document) -> list[Document]:
    """The conditions of the row of a Pod that has ended, by its phase."""
    phase = part(document, "status").get("phase", "")
    if phase not in _ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}]


PODS = Rows(pod, conditions)
PRINTERS: dict[str, Printer] = {"podtemplates": pod_template}
