"""What the API server sees as the same."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import pilotage as pt
from pilotage.meta.scalars.times import MicroTime
from pilotage.types.apps.v1 import Deployment, DeploymentSpec, DeploymentStatus
from pilotage.types.coordination.v1 import LeaseSpec
from pilotage.types.core.v1 import (
    ConfigMap,
    Container,
    EnvVar,
    ObjectReference,
    PodCondition,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
)
from pilotage.types.meta.v1 import LabelSelector

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Count(pt.Model):
    ready: int | None = None
    names: list[str] | None = None
    where: ObjectReference | None = None


def spec(**fields: Any) -> DeploymentSpec:
    template = PodTemplateSpec(spec=PodSpec(containers=[]))
    return DeploymentSpec(selector=LabelSelector(), template=template, **fields)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DeploymentStatus(ready_replicas=0), DeploymentStatus()),
        (EnvVar(name="a", value=""), EnvVar(name="a")),
        (Container(name="a", resources=ResourceRequirements()), Container(name="a")),
        (Deployment(spec=spec(), status=DeploymentStatus(replicas=0)), Deployment(spec=spec())),
        (Count(names=[]), Count()),
        (Count(where=ObjectReference(name="")), Count(where=ObjectReference())),
        ({"a": [], "b": {"c": None}}, {"b": {}}),
        ([DeploymentStatus(ready_replicas=0)], [DeploymentStatus()]),
        (ConfigMap(data={}), ConfigMap()),
        (
            ResourceRequirements(requests={"cpu": pt.Quantity("1")}),
            ResourceRequirements(requests={"cpu": pt.Quantity("1000m")}),
        ),
        (NOON.replace(microsecond=5), NOON),
        (None, None),
    ],
)
def test_what_the_server_stores_alike_is_equal(one: object, other: object) -> None:
    assert pt.semantic_equal(one, other)
    assert pt.semantic_equal(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DeploymentStatus(ready_replicas=1), DeploymentStatus()),
        (spec(replicas=0), spec()),  # one replica by default
        (Count(ready=0), Count()),  # a custom resource stores what is written
        (Count(where=ObjectReference()), Count()),
        (Container(name="a", resources=ResourceRequirements(requests={"cpu": pt.Quantity(1)})), Container(name="a")),
        ({"a": 0}, {}),
        ({"a": 1}, {"a": True}),
        ([1], [1, 2]),
        (DeploymentStatus(), Count()),
        (PodCondition(type="a", status="True"), PodCondition(type="a", status="False")),
        (LeaseSpec(renew_time=MicroTime.of(NOON.replace(microsecond=5))), LeaseSpec(renew_time=MicroTime.of(NOON))),
        (DeploymentStatus(), None),
    ],
)
def test_what_the_server_stores_differently_is_not_equal(one: object, other: object) -> None:
    assert not pt.semantic_equal(one, other)
    assert not pt.semantic_equal(other, one)


async def test_a_status_with_a_zero_that_reads_back_as_none_is_written_once() -> None:
    async with pt.Cluster.embedded() as cluster:
        meta = pt.ObjectMeta(name="a", namespace="default")
        template = PodTemplateSpec(
            metadata=pt.ObjectMeta(labels={"a": "b"}), spec=PodSpec(containers=[Container(name="c", image="i")])
        )
        selected = DeploymentSpec(selector=LabelSelector(match_labels={"a": "b"}), template=template)
        deployment = await cluster.client.create(Deployment(metadata=meta, spec=selected))
        wanted = DeploymentStatus(ready_replicas=0, replicas=1)
        deployment.status = wanted
        await cluster.client.update_status(deployment)
        stored = (await cluster.client.get(Deployment, "a", namespace="default")).status
        assert stored != wanted
        assert pt.semantic_equal(stored, wanted)
