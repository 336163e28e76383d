"""The server names no kind but those that it cannot work without: here they are, by the part that needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from pilotage.types import builtin

SERVER = Path(__file__).parents[2] / "src" / "pilotage" / "server"
NAMED = {
    # users and rights: the authorizer and the tokens read these objects
    "access/escalation.py": {"ClusterRole", "clusterrolebindings", "clusterroles", "rolebindings", "roles"},
    "access/impersonation.py": {"nodes", "serviceaccounts"},
    "access/rbac.py": {
        *("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"),
        *("clusterrolebindings", "clusterroles", "namespaces", "rolebindings", "roles"),
    },
    "access/serviceaccounts.py": {"nodes", "pods", "secrets", "serviceaccounts"},
    "verbs/reviews.py": {
        *("localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews"),
        *("subjectaccessreviews", "tokenreviews"),
    },
    # namespaces, and definitions of custom resources
    "admission.py": {"namespaces"},
    "catalogue/catalogue.py": {"events", "namespaces"},
    "definitions.py": {"customresourcedefinitions"},
    "loops/termination.py": {"namespaces"},
    "openapi/paths.py": {"namespaces"},
    "registry.py": {"Namespace", "apiservices", "namespaces"},
    "strategies/needed.py": {"namespaces"},
    "writes/store.py": {"namespaces"},
    # webhooks and policies: what configures them, and the Services that they are reached by
    "matching/rules.py": {
        *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations"),
        *("validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"),
        "namespaces",
    },
    "matching/selectors.py": {"namespaces"},
    "plugins/policies.py": {"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"},
    "plugins/policydispatch.py": {"namespaces"},
    "plugins/webhooks.py": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
    "policies/policy.py": {"Binding"},  # a part of the name of a kind of policies
    "webhooks/endpoints.py": {"endpoints", "endpointslices", "services"},
    # stored objects that the server acts upon must be sound
    "soundness.py": {
        *("flowschemas", "prioritylevelconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
        *("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    },
    # secrets stay secret: encryption, errors, and managed fields
    "cleartext.py": {"secrets"},
    "decoding/refusals.py": {"Secret"},
    "encryption.py": {"secrets"},
    "loops/garbage/collection.py": {"secrets"},
    "ownership/track.py": {"secrets", "serviceaccounts"},
    "verbs/patch.py": {"Secret"},
    # what is written about other objects: audit events, Events of the collector, leases that fence writes
    "audit/events.py": {"Event"},
    "audit/objects.py": {"Binding"},
    "loops/garbage/ownerevents.py": {"Event", "events"},
    "writes/fencing.py": {"leases"},
    # answers that kube-apiserver gives for single kinds alone
    "http/discovery.py": {
        *("CustomResourceDefinition", "Event", "HorizontalPodAutoscaler"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    },
}


def test_the_server_names_no_other_kinds() -> None:
    names = {name for mapping in builtin.resources() for name in (mapping.resource.resource, mapping.gvk.kind)}
    found = {
        path.relative_to(SERVER).as_posix(): {part for text in texts(path) for part in text.split("/")} & names
        for path in SERVER.glob("**/*.py")
    }
    assert {path: kinds for path, kinds in found.items() if kinds} == NAMED


def texts(path: Path) -> Iterator[str]:
    """The string literals of a module, without those that document it."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    documenting = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documenting:
            yield node.value
