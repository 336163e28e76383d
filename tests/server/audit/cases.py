"""Requests whose audit events are compared with those of a kube-apiserver, and the policy that selects their levels."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

NAMESPACE = "audited"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "nonResourceURLs": ["/healthz*", "/version"]},
        {"level": "None", "users": ["system:apiserver"]},
        {"level": "None", "resources": [{"group": "coordination.k8s.io"}]},
        {"level": "Metadata", "verbs": ["list"], "resources": [{"resources": ["configmaps"]}]},
        {"level": "Request", "verbs": ["update", "patch"], "resources": [{"resources": ["configmaps"]}]},
        {"level": "RequestResponse", "namespaces": [NAMESPACE], "resources": [{"resources": ["configmaps", "pods/*"]}]},
        {"level": "Metadata", "resources": [{"resources": ["secrets"]}], "omitStages": ["RequestReceived"]},
        {"level": "RequestResponse", "resources": [{"group": "apps", "resources": ["*/scale"]}]},
        {"level": "Metadata", "nonResourceURLs": ["/api"], "omitStages": ["ResponseComplete"]},
        {"level": "Metadata", "omitStages": ["RequestReceived"]},
    ],
}


@dataclass(frozen=True)
class Case:
    """A request; with `audited` its events are compared."""

    title: str
    method: str
    target: str
    body: Any = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    audited: bool = True

    @property
    def data(self) -> bytes:
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers, with the id that the events of the request have."""
        sent = {"User-Agent": "audit-test", "Audit-ID": self.title.replace(" ", "-"), "Accept": "application/json"}
        if self.body is not None:
            sent["Content-Type"] = self.content_type
        return sent | self.headers


def _config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _policy(name: str, resource: str, **spec: Any) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, **spec},
    }


def _binding(policy: str, *actions: str) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": policy},
        "spec": {"policyName": policy, "validationActions": list(actions)},
    }


_ANNOTATES = _policy(
    "annotates",
    "configmaps",
    auditAnnotations=[
        {"key": "keys", "valueExpression": "'has ' + string(size(object.data)) + ' keys'"},
        {"key": "none", "valueExpression": "null"},
    ],
    validations=[{"expression": "size(object.data) < 2", "message": "too many"}],
)
_DENIES = _policy(
    "denies", "configmaps", validations=[{"expression": "object.metadata.name != 'denied'", "message": "not this one"}]
)
_PATCH = [{"op": "remove", "path": "/data/x"}]
_REVIEW: dict[str, Any] = {"spec": {"nonResourceAttributes": {}}}
_FORWARDED = {"X-Forwarded-For": "10.1.2.3, 10.4.5.6", "X-Real-Ip": "10.9.9.9"}
_DELETE_OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
PROBE = Case("probe", "POST", CONFIG_MAPS + "?dryRun=All", _config_map("denied", x="1"), audited=False)
"""It is refused as soon as a server evaluates the policies."""

_LEVELS = {"enforce": "baseline", "audit": "restricted", "warn": "baseline"}
_SECURE = {
    "metadata": {
        "name": "secure",
        "labels": {f"pod-security.kubernetes.io/{mode}": level for mode, level in _LEVELS.items()},
    }
}


def _pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}], **spec}}


