"""The cases that are compared with a real kube-apiserver."""

from __future__ import annotations

from typing import Any

from pilotage.meta.documents import Document
from tests.server.differential import APPLY, JSON_PATCH, MERGE, Saved, delete, get, patch, post, put

from . import matches
from .comparison import Case, configuration, webhook
from .conversions import CONVERSION, LIES
from .servers import patched
from .verdicts import MUTATED, REPLACED, VERDICTS

MAPS = "/api/v1/namespaces/<namespace>/configmaps"
PODS = "/api/v1/namespaces/<namespace>/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/<namespace>/deployments"
POD_SPEC: Document = {"containers": [{"name": "c", "image": "busybox"}]}
TEMPLATE: Document = {"metadata": {"labels": {"app": "a"}}, "spec": POD_SPEC}
DEPLOYMENT: Document = {
    "metadata": {"name": "web"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE},
}


def config_map(name: str, **more: Any) -> Document:
    return {"metadata": {"name": name} | more.pop("metadata", {})} | more


def _label(key: str, value: str = "yes") -> Any:
    """A behaviour: set a label; it may be the first one."""

    def behave(review: Document) -> Document:
        labels = (review["request"]["object"]["metadata"].get("labels") or {}) | {key: value}
        return patched(review, {"op": "add", "path": "/metadata/labels", "value": labels})

    return behave


OBSERVED = Case(
    "observed",
    configurations=[
        configuration("Mutating", "observed", webhook("/m", resources="configmaps configmaps/*")),
        configuration("Validating", "observed", webhook("/v", resources="configmaps configmaps/*")),
    ],
    steps=[
        post("create", MAPS, config_map("a", data={"k": "v"}), save="a"),
        post("create with options", f"{MAPS}?fieldManager=me&fieldValidation=Strict", config_map("b")),
        post("create in a dry run", f"{MAPS}?dryRun=All", config_map("c")),
        post("create with a generated name", MAPS, {"metadata": {"generateName": "g-"}}),
        put("update", f"{MAPS}/a", Saved("a", {"data.k": "w"})),
        patch("merge patch", f"{MAPS}/a", {"data": {"k": "x"}}, MERGE),
        patch("JSON patch", f"{MAPS}/a", [{"op": "add", "path": "/data/l", "value": "y"}], JSON_PATCH),
        patch("patch that changes nothing", f"{MAPS}/a", {"data": {"k": "x"}}, MERGE),
        patch(
            "apply",
            f"{MAPS}/a?fieldManager=applier&force=true",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "z"}},
            APPLY,
        ),
        patch(
            "apply that creates",
            f"{MAPS}/d?fieldManager=applier",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}},
            APPLY,
        ),
        delete(
            "delete with options",
            f"{MAPS}/a",
            {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "gracePeriodSeconds": 5},
        ),
        delete("delete in a dry run", f"{MAPS}/b?dryRun=All"),
        delete("delete what does not exist", f"{MAPS}/nothing"),
        delete("delete collection", MAPS),
        post("create with an error", MAPS, config_map("Not A Name")),
    ],
)

SUBRESOURCES = Case(
    "subresources",
    configurations=[
        configuration("Mutating", "subresources", webhook("/m", resources="*/*"), webhook("/ma", resources="apps:*/*")),
        configuration(
            "Validating", "subresources", webhook("/v", resources="*/*"), webhook("/va", resources="apps:*/*")
        ),
    ],
    steps=[
        post("create a deployment", DEPLOYMENTS, DEPLOYMENT, save="web"),
        get("scale", f"{DEPLOYMENTS}/web/scale", save="scale"),
        put("update the scale", f"{DEPLOYMENTS}/web/scale", Saved("scale", {"spec.replicas": 4})),
        patch("patch the scale", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}}, MERGE),
        patch("patch the status", f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 5}}, MERGE),
        post("create a pod", PODS, {"metadata": {"name": "p"}, "spec": POD_SPEC}),
        post(
            "bind the pod",
            f"{PODS}/p/binding",
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}},
        ),
        post("exec", f"{PODS}/p/exec?command=ls&stdout=true", None),
        post("port forward", f"{PODS}/p/portforward?ports=80", None),
        get("proxy", f"{PODS}/p/proxy/a/b"),
        get("log", f"{PODS}/p/log"),
        post(
            "evict the pod",
            f"{PODS}/p/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
        ),
        delete("delete the pod again", f"{PODS}/p"),
        delete("delete the pod at once", f"{PODS}/p?gracePeriodSeconds=0"),
        post("create another pod", PODS, {"metadata": {"name": "q"}, "spec": POD_SPEC}),
        delete("delete a pod without a node", f"{PODS}/q"),
        post("create with a finalizer", MAPS, config_map("f", metadata={"finalizers": ["example.com/f"]})),
        delete("delete with a finalizer", f"{MAPS}/f"),
        delete("delete with a finalizer again", f"{MAPS}/f"),
        patch("remove the finalizer", f"{MAPS}/f", {"metadata": {"finalizers": None}}, MERGE),
        delete("delete in the foreground", f"{DEPLOYMENTS}/web?propagationPolicy=Foreground"),
    ],
)

MUTATIONS = Case(
    "mutations",
    configurations=[
        configuration("Mutating", "mutations-2", webhook("/m-second", "CREATE UPDATE")),
        configuration(
            "Mutating",
            "mutations-1",
            webhook("/m-again", "CREATE", reinvocationPolicy="IfNeeded"),
            webhook("/m-first", "CREATE UPDATE"),
            webhook("/m-pod", "CREATE", "pods"),
        ),
        configuration("Validating", "mutations", webhook("/v", resources="configmaps pods")),
    ],
    behaviours={
        "/m-first": _label("first"),
        "/m-second": _label("second"),
        "/m-pod": lambda review: patched(
            review, {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "busybox"}}
        ),
    },
    steps=[
        post("create", MAPS, config_map("a"), save="a"),
        put("update", f"{MAPS}/a", Saved("a", {"data": {"k": "v"}})),
        patch(
            "apply",
            f"{MAPS}/a?fieldManager=applier",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}},
            APPLY,
        ),
        post("a pod gets its defaults", PODS, {"metadata": {"name": "p"}, "spec": POD_SPEC}),
    ],
)


CASES = (OBSERVED, SUBRESOURCES, MUTATIONS, CONVERSION, LIES, VERDICTS, MUTATED, REPLACED, *matches.ALL)
