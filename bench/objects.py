"""The object of the measurements: a custom resource of about 2 KB, with a full schema."""

from __future__ import annotations

from typing import Annotated

import pilotage as pt


class Part(pt.Model):
    name: str
    weight: Annotated[int, pt.Minimum(0)] = 0
    material: str | None = None


class WidgetSpec(pt.Model):
    size: Annotated[int, pt.Minimum(0), pt.Maximum(1000)]
    colour: Annotated[str, pt.Enum("red", "green", "blue")] = "red"
    title: Annotated[str, pt.MaxLength(200)]
    description: str = ""
    replicas: int = 1
    paused: bool = False
    image: Annotated[str, pt.Pattern(r"^[a-z0-9./:-]+$")]
    tags: Annotated[list[str], pt.MaxItems(50)] = []
    parts: Annotated[list[Part], pt.markers.ListType("map", "name")] = []
    environment: dict[str, str] = {}


class WidgetStatus(pt.Model):
    phase: str = "Pending"
    ready: int = 0
    conditions: list[pt.Condition] = []


@pt.resource(group="bench.pilotage.dev", version="v1", status=True)
class Widget(pt.Resource):
    spec: WidgetSpec
    status: WidgetStatus | None = None


def widget(number: int, namespace: str = "default") -> Widget:
    """A Widget; Widgets differ only in their names."""
    return Widget(
        metadata=pt.ObjectMeta(
            name=f"widget-{number:06}",
            namespace=namespace,
            labels={"app": "bench", "tier": "backend", "number": str(number % 100)},
            annotations={"bench.pilotage.dev/note": "x" * 200},
        ),
        spec=WidgetSpec(
            size=number % 1000,
            title=f"The widget with the number {number}",
            description="A description of some length. " * 20,
            image="registry.example.com/widgets/main:1.2.3",
            tags=[f"tag-{i}" for i in range(10)],
            parts=[Part(name=f"part-{i}", weight=i, material="steel") for i in range(8)],
            environment={f"VARIABLE_{i}": f"value number {i}" for i in range(10)},
        ),
    )
