"""How a pod is scheduled: tolerations, spread over the topology, gates."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.affinity import validate_label_keys
from pilotage.meta.causes import duplicate, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import label_value, qualified_name
from pilotage.server.strategies.checks import fields, items, labelselectors, texts

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_POSITIVE = "must be greater than zero"


def validate_tolerations(spec: Document, path: str) -> Iterator[Cause]:
    """The taints of nodes that a pod tolerates."""
    yield from items.each(spec.get("tolerations"), path, _validate_toleration)


def validate_topology_spread(spec: Document, path: str) -> Iterator[Cause]:
    """How evenly pods are spread."""
    constraints = spec.get("topologySpreadConstraints") or ()
    last = {_spread_key(constraint): index for index, constraint in enumerate(constraints)}
    for index, constraint in enumerate(constraints):
        at, action = f"{path}[{index}]", constraint.get("whenUnsatisfiable") or ""
        if (skew := constraint.get("maxSkew") or 0) <= 0:
            yield invalid(f"{at}.maxSkew", skew, _POSITIVE)
        if not constraint.get("topologyKey"):
            yield required(f"{at}.topologyKey", "can not be empty")
        yield from fields.choice(action, f"{at}.whenUnsatisfiable", _UNSATISFIABLE)
        if last[key := _spread_key(constraint)] > index:
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key[0]}, {key[1]}}}")
        if (domains := constraint.get("minDomains")) is not None:
            if domains <= 0:
                yield invalid(f"{at}.minDomains", domains, _POSITIVE)
            if action != "DoNotSchedule":
                message = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                yield invalid(f"{at}.minDomains", domains, message)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from fields.optional_choice(constraint.get(name), f"{at}.{name}", _POLICIES)
        yield from validate_label_keys(constraint, at, ("matchLabelKeys",))
        yield from labelselectors.label_selector(constraint.get("labelSelector"), f"{at}.labelSelector")


def validate_gates(spec: Document, path: str) -> Iterator[Cause]:
    """Conditions that count for readiness, and gates that scheduling waits for."""
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        at = f"{path}.readinessGates[{index}].conditionType"
        yield from texts.text(gate.get("conditionType") or "", at, qualified_name)
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, at = gate.get("name") or "", f"{path}.schedulingGates[{index}]"
        yield from texts.text(name, at, qualified_name)
        yield from items.unique(name, at, seen)


def _spread_key(constraint: Document) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def _validate_toleration(toleration: Document, path: str) -> Iterator[Cause]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        yield from texts.text(key, f"{path}.key", qualified_name)
    elif operator != "Exists":
        message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, message)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("Equal", ""):
        if problems := label_value(value):
            yield invalid(f"{path}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        compared = operator in ("Lt", "Gt")
        allowed = ("Equal", "Exists", "Lt", "Gt") if compared else ("Equal", "Exists")
        yield not_supported(f"{path}.operator", operator, allowed)
    yield from fields.optional_choice(effect or None, f"{path}.effect", TAINT_EFFECTS)
