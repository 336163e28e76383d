"""ValidatingAdmissionPolicyBindings and MutatingAdmissionPolicyBindings."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import path_segment_name
from pilotage.server.strategies.admissionregistration.rules import (
    default_match_resources,
    name_warnings,
    validate_match_resources,
    validate_mutating_operations,
)
from pilotage.server.strategies.checks.fields import validate_choice, validate_given, validate_required_choice
from pilotage.server.strategies.checks.items import validate_unique
from pilotage.server.strategies.checks.labelselectors import validate_label_selector
from pilotage.server.strategies.checks.texts import validate_optional_text, validate_required_text
from pilotage.server.strategies.strategy import Strategy

_ACTIONS = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_DENY_AND_WARN = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_EXCLUSIVE = "name and selector are mutually exclusive"


class ValidatingAdmissionPolicyBindingStrategy(Strategy):
    """Bindings of policies that refuse requests."""

    qualified_finalizers = False

    def default(self, document: Document) -> None:
        default_match_resources((document.get("spec") or {}).get("matchResources"))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return name_warnings(document)

    def validate(self, document: Document) -> list[Cause]:
        spec = document.get("spec") or {}
        return [*_validate_spec(spec), *_validate_actions(spec.get("validationActions") or [])]


class MutatingAdmissionPolicyBindingStrategy(ValidatingAdmissionPolicyBindingStrategy):
    """Bindings of policies that change what requests write."""

    def validate(self, document: Document) -> list[Cause]:
        spec = document.get("spec") or {}
        resources = spec.get("matchResources") or {}
        return [*_validate_spec(spec), *validate_mutating_operations(resources, "spec.matchResources")]


def _validate_spec(spec: Document) -> Iterator[Cause]:
    yield from validate_required_text(spec.get("policyName"), "spec.policyName")
    yield from validate_given(spec.get("paramRef"), "spec.paramRef", _validate_param_ref)
    yield from validate_given(spec.get("matchResources"), "spec.matchResources", validate_match_resources)


def _validate_param_ref(reference: Document, path: str) -> Iterator[Cause]:
    name, selector = reference.get("name") or "", reference.get("selector")
    yield from validate_optional_text(name, f"{path}.name", path_segment_name)
    if name and selector is not None:
        yield forbidden(f"{path}.name", _EXCLUSIVE)
    yield from validate_label_selector(selector, f"{path}.selector")
    if name and selector is not None:
        yield forbidden(f"{path}.selector", _EXCLUSIVE)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    yield from validate_required_choice(action, f"{path}.parameterNotFoundAction", _NOT_FOUND_ACTIONS)


def _validate_actions(actions: list[str]) -> Iterator[Cause]:
    path = "spec.validationActions"
    seen: set[str] = set()
    for index, action in enumerate(actions):
        yield from validate_choice(action, f"{path}[{index}]", _ACTIONS)
        yield from validate_unique(action, f"{path}[{index}]", seen)
    if {"Deny", "Warn"} <= seen:
        yield invalid(path, actions, _DENY_AND_WARN, whole=True)
    if not actions:
        yield required(path, "at least one validation action is required")
