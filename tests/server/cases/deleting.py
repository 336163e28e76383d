"""Deletion: preconditions, finalizers, propagation, collections."""

from __future__ import annotations

from ..differential import Scenario, delete, get, patch, post
from .kinds import CONFIG_MAPS, GROUP_VERSION, NO_UID, WIDGETS, definition, widget

ONE = f"{WIDGETS}/one"
TWO = f"{WIDGETS}/two"
THREE = f"{WIDGETS}/three"
HOLD = "x.example.com/hold"

DELETING = Scenario(
    "deleting",
    [
        post("one", WIDGETS, widget()),
        delete("it goes", ONE),
        delete("it is gone", ONE),
        post("two, held", WIDGETS, widget(metadata={"name": "two", "finalizers": [HOLD]})),
        delete("by dry run", TWO + "?dryRun=All"),
        delete("it is marked", TWO),
        delete("again: nothing new", TWO),
        post("it cannot be created yet", WIDGETS, widget("two")),
        patch("no finalizer can be added", TWO, {"metadata": {"finalizers": [HOLD, "y.example.com/more"]}}),
        patch("its spec can change", TWO, {"spec": {"size": 3}}),
        patch("the mark stays", TWO, {"metadata": {"deletionTimestamp": None}}),
        patch("by dry run, the last finalizer goes", TWO + "?dryRun=All", {"metadata": {"finalizers": None}}),
        patch("the last finalizer goes", TWO, {"metadata": {"finalizers": None}}),
        get("and so does the object", TWO),
        post("three", WIDGETS, widget("three"), save="three"),
        delete("another uid", THREE, {"preconditions": {"uid": NO_UID}}),
        delete("another version", THREE, {"preconditions": {"resourceVersion": "1"}}),
        delete("both", THREE, {"preconditions": {"resourceVersion": "1", "uid": NO_UID}}),
        delete("an unknown policy", THREE, {"propagationPolicy": "Nope"}),
        delete("an unknown policy in the query", THREE + "?propagationPolicy=Nope"),
        delete("two policies", THREE, {"propagationPolicy": "Orphan", "orphanDependents": True}),
        delete("another word for dry run", THREE, {"dryRun": ["x"]}),
        delete("half a document", THREE, "{"),
        delete("another kind of body", THREE, {"kind": "Pod", "apiVersion": "v1"}),
        delete("a wrong type", THREE, {"gracePeriodSeconds": "x"}),
        delete("dry run", THREE, {"dryRun": ["All"]}),
        delete("negative grace", THREE + "?gracePeriodSeconds=-5&dryRun=All"),
        delete("grace that is no number", THREE + "?gracePeriodSeconds=x"),
        delete("foreground", THREE, {"propagationPolicy": "Foreground"}),
        delete("foreground again", THREE, {"propagationPolicy": "Foreground"}),
        delete("background after all", THREE, {"propagationPolicy": "Background"}),
        post("four", WIDGETS, widget("four"), save="four"),
        delete("orphan", WIDGETS + "/four", {"propagationPolicy": "Orphan"}),
        delete("orphan, then foreground", WIDGETS + "/four", {"propagationPolicy": "Foreground"}),
        patch("let go", WIDGETS + "/four", {"metadata": {"finalizers": []}}),
        post("five", WIDGETS, widget("five"), save="five"),
        delete(
            "what is meant",
            WIDGETS + "/five",
            {"preconditions": {"uid": "<five.metadata.uid>", "resourceVersion": "<five.metadata.resourceVersion>"}},
        ),
        post("six", WIDGETS, widget("six")),
        delete("old words", WIDGETS + "/six?orphanDependents=true"),
        post("seven", WIDGETS, widget("seven")),
        delete("old words, other way", WIDGETS + "/seven", {"orphanDependents": False}),
        post("eight", WIDGETS, widget(metadata={"name": "eight", "finalizers": [HOLD]})),
        delete("the old words for background, held", WIDGETS + "/eight", {"orphanDependents": False}),
        post("a ConfigMap", CONFIG_MAPS, {"metadata": {"name": "one"}}),
        delete("another uid of a ConfigMap", CONFIG_MAPS + "/one", {"preconditions": {"uid": "1"}}),
        delete("the ConfigMap goes", CONFIG_MAPS + "/one"),
        delete("it is gone already", CONFIG_MAPS + "/one"),
        post("held ConfigMap", CONFIG_MAPS, {"metadata": {"name": "two", "finalizers": [HOLD]}}),
        delete("it is marked, without a generation", CONFIG_MAPS + "/two"),
    ],
    [definition()],
)


def labelled(name: str, **labels: str) -> dict[str, object]:
    return widget(name, metadata={"name": name, "labels": labels})


