"""ValidatingAdmissionPolicyBindings and MutatingAdmissionPolicyBindings."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.admissionregistration import matching
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import path_segment_name
from pilotage.server.strategies.checks import fields, items, labelselectors, texts
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

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return matching.name_warnings(document)

    def validate(self, document: Document) -> list[Cause]:
        spec = document.get("spec") or {}
        return [*_validate_spec(spec), *_validate_actions(spec.get("validationActions") or [])]


class MutatingAdmissionPolicyBindingStrategy(ValidatingAdmissionPolicyBindingStrategy):
    """Bindings of policies that change what requests write."""

    def validate(self, document: Document) -> list[Cause]:
        spec = document.get("spec") or {}
        resources = spec.get("matchResources") or {}
        return [*_validate_spec(spec), *matching.validate_mutating_operations(resources, "spec.matchResources")]


def _validate_spec(spec: Document) -> Iterator[Cause]:
    yield from texts.required_text(spec.get("policyName"), "spec.policyName")
    yield from fields.given(spec.get("paramRef"), "spec.paramRef", _validate_param_ref)
    yield from fields.given(spec.get("matchResources"), "spec.matchResources", matching.validate_match_resources)


def _validate_param_ref(reference: Document, path: str) -> Iterator[Cause]:
    name, selector = reference.get("name") or "", reference.get("selector")
    yield from texts.optional_text(name, f"{path}.name", path_segment_name)
    if name and selector is not None:
        yield forbidden(f"{path}.name", _EXCLUSIVE)
    yield from labelselectors.label_selector(selector, f"{path}.selector")
    if name and selector is not None:
        yield forbidden(f"{path}.selector", _EXCLUSIVE)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    yield from fields.required_choice(action, f"{path}.parameterNotFoundAction", _NOT_FOUND_ACTIONS)


def _validate_actions(actions: list[str]) -> Iterator[Cause]:
    path = "spec.validationActions"
    yield from items.distinct(actions, path, fields.choice, _ACTIONS)
    if {"Deny", "Warn"} <= set(actions):
        yield invalid(path, actions, _DENY_AND_WARN, whole=True)
    if not actions:
        yield required(path, "at least one validation action is required")
