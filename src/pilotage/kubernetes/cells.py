"""Cells that kinds of several groups have."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part, value_at
from pilotage.server.tables import cells
from pilotage.server.tables.rows import AGE, NAME, count


def load_balancer(document: Document) -> list[str]:
    points = items(document, "status", "loadBalancer", "ingress")
    return list(filter(None, (point.get("ip") or point.get("hostname") for point in points)))


def containers(document: Document) -> str:
    return cells.containers(part(document, "spec", "template", "spec"))[0]


def images(document: Document) -> str:
    return cells.containers(part(document, "spec", "template", "spec"))[1]


def selector(document: Document) -> str:
    return cells.selector(value_at(document, ("spec", "selector")))


REPLICAS = (NAME, count("spec.replicas"), count("status.replicas"), count("status.readyReplicas"), AGE)