COLLECTIONS = Scenario(
    "collections",
    [
        post("a", WIDGETS, labelled("a", col="1")),
        post("b", WIDGETS, labelled("b", col="2")),
        post("c", WIDGETS, widget("c", metadata={"name": "c", "labels": {"col": "2"}, "finalizers": [HOLD]})),
        post("d", WIDGETS, labelled("d", col="3")),
        delete("by label", WIDGETS + "?labelSelector=col%3D1"),
        delete("nothing is left", WIDGETS + "?labelSelector=col%3D1"),
        delete("a bad selector", WIDGETS + "?labelSelector=%3D%3D"),
        delete("of all namespaces", f"{GROUP_VERSION}/widgets"),
        delete("by dry run", WIDGETS + "?labelSelector=col%3D2&dryRun=All"),
        delete("one is held", WIDGETS + "?labelSelector=col%3D2"),
        get("what is left", WIDGETS),
        delete("by name", WIDGETS + "?fieldSelector=metadata.name%3Dd", {"propagationPolicy": "Foreground"}),
        delete("nothing of ConfigMaps", CONFIG_MAPS + "?labelSelector=none%3D1"),
        delete("namespaces cannot be", "/api/v1/namespaces"),
        delete("an unknown policy", WIDGETS, {"propagationPolicy": "Nope"}),
        patch("let c go", WIDGETS + "/c", {"metadata": {"finalizers": None}}),
        get("d waits", WIDGETS),
    ],
    [definition()],
)


PODS = "/api/v1/namespaces/<namespace>/pods"
SERVICE_ACCOUNTS = "/api/v1/namespaces/<namespace>/serviceaccounts"
JOBS = "/apis/batch/v1/namespaces/<namespace>/jobs"
EVENTS = "/api/v1/namespaces/<namespace>/events"


def pod(name: str, node: str = "", **metadata: object) -> dict[str, object]:
    spec: dict[str, object] = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name, **metadata}, "spec": spec | ({"nodeName": node} if node else {})}


DELETING_BUILT_INS = Scenario(
    "deleting-built-ins",
    [
        post("a pod that is not scheduled", PODS, pod("a")),
        delete("by dry run", PODS + "/a?dryRun=All"),
        delete("it is removed at once", PODS + "/a"),
        get("it does not exist any more", PODS + "/a"),
        post("a pod on a node", PODS, pod("b", "n")),
        delete("a precondition in the query", PODS + "/b?uid=1"),
        delete("a version in the query", PODS + "/b?resourceVersion=1"),
        delete("of the collection too", PODS + "?resourceVersion=0"),
        delete("it has 30 seconds", PODS + "/b"),
        delete("again", PODS + "/b"),
        delete("with more time", PODS + "/b", {"gracePeriodSeconds": 60}),
        delete("with less", PODS + "/b", {"gracePeriodSeconds": 10}),
        delete("by dry run, without any", PODS + "/b?gracePeriodSeconds=0&dryRun=All"),
        delete("without any", PODS + "/b?gracePeriodSeconds=0"),
        post("a pod with a finalizer", PODS, pod("c", "n", finalizers=[HOLD])),
        delete("it has time, too", PODS + "/c"),
        patch("its finalizer is removed, but it stays", PODS + "/c", {"metadata": {"finalizers": None}}),
        delete("it is deleted now", PODS + "/c", {"gracePeriodSeconds": 0}),
        post("a pod, in the foreground", PODS, pod("d")),
        delete("it waits", PODS + "/d", {"propagationPolicy": "Foreground"}),
        delete("not any more", PODS + "/d", {"propagationPolicy": "Background"}),
        post("a service account", SERVICE_ACCOUNTS, {"metadata": {"name": "a"}}),
        delete("it waits for its dependents", SERVICE_ACCOUNTS + "/a?propagationPolicy=Foreground"),
        delete("and is returned as it was stored", SERVICE_ACCOUNTS + "/a?propagationPolicy=Background"),
        post("another service account", SERVICE_ACCOUNTS, {"metadata": {"name": "b"}}),
        delete("a service account is returned", SERVICE_ACCOUNTS + "/b"),
        delete("jobs are not, and their pods stay", JOBS),
        post(
            "an event",
            EVENTS,
            {"metadata": {"name": "e", "finalizers": ["orphan"]}, "involvedObject": {"namespace": "<namespace>"}},
        ),
        delete("events have no dependents", EVENTS + "/e?propagationPolicy=Foreground"),
        post("a ConfigMap that is held", CONFIG_MAPS, {"metadata": {"name": "one", "finalizers": [HOLD]}}),
        delete("a uid in the query", CONFIG_MAPS + "/one?uid=1"),
        delete("a version of a ConfigMap in the query", CONFIG_MAPS + "/one?resourceVersion=1"),
        delete("of their collection too", CONFIG_MAPS + "?resourceVersion=0"),
        delete("accepted", CONFIG_MAPS + "/one?orphanDependents=false"),
        delete("a body, so the query does not count", CONFIG_MAPS + "/one?dryRun=x", {"orphanDependents": False}),
        patch(
            "the last finalizer and another change",
            CONFIG_MAPS + "/one",
            {"metadata": {"finalizers": None}, "data": {"k": "v"}},
        ),
        delete("no policy", CONFIG_MAPS + "/one?propagationPolicy="),
        delete("an empty dry run", CONFIG_MAPS + "/one?dryRun="),
    ],
)
