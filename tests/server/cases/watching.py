"""Watch: which events, in which order, and which errors. Every watch ends by its timeout."""

from __future__ import annotations

from ..differential import Saved, Scenario, delete, get, patch, post, put
from .kinds import CONFIG_MAPS, WIDGETS, definition, widget

ONE = f"{WIDGETS}/one"
WATCH = "?watch=1&timeoutSeconds=1"
SINCE = f"{WATCH}&resourceVersion=<start.metadata.resourceVersion>"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

WATCHING = Scenario(
    "watching",
    [
        post("before", WIDGETS, widget("before", metadata={"name": "before", "labels": {"in": "yes"}})),
        get("where we start", WIDGETS, save="start"),
        post("one", WIDGETS, widget(metadata={"name": "one", "labels": {"in": "yes"}}), save="one"),
        patch("changed", ONE, {"spec": {"size": 2}}),
        patch("unchanged", ONE, {"spec": {"size": 2}}),
        patch("out", ONE, {"metadata": {"labels": {"in": "no"}}}),
        patch("in again", ONE, {"metadata": {"labels": {"in": "yes"}}}),
        patch("status", ONE + "/status", {"status": {"phase": "x"}}),
        post("held", WIDGETS, widget("held", metadata={"name": "held", "finalizers": ["x.example.com/hold"]})),
        delete("held is marked", WIDGETS + "/held"),
        patch("held goes", WIDGETS + "/held", {"metadata": {"finalizers": []}}),
        delete("one goes", ONE),
        get("everything since", WIDGETS + SINCE),
        get("what is selected by label", WIDGETS + SINCE + "&labelSelector=in%3Dyes"),
        get("what is selected by name", WIDGETS + SINCE + "&fieldSelector=metadata.name%3Dheld"),
        get("metadata alone", WIDGETS + SINCE + "&labelSelector=in%3Dyes", accept=PARTIAL),
        get("what is there, at no version", WIDGETS + WATCH),
        get("what is there, at any version", WIDGETS + WATCH + "&resourceVersion=0"),
        get("what is there, selected", WIDGETS + WATCH + "&labelSelector=in%3Dno"),
        get("a watch through the object's own path", WIDGETS + "/before" + WATCH),
    ],
    [definition()],
)

WATCH_ERRORS = Scenario(
    "watch-errors",
    [
        get("no number", CONFIG_MAPS + WATCH + "&resourceVersion=abc"),
        get("no number, custom", WIDGETS + WATCH + "&resourceVersion=abc"),
        get("a bad selector", CONFIG_MAPS + WATCH + "&labelSelector=%3D%3D"),
        get("an unknown field", CONFIG_MAPS + WATCH + "&fieldSelector=data%3D1"),
        get("match alone", CONFIG_MAPS + WATCH + "&resourceVersionMatch=NotOlderThan&resourceVersion=1"),
        get("initial events without match", CONFIG_MAPS + WATCH + "&sendInitialEvents=true"),
        get(
            "initial events exactly",
            CONFIG_MAPS + WATCH + "&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
        ),
        get("no initial events, without match", CONFIG_MAPS + WATCH + "&sendInitialEvents=false"),
        get("continue", CONFIG_MAPS + WATCH + "&continue=abc&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        get("a timeout that is no number", WIDGETS + "?watch=1&timeoutSeconds=x"),
        get("the future is silent", CONFIG_MAPS + WATCH + "&resourceVersion=99999999"),
        get(
            "initial events in the future",
            CONFIG_MAPS + WATCH + "0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999",
        ),
        get("the future is silent, custom", WIDGETS + WATCH + "&allowWatchBookmarks=1&resourceVersion=99999999"),
        get("an unknown resource", "/apis/<group>/v1/namespaces/<namespace>/gizmos" + WATCH),
        get("as YAML", CONFIG_MAPS + WATCH, accept="application/yaml"),
        get("watch=0 is a list", CONFIG_MAPS + "?watch=0"),
        get("watch=false is a list", CONFIG_MAPS + "?watch=false"),
    ],
    [definition()],
)

LEASE = "/apis/coordination.k8s.io/v1/namespaces/<namespace>/leases"
LEASES_WATCHED = Scenario(
    "watching-built-ins",
    [
        get("where we start", LEASE, save="start"),
        post("a Lease", LEASE, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}, save="lease"),
        put("renewed", LEASE + "/l", Saved("lease", {"spec.holderIdentity": "b"})),
        delete("gone", LEASE + "/l"),
        get("everything since", LEASE + SINCE),
        get("nothing is there", LEASE + WATCH),
    ],
)
