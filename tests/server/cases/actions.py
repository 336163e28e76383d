"""Subresources that are actions or connections, quotas, limits and pod security."""

from __future__ import annotations

from ..differential import Scenario, get, patch, post, put

NAMESPACE = "/api/v1/namespaces/<namespace>"
PODS = f"{NAMESPACE}/pods"
BUDGETS = "/apis/policy/v1/namespaces/<namespace>/poddisruptionbudgets"
BUDGET = f"{BUDGETS}/b"
QUOTA = f"{NAMESPACE}/resourcequotas/q"
ACCOUNTS = f"{NAMESPACE}/serviceaccounts"


def pod(name: str, node: str = "", *containers: str, **more: object) -> dict[str, object]:
    spec: dict[str, object] = {"containers": [{"name": one, "image": "i"} for one in containers or ("c",)]} | more
    return {
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": spec | ({"nodeName": node} if node else {}),
    }


def eviction(name: str, **more: object) -> dict[str, object]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


def budget(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}


RUNNING = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}

EVICTING = Scenario(
    "evicting",
    [
        post("a pod", PODS, pod("a", "n")),
        patch("it runs", f"{PODS}/a/status", RUNNING),
        post("by dry run", f"{PODS}/a/eviction?dryRun=All", eviction("a")),
        post("by dry run in its options", f"{PODS}/a/eviction", eviction("a", deleteOptions={"dryRun": ["All"]})),
        post("a budget", BUDGETS, budget("b")),
        post("no controller has seen the budget", f"{PODS}/a/eviction", eviction("a")),
        patch(
            "it allows nothing",
            f"{BUDGET}/status",
            {
                "status": {
                    "observedGeneration": 1,
                    "disruptionsAllowed": 0,
                    "currentHealthy": 1,
                    "desiredHealthy": 1,
                    "expectedPods": 1,
                }
            },
        ),
        post("it needs the pod", f"{PODS}/a/eviction", eviction("a")),
        patch("it allows one", f"{BUDGET}/status", {"status": {"disruptionsAllowed": 1, "currentHealthy": 2}}),
        post("another name", f"{PODS}/a/eviction", {"metadata": {"name": "other"}}),
        post("no pod", f"{PODS}/none/eviction", eviction("none")),
        post("it goes", f"{PODS}/a/eviction", eviction("a")),
        get("the budget is spent", BUDGET),
        get("the pod is marked", f"{PODS}/a"),
        post("again", f"{PODS}/a/eviction", eviction("a")),
        get("it cannot be read", f"{PODS}/a/eviction"),
        put("nor updated", f"{PODS}/a/eviction", eviction("a")),
        post("a pod that is not scheduled", PODS, pod("b")),
        post("it goes at once", f"{PODS}/b/eviction", eviction("b")),
        get("it does not exist", f"{PODS}/b"),
        post("another budget", BUDGETS, budget("c")),
        post("another pod", PODS, pod("d", "n")),
        patch("it runs, too", f"{PODS}/d/status", RUNNING),
        post("it has two budgets", f"{PODS}/d/eviction", eviction("d")),
    ],
)

