"""A kind with four versions, one of them for programs only, and one of cluster scope."""

from __future__ import annotations

from typing import Annotated

from pilotage.meta.markers import Column, Immutable, MaxLength, Minimum
from pilotage.meta.models import Model, Resource, resource


class BackupSpec(Model):
    """What is kept, and for how long."""

    bucket: Annotated[str, MaxLength(63), Immutable()]
    """Where it goes. It cannot be moved later."""
    days: Annotated[int, Minimum(1)] = 30


@resource(group="test.pilotage.dev", version="v1", scope="Cluster", columns=[Column("Days", ".spec.days")])
class Backup(Resource):
    """A copy of everything, regularly."""

    spec: BackupSpec


@resource(
    group="test.pilotage.dev",
    version="v1beta1",
    kind="Backup",
    scope="Cluster",
    storage=False,
    deprecated="test.pilotage.dev/v1beta1 Backup goes away; use v1",
)
class BackupV1Beta1(Resource):
    spec: BackupSpec


@resource(
    group="test.pilotage.dev",
    version="v1alpha1",
    kind="Backup",
    scope="Cluster",
    storage=False,
    served=False,
    deprecated=True,
)
class BackupV1Alpha1(Resource):
    spec: BackupSpec


@resource(group="test.pilotage.dev", version="v2", kind="Backup", scope="Cluster", skip=True)
class BackupInternal(Resource):
    """Only programs see it."""

    spec: BackupSpec


@resource(group="test.pilotage.dev", version="v1", scope="Cluster", kind="BackupPolicy", short_names=["bp"])
class Policy(Resource):
    """It has no spec; its fields stand at the root."""

    keep: Annotated[int, Minimum(1)] = 3
    paused: bool = False
