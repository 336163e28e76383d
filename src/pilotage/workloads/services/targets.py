"""What Services and Pods say about an endpoint: its ports, its host name, and when it changed last."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pilotage.controller.workloads.pods import READY
from pilotage.meta.conditions import find_status_condition
from pilotage.meta.scalars import times
from pilotage.types.core.v1 import Pod, Service, ServicePort
from pilotage.workloads.context import Context
from pilotage.workloads.pods.index import matching

TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
HEADLESS = "service.kubernetes.io/headless"


async def selected_pods(context: Context, service: Service) -> list[Pod]:
    """The Pods with an address that a Service selects and that have not ended."""
    assert service.spec is not None
    await context.pods.current()
    views = matching(context.pods.in_namespace(service.metadata.namespace), service.spec.selector)
    names = [view.name for view in views if not view.is_finished]
    found = [await context.client.find(Pod, name, namespace=service.metadata.namespace) for name in names]
    return [pod for pod in found if pod is not None and pod.status is not None and pod.status.pod_ip]


def is_headless(service: Service) -> bool:
    return service.spec is None or service.spec.cluster_ip in (None, "", "None")


def target_port(pod: Pod, port: ServicePort) -> int | None:
    """The number of the port of a Pod to which a port of a Service leads; None if no container has its name."""
    wanted = port.target_port
    if isinstance(wanted, str) and not wanted.isdecimal():
        sidecars = [one for one in (pod.spec.init_containers if pod.spec else []) if one.restart_policy == "Always"]
        for container in (*(pod.spec.containers if pod.spec else []), *sidecars):
            for each in container.ports:
                if each.name == wanted and (each.protocol or "TCP") == (port.protocol or "TCP"):
                    return each.container_port
        return None
    return int(wanted) if wanted else port.port


def hostname(pod: Pod, service: Service) -> str | None:
    """The host name of a Pod, if the Service is its subdomain."""
    assert pod.spec is not None
    return pod.spec.hostname if pod.spec.hostname and pod.spec.subdomain == service.metadata.name else None


class TriggerTimes:
    """When the endpoints of a Service changed: the earliest of the times that are new since the last call."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], dict[str, datetime]] = {}

    def next(self, service: Service, pods: Iterable[Pod]) -> str | None:
        """The time of the oldest change that was not reported; None if there is none."""
        key = service.metadata.namespace, service.metadata.name
        before = self._seen.get(key, {})
        now = {pod.metadata.name: changed for pod in pods if (changed := _changed(pod)) is not None}
        if service.metadata.creation_timestamp is not None:
            now[""] = service.metadata.creation_timestamp
        self._seen[key] = now
        changes = [time for name, time in now.items() if name not in before or time > before[name]]
        return times.format(min(changes)) if changes else None

    def forget(self, namespace: str, name: str) -> None:
        self._seen.pop((namespace, name), None)


def _changed(pod: Pod) -> datetime | None:
    found = find_status_condition(pod.status.conditions, READY) if pod.status is not None else None
    return found.last_transition_time if found is not None else None
