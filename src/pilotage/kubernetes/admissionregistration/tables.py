"""The rows of Tables of admissionregistration.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import part
from pilotage.server.tables.cells import UNSET, Printer
from pilotage.server.tables.rows import AGE, NAME, pair, row, size


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


_POLICY_BINDING = row(NAME, "spec.policyName", _parameters, AGE)

_WEBHOOKS = row(NAME, size("webhooks"), AGE)

PRINTERS: dict[str, Printer] = {
    "mutatingadmissionpolicies.admissionregistration.k8s.io": row(NAME, size("spec.mutations"), _param_kind, AGE),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingadmissionpolicies.admissionregistration.k8s.io": row(NAME, size("spec.validations"), _param_kind, AGE),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
}
