"""The kind of the first example that users see."""

from __future__ import annotations

from typing import Annotated, Literal

from pilotage.meta.markers import Column, Minimum, Pattern, Rule
from pilotage.meta.models import Condition, Model, Resource, resource


class DatabaseSpec(Model):
    """What the user wants."""

    engine: Literal["postgres", "mysql"]
    replicas: Annotated[int, Minimum(1)] = 1
    name: Annotated[str, Pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] | None = None


class DatabaseStatus(Model):
    phase: Literal["Pending", "Running", "Failed"] = "Pending"
    conditions: list[Condition] = []


@resource(
    group="demo.pilotage.dev",
    version="v1alpha1",
    short_names=["db"],
    status=True,
    columns=[Column("Phase", ".status.phase")],
    rules=[Rule("self.spec.replicas <= 9", "at most nine replicas")],
)
class Database(Resource):
    spec: DatabaseSpec
    status: DatabaseStatus | None = None
