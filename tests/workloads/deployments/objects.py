"""Deployments and ReplicaSets for tests of decisions, as upstream's tests have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.intorstring import IntOrString
from pilotage.types.apps.v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentSpec,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    RollingUpdateDeployment,
)
from tests.workloads.kit import NAMESPACE, selecting, template

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LABELS = {"foo": "bar"}


def rolling(surge: IntOrString | None = 0, unavailable: IntOrString | None = 0) -> DeploymentStrategy:
    limits = RollingUpdateDeployment(max_surge=surge, max_unavailable=unavailable)
    return DeploymentStrategy(type="RollingUpdate", rolling_update=limits)


RECREATE = DeploymentStrategy(type="Recreate")


def deployment(
    replicas: int = 1,
    *,
    strategy: DeploymentStrategy | None = None,
    deadline: int | None = None,
    paused: bool | None = None,
    status: DeploymentStatus | None = None,
    image: str = "nginx",
    name: str = "foo",
) -> Deployment:
    return Deployment(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid="d", annotations={}),
        spec=DeploymentSpec(
            replicas=replicas,
            paused=paused,
            progress_deadline_seconds=deadline,
            selector=selecting(LABELS),
            strategy=strategy if strategy is not None else rolling(),
            template=template(LABELS, image),
        ),
        status=status,
    )


def replica_set(
    name: str = "foo-v1",
    replicas: int = 0,
    *,
    actual: int = 0,
    available: int = 0,
    annotations: dict[str, str] | None = None,
    minutes: float | None = None,
    image: str = "nginx",
) -> ReplicaSet:
    """A ReplicaSet that was created this long after noon."""
    created = NOON + timedelta(minutes=minutes) if minutes is not None else None
    return ReplicaSet(
        metadata=ObjectMeta(
            name=name, uid=name, namespace=NAMESPACE, annotations=annotations or {}, creation_timestamp=created
        ),
        spec=ReplicaSetSpec(replicas=replicas, selector=selecting(LABELS), template=template(LABELS, image)),
        status=ReplicaSetStatus(replicas=actual, available_replicas=available or None),
    )


def status(
    replicas: int = 0,
    updated: int = 0,
    available: int = 0,
    *,
    ready: int = 0,
    conditions: list[DeploymentCondition] | None = None,
) -> DeploymentStatus:
    return DeploymentStatus(
        replicas=replicas or None,
        updated_replicas=updated or None,
        available_replicas=available or None,
        ready_replicas=ready or None,
        conditions=conditions or [],
    )


def condition(
    reason: str = "", *, value: str = "True", kind: str = "Progressing", at: datetime | None = None
) -> DeploymentCondition:
    return DeploymentCondition(type=kind, status=value, reason=reason, last_update_time=at, last_transition_time=at)
