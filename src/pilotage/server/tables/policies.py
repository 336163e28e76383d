"""The rows of what rules access and admission: RBAC, certificates, webhooks, admission policies, flow control, APIs.

Also those of resource.k8s.io, which are short.
"""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNSET, Cell, Printer, items, part, text


def role_binding(document: Document, now: datetime) -> list[Cell]:
    role, subjects = part(document, "roleRef"), items(document, "subjects")

    def named(kind: str) -> str:
        return ", ".join(each.get("name", "") for each in subjects if each.get("kind") == kind)

    accounts = [
        f"{each.get('namespace', '')}/{each.get('name', '')}"
        for each in subjects
        if each.get("kind") == "ServiceAccount"
    ]
    return [
        cells.name(document),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        cells.age(document, now),
        named("User"),
        named("Group"),
        ", ".join(accounts),
    ]


def certificate_signing_request(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    seconds = spec.get("expirationSeconds")
    return [
        cells.name(document),
        cells.age(document, now),
        text(spec.get("signerName")),
        spec.get("username", ""),
        NONE if seconds is None else times.rounded(seconds),
        _certificate_condition(status),
    ]


def _certificate_condition(status: Document) -> str:
    kinds = {condition.get("type") for condition in items(status, "conditions")}
    found = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    if "Failed" in kinds:
        found += ",Failed"
    if status.get("certificate"):
        found += ",Issued"
    return found


def webhook_configuration(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), len(items(document, "webhooks")), cells.age(document, now)]


def validating_policy(document: Document, now: datetime) -> list[Cell]:
    return _policy(document, "validations", now)


def mutating_policy(document: Document, now: datetime) -> list[Cell]:
    return _policy(document, "mutations", now)


def _policy(document: Document, rules: str, now: datetime) -> list[Cell]:
    spec, kind = part(document, "spec"), part(document, "spec", "paramKind")
    parameters = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return [cells.name(document), len(items(spec, rules)), parameters, cells.age(document, now)]


def policy_binding(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    return [cells.name(document), spec.get("policyName", ""), _parameters(spec), cells.age(document, now)]


def _parameters(spec: Document) -> str:
    reference = part(spec, "paramRef")
    if not reference:
        return UNSET
    if reference.get("name"):
        place = reference.get("namespace")
        return f"{place}/{reference['name']}" if place else str(reference["name"])
    chosen = reference.get("selector")
    return UNSET if chosen is None else _go_selector(chosen)


def _go_selector(chosen: Document) -> str:
    """A label selector in the notation of the real server's own values, which is what its Table shows here."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((chosen.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or [])}],}},"
        for each in chosen.get("matchExpressions") or []
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def flow_schema(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    dangling = "?"
    for condition in items(part(document, "status"), "conditions"):
        if condition.get("type") == "Dangling":
            dangling = condition.get("status", "")
    return [
        cells.name(document),
        part(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence", 0),
        text(part(spec, "distinguisherMethod").get("type")),
        cells.age(document, now),
        dangling,
    ]


def priority_level(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    queues: list[Cell] = [NONE, NONE, NONE]
    shares: Cell = NONE
    limited = part(spec, "limited")
    if limited:
        shares = limited.get("nominalConcurrencyShares", 0)
        queuing = part(limited, "limitResponse", "queuing")
        if queuing:
            queues = [queuing.get(key, 0) for key in ("queues", "handSize", "queueLengthLimit")]
    return [cells.name(document), spec.get("type", ""), shares, *queues, cells.age(document, now)]


def api_service(document: Document, now: datetime) -> list[Cell]:
    target = part(document, "spec", "service")
    service = f"{target.get('namespace', '')}/{target.get('name', '')}" if target else "Local"
    available = "Unknown"
    for condition in items(part(document, "status"), "conditions"):
        if condition.get("type") == "Available":
            available = condition.get("status", "")
            if available != "True":
                available += f" ({condition.get('reason', '')})"
    return [cells.name(document), service, available, cells.age(document, now)]


def resource_claim(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), _claim_state(document), cells.age(document, now)]


def _claim_state(document: Document) -> str:
    status = part(document, "status")
    states = []
    if document["metadata"].get("deletionTimestamp"):
        states.append("deleted")
    if not status.get("allocation"):
        if not states:
            states.append("pending")
        return ",".join(states)
    states.append("allocated")
    if items(status, "reservedFor"):
        states.append("reserved")
    return ",".join(states)


def resource_slice(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    return [
        cells.name(document),
        spec.get("nodeName", ""),
        spec.get("driver", ""),
        part(spec, "pool").get("name", ""),
        cells.age(document, now),
    ]


ADMISSION: dict[str, Printer] = {
    "mutatingadmissionpolicies": mutating_policy,
    "mutatingadmissionpolicybindings": policy_binding,
    "mutatingwebhookconfigurations": webhook_configuration,
    "validatingadmissionpolicies": validating_policy,
    "validatingadmissionpolicybindings": policy_binding,
    "validatingwebhookconfigurations": webhook_configuration,
}
API_REGISTRATION: dict[str, Printer] = {"apiservices": api_service}
CERTIFICATES: dict[str, Printer] = {"certificatesigningrequests": certificate_signing_request}
FLOW_CONTROL: dict[str, Printer] = {"flowschemas": flow_schema, "prioritylevelconfigurations": priority_level}
RBAC: dict[str, Printer] = {"clusterrolebindings": role_binding, "rolebindings": role_binding}
RESOURCE: dict[str, Printer] = {
    "deviceclasses": cells.name_and_age,
    "resourceclaims": resource_claim,
    "resourceclaimtemplates": cells.name_and_age,
    "resourceslices": resource_slice,
}
