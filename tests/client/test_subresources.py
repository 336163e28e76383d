"""Subresources that answer with a kind of their own: the object given is still the object afterwards."""

from __future__ import annotations

from pilotage.meta.models import ObjectMeta
from pilotage.types.apps.v1 import Deployment, DeploymentSpec
from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec
from pilotage.types.meta.v1 import LabelSelector

from ..worlds import World


async def test_a_patch_of_the_scale_leaves_the_object_as_it_is_then(world: World) -> None:
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"a": "b"}), spec=PodSpec(containers=[Container(name="c", image="i")])
    )
    spec = DeploymentSpec(replicas=1, selector=LabelSelector(match_labels={"a": "b"}), template=template)
    made = await world.client.create(Deployment(metadata=ObjectMeta(name="d", namespace=world.namespace), spec=spec))
    await world.client.patch(made, {"spec": {"replicas": 3}}, subresource="scale")
    assert (made.kind, made.spec.replicas, made.spec.template) == ("Deployment", 3, made.spec.template)
    scaled = await world.client.patch(
        Deployment, {"spec": {"replicas": 4}}, name="d", namespace=world.namespace, subresource="scale"
    )
    assert (scaled.spec.replicas, scaled.spec.selector.match_labels) == (4, {"a": "b"})