def _deployment() -> dict[str, Any]:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": _pod(hostNetwork=True)["spec"]}
    return {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


CASES = [
    Case("namespace", "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}),
    Case("create", "POST", CONFIG_MAPS, _config_map("a", x="1")),
    Case("create generated", "POST", CONFIG_MAPS + "?dryRun=All", {"metadata": {"generateName": "g-"}}),
    Case("create again", "POST", CONFIG_MAPS, _config_map("a", x="1")),
    Case("get", "GET", CONFIG_MAPS + "/a"),
    Case("head", "HEAD", CONFIG_MAPS + "/a"),
    Case("get missing", "GET", CONFIG_MAPS + "/missing?pretty=false"),
    Case("list", "GET", CONFIG_MAPS + "?limit=5"),
    Case("list all", "GET", "/api/v1/configmaps?labelSelector=a%3Db"),
    Case("update", "PUT", CONFIG_MAPS + "/a", _config_map("a", x="2")),
    Case("merge patch", "PATCH", CONFIG_MAPS + "/a", {"data": {"y": "3"}}, "application/merge-patch+json"),
    Case(
        "apply",
        "PATCH",
        CONFIG_MAPS + "/a?fieldManager=me&force=true",
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"z": "4"}},
        "application/apply-patch+yaml",
    ),
    Case(
        "json patch", "PATCH", CONFIG_MAPS + "/a", [{"op": "remove", "path": "/data/x"}], "application/json-patch+json"
    ),
    Case("invalid", "POST", CONFIG_MAPS, _config_map("Not_A_Name")),
    Case("no json", "POST", CONFIG_MAPS, b"{", "application/json"),
    Case("secret", "POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": "s"}}),
    Case("watch", "GET", CONFIG_MAPS + "?watch=true&timeoutSeconds=1&resourceVersion=0"),
    Case("no resource", "GET", "/api/v1/nothing"),
    Case("no path", "GET", "/nothing"),
    Case("paths", "GET", "/api"),
    Case("health", "GET", "/healthz"),
    Case("impersonated", "GET", CONFIG_MAPS + "/a", headers={"Impersonate-User": "joe", "Impersonate-Group": "dev"}),
    Case("unauthorized", "GET", CONFIG_MAPS, headers={"Authorization": "Bearer wrong"}),
    Case("long agent", "GET", "/api/v1/nodes", headers={"User-Agent": "x" * 2000}),
    Case(
        "forwarded", "GET", "/api/v1/nodes", headers={"X-Forwarded-For": "10.1.2.3, 10.4.5.6", "X-Real-Ip": "10.9.9.9"}
    ),
    Case(
        "delete", "DELETE", CONFIG_MAPS + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    ),
    Case("delete collection", "DELETE", CONFIG_MAPS),
    Case("method", "POST", CONFIG_MAPS + "/a", {}),
    Case(
        "scale",
        "PUT",
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/missing/scale",
        {"metadata": {"name": "missing"}, "spec": {"replicas": 1}, "status": {"replicas": 0}},
    ),
    Case("deprecated", "GET", f"/api/v1/namespaces/{NAMESPACE}/endpoints"),
    Case("secure namespace", "POST", "/api/v1/namespaces", _SECURE),
    Case("pod", "POST", "/api/v1/namespaces/secure/pods", _pod(hostNetwork=False)),
    Case("pod refused", "POST", "/api/v1/namespaces/secure/pods", _pod(hostNetwork=True)),
    Case("pod elsewhere", "POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", _pod(hostNetwork=True)),
    Case("workload", "POST", "/apis/apps/v1/namespaces/secure/deployments?dryRun=All", _deployment()),
    Case("evict", "POST", "/api/v1/namespaces/secure/pods/a/eviction?dryRun=All", {"metadata": {"name": "a"}}),
    Case("bind", "POST", "/api/v1/namespaces/secure/pods/a/binding?dryRun=All", {"target": {"name": "n"}}),
    Case("log", "GET", "/api/v1/namespaces/secure/pods/a/log"),
    Case("status", "PATCH", "/api/v1/namespaces/secure/pods/a/status", {"status": {}}, "application/merge-patch+json"),
    Case(
        "review",
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {"spec": {"nonResourceAttributes": {}}},
    ),
    Case("table", "GET", CONFIG_MAPS, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}),
    Case("yaml", "GET", CONFIG_MAPS + "?limit=1", headers={"Accept": "application/yaml"}),
    Case("by name", "GET", CONFIG_MAPS + "?fieldSelector=metadata.name%3Da"),
    Case("policy annotates", "POST", POLICIES, _ANNOTATES, audited=False),
    Case("binding annotates", "POST", BINDINGS, _binding("annotates", "Audit", "Warn"), audited=False),
    Case("policy denies", "POST", POLICIES, _DENIES, audited=False),
    Case("binding denies", "POST", BINDINGS, _binding("denies", "Deny"), audited=False),
    PROBE,
    Case("annotated", "POST", CONFIG_MAPS, _config_map("b", x="1")),
    Case("annotated failure", "POST", CONFIG_MAPS, _config_map("c", x="1", y="2")),
    Case("denied", "POST", CONFIG_MAPS, _config_map("denied", x="1")),
]
