"""What is registered with an API server: which writes a webhook is called for, and how."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.optionfields import WholeSecondsField, check_fields, whole_seconds_field
from pilotage.meta.bounds.texts import texts
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.webhook.addresses import with_bundle
from pilotage.webhook.admission import CONNECT, CREATE, DELETE, UPDATE
from pilotage.webhook.ownership import FieldPath

MUTATING = GroupVersionKind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration")
VALIDATING = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")

_PROGRAM_CHARACTERS = 40
"""Of the name of a program, so that the first part of a webhook's name has no more than 63 characters."""
OPERATIONS = (CREATE, UPDATE, DELETE, CONNECT, "*")


@dataclass(frozen=True, slots=True)
class WebhookRule:
    """Writes that a webhook is called for. `*` stands for all."""

    api_groups: Sequence[str]
    api_versions: Sequence[str]
    resources: Sequence[str]
    """Plural names; `pods/status` is a subresource, `pods/*` all of them, `*/*` everything."""
    operations: Sequence[str] = (CREATE, UPDATE)
    """CREATE, UPDATE, DELETE and CONNECT."""
    scope: Literal["*", "Cluster", "Namespaced"] = "*"

    def document(self) -> Document:
        return {
            "apiGroups": list(self.api_groups),
            "apiVersions": list(self.api_versions),
            "operations": list(self.operations),
            "resources": list(self.resources),
            "scope": self.scope,
        }


@dataclass(frozen=True, slots=True)
class RegistrationOptions:
    """The rest of a registration, under the names of the webhook configuration."""

    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    """What the API server does if the webhook cannot be called: refuse the write, or let it through."""

    match_policy: Literal["Equivalent", "Exact"] = "Equivalent"
    """Whether other versions of the same resource are converted and sent, too."""

    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    """Whether calls change anything else; `NoneOnDryRun` if dry runs do not."""

    timeout_seconds: WholeSecondsField = whole_seconds_field(10, least=1, most=30)
    """How long the API server waits, from 1 to 30 seconds."""

    reinvocation_policy: Literal["Never", "IfNeeded"] = "Never"
    """Whether a mutating webhook is called again if a later one has changed the object."""

    namespace_selector: Mapping[str, Any] = field(default_factory=dict)
    """Only objects in namespaces with these labels, as `{"matchLabels": {…}}`; empty: all."""

    object_selector: Mapping[str, Any] = field(default_factory=dict)
    """Only objects with these labels."""

    match_conditions: Sequence[Mapping[str, str]] = ()
    """CEL expressions that all must hold: `{"name": …, "expression": …}`."""

    admission_review_versions: Sequence[str] = ("v1",)
    """The versions of AdmissionReview that the API server may send; `v1beta1` is understood, too."""

    subresources: Sequence[str] = ()
    """Subresources of the kind that the webhook is called for besides the object, as `status` and `scale`."""

    operations: Sequence[str] = ()
    """The operations; empty: CREATE and UPDATE, and DELETE for validators."""

    def __post_init__(self) -> None:
        check_fields(self)
        for option in ("subresources", "operations", "admission_review_versions"):
            check_names(option, getattr(self, option))


def check_names(option: str, value: Sequence[str]) -> None:
    """Raise InvalidDefinition for a name where a list of names is needed, and for an unknown operation."""
    unknown = [one for one in texts(value, option) if option == "operations" and one not in OPERATIONS]
    if unknown:
        raise InvalidDefinition(f"{option}={value!r}: {unknown[0]!r} must be one of {', '.join(OPERATIONS)}")


def default_name(gvk: GroupVersionKind, plural: str, *, mutating: bool, program: str = "") -> str:
    """The name of a webhook and its configuration: `mutate-v1.guestbooks.example.com`, one for each version.

    With a program, that is its beginning: `greetings-mutate-v1.pods.core`. Built-in kinds need it, because several
    programs may have webhooks for one.
    """
    name = f"{'mutate' if mutating else 'validate'}-{gvk.version}.{plural}.{gvk.group or 'core'}"
    return f"{program}-{name}" if program else name


def program_of(handler: object) -> str:
    """The package, or the file, in which a handler is defined, as a part of a name: `greetings`."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    package = str(getattr(handler, "__module__", "")).partition(".")[0]
    file = PurePath(getattr(sys.modules.get(package), "__file__", None) or "")
    program = package if file.stem in ("", "__init__") else file.stem  # a program that is run has the name __main__
    return re.sub(r"[^a-z0-9]+", "-", program.lower())[:_PROGRAM_CHARACTERS].strip("-")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One webhook: its path, and the writes that it is called for."""

    name: str
    """The name of the webhook and of the configuration that has it, with at least three parts separated by dots."""
    path: str
    mutating: bool
    rules: Sequence[WebhookRule]
    options: RegistrationOptions = field(default_factory=RegistrationOptions)

    @property
    def kind(self) -> GroupVersionKind:
        return MUTATING if self.mutating else VALIDATING

    @property
    def client_config(self) -> FieldPath:
        return ("webhooks", {"name": self.name}, "clientConfig")

    def document(self, client_config: Document) -> Document:
        """The whole configuration."""
        return self._configuration(self._webhook(client_config))

    def injection(self, bundle: bytes) -> Document:
        """The bundle alone, for a configuration that another program has installed."""
        return self._configuration({"name": self.name, "clientConfig": with_bundle({}, bundle)})

    def _configuration(self, webhook: Document) -> Document:
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": {"name": self.name},
            "webhooks": [webhook],
        }

    def _webhook(self, client_config: Document) -> Document:
        options = self.options
        document: Document = {
            "name": self.name,
            "clientConfig": client_config,
            "rules": [rule.document() for rule in self.rules],
            "failurePolicy": options.failure_policy,
            "matchPolicy": options.match_policy,
            "sideEffects": options.side_effects,
            "timeoutSeconds": options.timeout_seconds,
            "admissionReviewVersions": list(options.admission_review_versions),
        }
        if self.mutating:
            document["reinvocationPolicy"] = options.reinvocation_policy
        if options.namespace_selector:
            document["namespaceSelector"] = dict(options.namespace_selector)
        if options.object_selector:
            document["objectSelector"] = dict(options.object_selector)
        if options.match_conditions:
            document["matchConditions"] = [dict(condition) for condition in options.match_conditions]
        return document
