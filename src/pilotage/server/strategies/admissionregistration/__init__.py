"""The kinds of the group admissionregistration.k8s.io: webhooks and policies that decide on writes."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy

_FLAGS = {"generation": True, "unconditional_update": False}
_PACKAGE = "admissionregistration"

STRATEGIES: Mapping[str, Strategy] = {
    "mutatingadmissionpolicies": Strategy(generation=True, unconditional_update=False),
    "mutatingadmissionpolicybindings": Strategy(generation=True, unconditional_update=False),
    "mutatingwebhookconfigurations": deferred(f"{_PACKAGE}.webhooks:MutatingWebhookConfigurationStrategy", **_FLAGS),
    "validatingadmissionpolicies": deferred(f"{_PACKAGE}.policies:ValidatingAdmissionPolicyStrategy", **_FLAGS),
    "validatingadmissionpolicybindings": deferred(f"{_PACKAGE}.bindings:PolicyBindingStrategy", **_FLAGS),
    "validatingwebhookconfigurations": deferred(f"{_PACKAGE}.webhooks:WebhookConfigurationStrategy", **_FLAGS),
}
