"""The kinds of the group admissionregistration.k8s.io."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy


def _kind(target: str) -> Strategy:
    return deferred(f"admissionregistration.{target}", generation=True, unconditional_update=False)


STRATEGIES: Mapping[str, Strategy] = {
    "mutatingadmissionpolicies": _kind("policies:MutatingAdmissionPolicyStrategy"),
    "mutatingadmissionpolicybindings": _kind("bindings:MutatingAdmissionPolicyBindingStrategy"),
    "mutatingwebhookconfigurations": _kind("webhooks:MutatingWebhookConfigurationStrategy"),
    "validatingadmissionpolicies": _kind("policies:ValidatingAdmissionPolicyStrategy"),
    "validatingadmissionpolicybindings": _kind("bindings:ValidatingAdmissionPolicyBindingStrategy"),
    "validatingwebhookconfigurations": _kind("webhooks:ValidatingWebhookConfigurationStrategy"),
}
