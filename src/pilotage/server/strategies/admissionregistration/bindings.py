"""ValidatingAdmissionPolicyBindings: where a policy is in effect, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.names import dns_1123_subdomain, path_segment_name
from pilotage.server.strategies.admissionregistration.rules import default_selection, validate_match_resources
from pilotage.server.strategies.checks.labelselectors import validate_label_selector
from pilotage.server.strategies.checks.texts import validate_required_text, validate_text
from pilotage.server.strategies.strategy import Strategy

_ACTIONS = ("Audit", "Deny", "Warn")
_MISSING = ("Deny", "Allow")
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


class PolicyBindingStrategy(Strategy):
    """Bindings can change at any time."""

    schema_rules = False
    qualified_finalizers = False

    def default(self, document: Document) -> None:
        spec = document.setdefault("spec", {})
        if spec.get("matchResources") is not None:
            default_selection(spec["matchResources"])

    def validate(self, document: Document) -> list[Cause]:
        return list(_validate_spec(document["spec"]))


def _validate_spec(spec: Document) -> Iterator[Cause]:
    yield from validate_required_text(spec.get("policyName"), "spec.policyName", dns_1123_subdomain)
    if (parameters := spec.get("paramRef")) is not None:
        yield from _validate_parameters(parameters, "spec.paramRef")
    yield from validate_match_resources(spec.get("matchResources"), "spec.matchResources")
    actions = spec.get("validationActions") or []
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"spec.validationActions[{index}]", action, _ACTIONS)
        if action in seen:
            yield duplicate(f"spec.validationActions[{index}]", action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        yield invalid("spec.validationActions", actions, _BOTH, whole=True)
    if not actions:
        yield required("spec.validationActions", "at least one validation action is required")


def _validate_parameters(reference: Document, path: str) -> Iterator[Cause]:
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        yield from validate_text(name, f"{path}.name", path_segment_name)
        if selector is not None:
            yield forbidden(f"{path}.name", "name and selector are mutually exclusive")
    if selector is not None:
        yield from validate_label_selector(selector, f"{path}.selector")
        if name:
            yield forbidden(f"{path}.selector", "name and selector are mutually exclusive")
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction") or ""
    if not action:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in _MISSING:
        yield not_supported(f"{path}.parameterNotFoundAction", action, _MISSING)
