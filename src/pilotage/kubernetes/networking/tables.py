"""The rows of Tables of networking.k8s.io."""

from __future__ import annotations

from pilotage.kubernetes.cells import load_balancer
from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part, value_at
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, Printer
from pilotage.server.tables.rows import AGE, NAME, joined, row, text

_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _hosts(document: Document) -> str:
    rules = items(document, "spec", "rules")
    return cells.shortened([rule["host"] for rule in rules if rule.get("host")]) or "*"


def _class_name(document: Document) -> str:
    is_default = part(document, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"
    return f"{cells.name(document)} (default)" if is_default else cells.name(document)


def _class_parameters(document: Document) -> str:
    reference = part(document, "spec", "parameters")
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    return f"{reference.get('kind', '')}{group}/{reference.get('name', '')}" if reference else NONE


def _address_parent(document: Document) -> str:
    parent = part(document, "spec", "parentRef")
    if not parent:
        return NONE
    group = f".{parent['group']}" if parent.get("group") else ""
    at = f"{parent['namespace']}/" if parent.get("namespace") else ""
    return f"{parent.get('resource', '')}{group}/{at}{parent.get('name', '')}"


PRINTERS: dict[str, Printer] = {
    "ingressclasses.networking.k8s.io": row(_class_name, "spec.controller", _class_parameters, AGE),
    "ingresses.networking.k8s.io": row(
        NAME,
        text("spec.ingressClassName"),
        _hosts,
        lambda document: ",".join(load_balancer(document)),
        lambda document: "80, 443" if value_at(document, ("spec", "tls")) else "80",
        AGE,
    ),
    "ipaddresses.networking.k8s.io": row(NAME, _address_parent, AGE),
    "networkpolicies.networking.k8s.io": row(
        NAME, lambda document: cells.selector(value_at(document, ("spec", "podSelector"))), AGE
    ),
    "servicecidrs.networking.k8s.io": row(NAME, joined("spec.cidrs"), AGE),
}
