"""A kind that contains built-in types and whole objects."""

from __future__ import annotations

from typing import Annotated

from pilotage.meta.markers import ListType
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.types.core.v1 import ConfigMap, ContainerPort, LocalObjectReference, ServiceSpec, Toleration
from pilotage.types.meta.v1 import LabelSelector


class PodTemplate(Model):
    """What each Pod looks like."""

    metadata: ObjectMeta | None = None
    tolerations: list[Toleration] = []
    ports: Annotated[list[ContainerPort], ListType("map", "containerPort")] = []


class RolloutSpec(Model):
    selector: LabelSelector
    template: PodTemplate
    service: ServiceSpec | None = None
    pull_secrets: list[LocalObjectReference] = []
    config: ConfigMap | None = None


@resource(group="test.pilotage.dev", version="v1alpha1", short_names=["ro"])
class Rollout(Resource):
    """Pods, a few at a time."""

    spec: RolloutSpec