BINDING = Scenario(
    "binding",
    [
        post("a pod", PODS, pod("a")),
        post("to a pod", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Pod", "name": "n"}}),
        post("to nothing", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": ""}}),
        post("another name", f"{PODS}/a/binding", {"metadata": {"name": "b"}, "target": {"name": "n"}}),
        post("by dry run", f"{PODS}/a/binding?dryRun=All", {"metadata": {"name": "a"}, "target": {"name": "n"}}),
        post(
            "to a node",
            f"{PODS}/a/binding",
            {
                "metadata": {"name": "a", "annotations": {"by": "me"}, "labels": {"l": "m"}},
                "target": {"kind": "Node", "name": "n"},
            },
        ),
        get("it is bound", f"{PODS}/a"),
        post("again", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n"}}),
        post("no pod", f"{PODS}/none/binding", {"metadata": {"name": "none"}, "target": {"name": "n"}}),
        get("it cannot be read", f"{PODS}/a/binding"),
        post("another pod", PODS, pod("b")),
        post("by the older form", f"{NAMESPACE}/bindings", {"metadata": {"name": "b"}, "target": {"name": "n"}}),
        get("bindings cannot be listed", f"{NAMESPACE}/bindings"),
        post("a pod with gates", PODS, pod("g", schedulingGates=[{"name": "x.example.com/y"}])),
        post("its gate is closed", f"{PODS}/g/binding", {"metadata": {"name": "g"}, "target": {"name": "n"}}),
    ],
)

CONNECTING = Scenario(
    "connecting",
    [
        post("a pod on a node", PODS, pod("a", "n")),
        put("a log cannot be written", f"{PODS}/a/log", {}),
        get("no pod", f"{PODS}/none/log"),
        post("a pod of two containers", PODS, pod("b", "", "c", "d")),
        get("an empty log", f"{PODS}/b/log?container=c"),
        get("a service that does not exist", f"{NAMESPACE}/services/none/proxy"),
        get("a node that does not exist", "/api/v1/nodes/none/proxy"),
        post("an account", ACCOUNTS, {"metadata": {"name": "a"}}),
        post("a token for too short", f"{ACCOUNTS}/a/token", {"spec": {"expirationSeconds": 5}}),
        post("a token for too long", f"{ACCOUNTS}/a/token", {"spec": {"expirationSeconds": 4294967297}}),
        post("of another name", f"{ACCOUNTS}/a/token", {"metadata": {"name": "b"}}),
        post("of no account", f"{ACCOUNTS}/none/token", {}),
        post(
            "bound to a kind that cannot be",
            f"{ACCOUNTS}/a/token",
            {"spec": {"boundObjectRef": {"kind": "Foo", "apiVersion": "v1", "name": "x"}}},
        ),
        post(
            "bound to another's pod",
            f"{ACCOUNTS}/a/token",
            {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "a"}}},
        ),
        get("tokens cannot be read", f"{ACCOUNTS}/a/token"),
    ],
)

HARD = {"configmaps": "1", "count/configmaps": "1", "requests.cpu": "1", "memory": "1Gi", "pods": "2"}


def using(name: str, **resources: object) -> dict[str, object]:
    containers = [{"name": one, "image": "i", "resources": resources} for one in ("c", "d")]
    return {"metadata": {"name": name}, "spec": {"containers": containers}}


NEEDS_REQUESTS = 'pods "a" is forbidden: failed quota: q: must specify memory for: c,d; requests.cpu for: c,d'
OVER_THE_LIMIT = using("b", limits={"cpu": "2", "memory": "1Gi"})
IS_OVER_THE_LIMIT = 'pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 2'
LIMITING = Scenario(
    "limiting",
    [
        post("a quota", f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": HARD}}),
        patch("nothing is used", f"{QUOTA}/status", {"status": {"hard": HARD, "used": dict.fromkeys(HARD, "0")}}),
        # The real server enforces a quota when it has seen its status, which takes a moment.
        post("the quota is enforced", f"{PODS}?dryRun=All", using("a"), until={"body.message": NEEDS_REQUESTS}),
        post("a ConfigMap", f"{NAMESPACE}/configmaps", {"metadata": {"name": "a"}}),
        post("one too many", f"{NAMESPACE}/configmaps", {"metadata": {"name": "b"}}),
        post("a pod without requests", PODS, using("a")),
        post("a pod without memory", PODS, using("a", requests={"cpu": "600m"})),
        post("a pod of too much", PODS, using("a", requests={"cpu": "600m", "memory": "1Gi"})),
        post("a small pod", PODS, using("a", requests={"cpu": "100m", "memory": "1Mi"})),
        get("it was charged", QUOTA),
        post(
            "limits",
            f"{NAMESPACE}/limitranges",
            {
                "metadata": {"name": "l"},
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "1", "memory": "1Gi"},
                            "default": {"cpu": "500m"},
                            "min": {"cpu": "10m"},
                        }
                    ]
                },
            },
        ),
        # It reads limits from a cache, too.
        post(
            "the limits are enforced", f"{PODS}?dryRun=All", OVER_THE_LIMIT, until={"body.message": IS_OVER_THE_LIMIT}
        ),
        post("over the limit", PODS, OVER_THE_LIMIT),
        post("under the limit", PODS, using("b", requests={"cpu": "1m"}, limits={"memory": "1Gi"})),
        post("by dry run, with defaults", f"{PODS}?dryRun=All", using("b", requests={"cpu": "20m", "memory": "1Mi"})),
    ],
)
