"""Namespaces: what is filled in, which are protected, what happens in one that is being deleted."""

from __future__ import annotations

from ..differential import NAMESPACES, Saved, Scenario, delete, get, patch, post, put
from .kinds import GROUP_VERSION, definition, widget

HOLD = "x.example.com/hold"
MINE = f"{NAMESPACES}/<namespace>-more"
INSIDE = f"{MINE}/configmaps"
WIDGETS = f"{GROUP_VERSION}/namespaces/<namespace>-more/widgets"

NAMESPACE = Scenario(
    "namespace",
    [
        post("create", NAMESPACES, {"metadata": {"name": "<namespace>-more"}, "spec": {"finalizers": [HOLD]}}),
        post("it exists", NAMESPACES, {"metadata": {"name": "<namespace>-more"}}),
        post("a bad name", NAMESPACES, {"metadata": {"name": "Facts_"}}),
        post("a name with dots", NAMESPACES, {"metadata": {"name": "a.b"}}),
        post("a generated name", NAMESPACES + "?dryRun=All", {"metadata": {"generateName": "gen-"}}),
        post(
            "a status is set by the server",
            NAMESPACES + "?dryRun=All",
            {"metadata": {"name": "q"}, "status": {"phase": "Terminating"}},
        ),
        get("read", MINE),
        get("its status", MINE + "/status"),
        patch("labels", MINE, {"metadata": {"labels": {"kubernetes.io/metadata.name": None, "t": "u"}}}),
        patch("finalizers stay", MINE + "?dryRun=All", {"spec": {"finalizers": []}}),
        patch("the status stays", MINE + "?dryRun=All", {"status": {"phase": "Terminating"}}),
        post("a ConfigMap inside", INSIDE, {"metadata": {"name": "a", "finalizers": [HOLD]}}),
        post("a widget inside", WIDGETS, widget("a", metadata={"name": "a", "finalizers": [HOLD]})),
        delete("by dry run", MINE + "?dryRun=All"),
        delete("delete", MINE, save="marked"),
        post("nothing can be created", INSIDE, {"metadata": {"name": "x"}}),
        post("no widget either", WIDGETS, widget("x")),
        post("not even by dry run", INSIDE + "?dryRun=All", {"metadata": {"name": "x"}}),
        patch("what is there can change", INSIDE + "/a", {"data": {"a": "b"}}),
        get(
            "a list of what is selected",
            NAMESPACES + "?fieldSelector=status.phase%3DTerminating,metadata.name%3D<namespace>-more",
        ),
        put("finalize by another name", MINE + "/finalize", {"metadata": {"name": "other"}, "spec": {}}),
        post("finalize is not created", MINE + "/finalize", {"metadata": {"name": "<namespace>-more"}}),
        delete("default", NAMESPACES + "/default"),
        delete("kube-system", NAMESPACES + "/kube-system"),
        delete("kube-public", NAMESPACES + "/kube-public"),
        delete("kube-node-lease, by dry run", NAMESPACES + "/kube-node-lease?dryRun=All"),
        delete("what is not there", NAMESPACES + "/nowhere"),
        put("what is not there cannot be put", NAMESPACES + "/nowhere", {"metadata": {"name": "nowhere"}}),
        post("in a namespace's namespace", f"{NAMESPACES}/default/namespaces", {"metadata": {"name": "x"}}),
    ],
    [definition()],
)

FINALIZING = Scenario(
    "finalizing",
    [
        post(
            "held", NAMESPACES, {"metadata": {"name": "<namespace>-more"}, "spec": {"finalizers": [HOLD]}}, save="made"
        ),
        delete("marked", MINE),
        get("until it is empty", MINE, until={"status": 200}),
        put(
            "finalized", MINE + "/finalize", Saved("made", {"spec": {"finalizers": []}, "metadata.resourceVersion": ""})
        ),
        get("gone", MINE),
    ],
)
