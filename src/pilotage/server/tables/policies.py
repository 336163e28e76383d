"""The rows of access control and admission: RBAC, certificates, webhooks, admission policies, flow control, APIs.

Also those of resource.k8s.io, which are short.
"""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part
from pilotage.meta.scalars import times
from pilotage.server.tables.cells import NONE, UNSET, Printer
from pilotage.server.tables.rows import AGE, NAME, Column, condition, count, pair, row, size, text


def _subjects(kind: str) -> Column:
    """The subjects of a binding that are of this kind."""

    def shown(document: Document) -> str:
        names = [
            f"{each.get('namespace', '')}/{each.get('name', '')}" if kind == "ServiceAccount" else each.get("name", "")
            for each in items(document, "subjects")
            if each.get("kind") == kind
        ]
        return ", ".join(names)

    return shown


def _duration(document: Document) -> str:
    seconds = part(document, "spec").get("expirationSeconds")
    return NONE if seconds is None else times.rounded(seconds)


def _certificate_condition(document: Document) -> str:
    status = part(document, "status")
    kinds = {condition.get("type") for condition in items(status, "conditions")}
    found = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    if "Failed" in kinds:
        found += ",Failed"
    if status.get("certificate"):
        found += ",Issued"
    return found


def _param_kind(policy: Document) -> str:
    has_kind = bool(part(policy, "spec", "paramKind"))
    return str(pair("spec.paramKind", "apiVersion", "kind")(policy)) if has_kind else UNSET


def _parameters(binding: Document) -> str:
    reference = part(binding, "spec", "paramRef")
    if not reference:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    chosen = reference.get("selector")
    return UNSET if chosen is None else _go_selector(chosen)


def _go_selector(chosen: Document) -> str:
    """A label selector in Go's notation, as the Tables of kube-apiserver show it."""
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


def _limited(path: str) -> Column:
    """A number of a level that is limited; nothing of any other, or if its requests do not queue."""
    *parents, name = path.split(".")

    def shown(document: Document) -> str | int:
        holder = part(document, "spec", "limited", *parents)
        number: int = holder.get(name, 0)
        return number if holder else NONE

    return shown


def _service(document: Document) -> str:
    has_service = bool(part(document, "spec", "service"))
    return str(pair("spec.service", "namespace", "name")(document)) if has_service else "Local"


def _available(document: Document) -> str:
    found = condition(document, "Available")
    if not found:
        return "Unknown"
    status = str(found.get("status", ""))
    return status if status == "True" else f"{status} ({found.get('reason', '')})"


def _claim_state(document: Document) -> str:
    status = part(document, "status")
    states = ["deleted"] if document["metadata"].get("deletionTimestamp") else []
    if not status.get("allocation"):
        return ",".join(states or ["pending"])
    states.append("allocated")
    if items(status, "reservedFor"):
        states.append("reserved")
    return ",".join(states)


_BINDING = row(NAME, pair("roleRef", "kind", "name"), AGE, *map(_subjects, ("User", "Group", "ServiceAccount")))
_POLICY_BINDING = row(NAME, "spec.policyName", _parameters, AGE)
_WEBHOOKS = row(NAME, size("webhooks"), AGE)

PRINTERS: dict[str, Printer] = {
    "apiservices.apiregistration.k8s.io": row(NAME, _service, _available, AGE),
    "certificatesigningrequests.certificates.k8s.io": row(
        NAME, AGE, text("spec.signerName"), "spec.username", _duration, _certificate_condition
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "deviceclasses.resource.k8s.io": row(NAME, AGE),
    "flowschemas.flowcontrol.apiserver.k8s.io": row(
        NAME,
        "spec.priorityLevelConfiguration.name",
        count("spec.matchingPrecedence"),
        text("spec.distinguisherMethod.type"),
        AGE,
        lambda document: str(condition(document, "Dangling").get("status", "?")),
    ),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": row(NAME, size("spec.mutations"), _param_kind, AGE),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": row(
        NAME,
        "spec.type",
        _limited("nominalConcurrencyShares"),
        _limited("limitResponse.queuing.queues"),
        _limited("limitResponse.queuing.handSize"),
        _limited("limitResponse.queuing.queueLengthLimit"),
        AGE,
    ),
    "resourceclaims.resource.k8s.io": row(NAME, _claim_state, AGE),
    "resourceclaimtemplates.resource.k8s.io": row(NAME, AGE),
    "resourceslices.resource.k8s.io": row(NAME, "spec.nodeName", "spec.driver", "spec.pool.name", AGE),
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "validatingadmissionpolicies.admissionregistration.k8s.io": row(NAME, size("spec.validations"), _param_kind, AGE),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
}
