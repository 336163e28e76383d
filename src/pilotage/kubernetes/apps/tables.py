"""The rows of Tables of apps."""

from __future__ import annotations

from pilotage.kubernetes.cells import REPLICAS, containers, images, selector
from pilotage.meta.documents import Document
from pilotage.meta.paths import items, value_at
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, Printer
from pilotage.server.tables.rows import AGE, NAME, count, row


def _deployment_selector(document: Document) -> str:
    return selector(document) if value_at(document, ("spec", "selector")) is not None else ""  # as in a bookmark


def _ready(document: Document) -> str:
    return f"{count('status.readyReplicas')(document)}/{count('spec.replicas')(document)}"


def _controller(revision: Document) -> str:
    controller = NONE
    for owner in items(revision["metadata"], "ownerReferences"):
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            controller = f"{owner.get('kind', '').lower()}{'.' if group else ''}{group}/{owner.get('name', '')}"
    return controller


PRINTERS: dict[str, Printer] = {
    "controllerrevisions.apps": row(NAME, _controller, count("revision"), AGE),
    "daemonsets.apps": row(
        NAME,
        count("status.desiredNumberScheduled"),
        count("status.currentNumberScheduled"),
        count("status.numberReady"),
        count("status.updatedNumberScheduled"),
        count("status.numberAvailable"),
        lambda document: cells.labels(value_at(document, ("spec", "template", "spec", "nodeSelector"))),
        AGE,
        containers,
        images,
        selector,
    ),
    "deployments.apps": row(
        NAME,
        _ready,
        count("status.updatedReplicas"),
        count("status.availableReplicas"),
        AGE,
        containers,
        images,
        _deployment_selector,
    ),
    "replicasets.apps": row(*REPLICAS, containers, images, selector),
    "statefulsets.apps": row(NAME, _ready, AGE, containers, images),
}
