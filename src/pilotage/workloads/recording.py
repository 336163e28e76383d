"""Events: the objects that they are about, where only a name is known, and a recorder that records none."""

from __future__ import annotations

from typing import Any, NamedTuple

from pilotage.cluster.events import EventRecorder
from pilotage.meta.models import ObjectMeta


class Reference(NamedTuple):
    """An object as Events name it."""

    metadata: ObjectMeta
    api_version: str = "v1"
    kind: str = "Pod"


def pod_reference(namespace: str, name: str, uid: str = "") -> Reference:
    """A Pod."""
    return Reference(ObjectMeta(name=name, namespace=namespace, uid=uid))


class _NoEvents(EventRecorder):
    def __init__(self) -> None:
        pass

    def event(self, *args: Any, **options: Any) -> None:
        """Record nothing."""


NO_EVENTS = _NoEvents()
"""For programs that read no Events of Pods."""
