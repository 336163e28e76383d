"""What the programs here share: they print what they saw, without what differs from run to run.

Each program does one job against the server of the kubeconfig in its first argument, in a namespace that it creates
by the name in its second argument, and ends with exit code 0. The tests run it on two servers and compare the lines.
"""

import json
import sys
import time

WITHIN = 30.0  # seconds that anything may take here
VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "selfLink")


def show(label, value=None):
    """Print a line: a label, and a value as JSON."""
    line = label if value is None else f"{label} {json.dumps(masked(value), sort_keys=True)}"
    print(line.replace(sys.argv[2], "<namespace>"), flush=True)


def log(line):
    print(line, file=sys.stderr, flush=True)


def masked(value):
    """The value without names of a run: uids and versions are only there or not, and so are times."""
    if isinstance(value, list):
        return [masked(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {
        key: f"<{key}>" if one and (key in VOLATILE or key.endswith(("Timestamp", "Time", "time"))) else masked(one)
        for key, one in value.items()
        if one is not None
    }
    if isinstance(entries := found.get("managedFields"), list):
        entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))  # else by times: a second may have passed
    return found


def until(ready, what):
    """Call it until it returns something true, and return that."""
    deadline = time.monotonic() + WITHIN
    while not (result := ready()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"still waiting for {what}")
        time.sleep(0.02)
    return result


def until_served(read, error_class, code_of):
    """Call a read of a new kind until it is answered: at first the kind is not found, or its storage is not ready."""

    def served():
        try:
            read()
        except error_class as error:
            if code_of(error) not in (404, 429):
                raise
            return False
        return True

    until(served, "the custom resource")


def definition(group, kind):
    """A CRD with validation, a default, status and scale."""
    plural = f"{kind.lower()}s"
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 10},
            "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
            "replicas": {"type": "integer"},
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
                },
            },
        },
        "x-kubernetes-validations": [{"rule": "self.size % 2 == 0 || self.mode == 'safe'", "message": "odd is safe"}],
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                    },
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
                }
            ],
        },
    }


def deployment(name, replicas=1):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
            },
        },
    }
