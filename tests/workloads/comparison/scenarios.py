"""What is done on both sides: steps, each with a name and manifests, patches or deletes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pilotage as pt
from pilotage.client.patch import raw_patch
from pilotage.errors import NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import PatchType
from pilotage.types.core.v1 import Pod
from pilotage.types.policy.v1 import Eviction
from tests.workloads.comparison.sides import Side

Action = Callable[[Side, str], Awaitable[None]]
"""Does something in a namespace of a side."""
Document = dict[str, Any]
KINDS: Mapping[str, GroupVersionKind] = MappingProxyType(
    {
        **{kind: GroupVersionKind("apps", "v1", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet")},
        **{kind: GroupVersionKind("batch", "v1", kind) for kind in ("Job", "CronJob")},
        **{kind: GroupVersionKind("", "v1", kind) for kind in ("Pod", "Service", "Node", "PersistentVolumeClaim")},
        "PersistentVolume": GroupVersionKind("", "v1", "PersistentVolume"),
        "ReplicationController": GroupVersionKind("", "v1", "ReplicationController"),
        "DaemonSet": GroupVersionKind("apps", "v1", "DaemonSet"),
        "PodDisruptionBudget": GroupVersionKind("policy", "v1", "PodDisruptionBudget"),
    }
)


@dataclass(frozen=True)
class Step:
    """One action, after which both sides come to rest."""

    name: str
    action: Action


@dataclass(frozen=True)
class Scenario:
    """Steps in a namespace of their own."""

    name: str
    steps: tuple[Step, ...]

    @property
    def changes_nodes(self) -> bool:
        """Whether other scenarios cannot run at the same time: what the scheduler says is about all nodes."""
        return self.name in ("taint", "drain")


def create(*documents: Document) -> Action:
    async def action(side: Side, namespace: str) -> None:
        for document in documents:
            copy = json.loads(json.dumps(document))
            if copy["kind"] != "PersistentVolume":
                copy["metadata"]["namespace"] = namespace
            await side.client.create(Unstructured(copy))

    return action


def patch(kind: str, name: str, change: Document, kind_of_patch: str = "strategic") -> Action:
    async def action(side: Side, namespace: str) -> None:
        chosen = PatchType.STRATEGIC if kind_of_patch == "strategic" else PatchType.MERGE
        body = raw_patch(chosen, json.dumps(change).encode())
        space = "" if kind == "Node" else namespace
        await side.client.patch(KINDS[kind], body, name=name, namespace=space)

    return action


def delete(kind: str, name: str) -> Action:
    async def action(side: Side, namespace: str) -> None:
        await side.client.delete(KINDS[kind], name, namespace=namespace, propagation_policy="Background")

    return action


def unprotect(name: str) -> Action:
    """Remove a volume although its claim uses it, as a user does who removes its finalizers."""

    async def action(side: Side, namespace: str) -> None:
        await side.client.delete(KINDS["PersistentVolume"], name)
        body = raw_patch(PatchType.MERGE, b'{"metadata":{"finalizers":null}}')
        await side.client.patch(KINDS["PersistentVolume"], body, name=name)

    return action


def taint(node: str, *taints: Document) -> Action:
    """Set the taints of a node, beside the one of its pool."""

    async def action(side: Side, namespace: str) -> None:
        found = await side.client.get(KINDS["Node"], node)
        pool = [each for each in found.document["spec"].get("taints", ()) if each["key"] == "pool"]
        body = raw_patch(PatchType.MERGE, json.dumps({"spec": {"taints": [*pool, *taints]}}).encode())
        await side.client.patch(KINDS["Node"], body, name=node)

    return action


def evict_first(labels: dict[str, str]) -> Action:
    """Evict the first Pod by name. What a budget refuses is part of what is compared: nothing changes."""

    async def action(side: Side, namespace: str) -> None:
        pods = await side.client.list(Pod, namespace=namespace, labels=labels)
        name = min(pod.metadata.name for pod in pods)
        eviction = Eviction(metadata=pt.ObjectMeta(name=name, namespace=namespace))
        try:
            await side.client.subresource("eviction", Eviction).create(Pod, eviction, name=name, namespace=namespace)
        except pt.ApiError as error:
            if error.status.code != 429:
                raise

    return action


def delete_first(labels: dict[str, str]) -> Action:
    async def action(side: Side, namespace: str) -> None:
        pods = await side.client.list(Pod, namespace=namespace, labels=labels)
        try:
            await side.client.delete(Pod, min(pod.metadata.name for pod in pods), namespace=namespace)
        except NotFound:
            return

    return action


def fail_image(image: str) -> Action:
    async def action(side: Side, namespace: str) -> None:
        side.workloads.fail_image(image)

    return action


def both(*actions: Action) -> Action:
    async def action(side: Side, namespace: str) -> None:
        for each in actions:
            await each(side, namespace)

    return action


def obj(api_version: str, kind: str, name: str, spec: Document, **meta: Any) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}


def template(app: str, image: str = "example.com/web:1", **spec: Any) -> Document:
    containers = spec.pop("containers", [{"name": "web", "image": image}])
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **spec}}


def workload(kind: str, app: str, replicas: int | None = None, **spec: Any) -> Document:
    """A Deployment, StatefulSet, DaemonSet or ReplicaSet of one container."""
    spec.setdefault("template", template(app))
    counted = {} if replicas is None else {"replicas": replicas}
    return obj("apps/v1", kind, app, {**counted, "selector": {"matchLabels": {"app": app}}, **spec})


def image(name: str) -> Document:
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": name}]}}}}


def scale(replicas: int) -> Document:
    return {"spec": {"replicas": replicas}}


def scenario(name: str, *steps: tuple[str, Action]) -> Scenario:
    return Scenario(name, tuple(Step(*step) for step in steps))


def job(name: str, **spec: Any) -> Document:
    spec.setdefault("template", template(name, restartPolicy="Never"))
    return obj("batch/v1", "Job", name, spec)


FAILING = {"workloads.pilotage.dev/exit-code": "3"}
LONG = {"workloads.pilotage.dev/run-seconds": "3600"}


def annotated(app: str, annotations: dict[str, str], **spec: Any) -> Document:
    made = template(app, **spec)
    made["metadata"]["annotations"] = annotations
    return made


def claim(name: str, size: str = "1Gi", storage_class: str | None = None, **spec: Any) -> Document:
    made = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return obj("v1", "PersistentVolumeClaim", name, made | ({} if storage_class is None else {"storageClassName": ""}))


def disk(name: str, namespace: str, size: str = "1Gi", policy: str = "Retain", **spec: Any) -> Document:
    """A volume that is not provisioned. The label says which scenario it belongs to."""
    made = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "hostPath": {"path": f"/data/{name}"},
        "persistentVolumeReclaimPolicy": policy,
        **spec,
    }
    return obj("v1", "PersistentVolume", name, made, labels={"scenario": namespace})


def pooled(app: str, pool: str, **spec: Any) -> Document:
    """A template of Pods that run on the nodes of a pool alone."""
    tolerations = [{"key": "pool", "operator": "Exists"}, *spec.pop("tolerations", ())]
    return template(app, nodeSelector={"pool": pool}, tolerations=tolerations, **spec)


MAINTENANCE = {"key": "maintenance", "value": "now", "effect": "NoExecute"}
PATIENT = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}

SCENARIOS = (
    scenario(
        "deployment",
        ("create", create(workload("Deployment", "web", 3))),
        ("scale up", patch("Deployment", "web", scale(5))),
        ("scale down", patch("Deployment", "web", scale(2))),
        ("update the image", patch("Deployment", "web", image("example.com/web:2"))),
        ("annotate", patch("Deployment", "web", {"metadata": {"annotations": {"note": "1"}}})),
        ("return to the first image", patch("Deployment", "web", image("example.com/web:1"))),
        (
            "pause and change",
            patch("Deployment", "web", {"spec": {"paused": True, **image("example.com/web:3")["spec"]}}),
        ),
        ("resume", patch("Deployment", "web", {"spec": {"paused": False}})),
        ("delete a Pod", delete_first({"app": "web"})),
        ("delete", delete("Deployment", "web")),
    ),
    scenario(
        "deployment-that-fails",
        ("create", create(workload("Deployment", "web", 3, progressDeadlineSeconds=2))),
        (
            "an image that cannot be pulled",
            both(fail_image("example.com/web:bad"), patch("Deployment", "web", image("example.com/web:bad"))),
        ),
        ("roll back", patch("Deployment", "web", image("example.com/web:1"))),
    ),
    scenario(
        "deployment-recreate",
        ("create", create(workload("Deployment", "web", 2, strategy={"type": "Recreate"}, revisionHistoryLimit=1))),
        ("update", patch("Deployment", "web", image("example.com/web:2"))),
        ("update again", patch("Deployment", "web", image("example.com/web:3"))),
    ),
    scenario(
        "replicaset",
        ("an orphan", create(obj("v1", "Pod", "orphan", template("web")["spec"], labels={"app": "web"}))),
        ("create", create(workload("ReplicaSet", "web", 2))),
        ("release", patch("Pod", "orphan", {"metadata": {"labels": {"app": "other"}}})),
        ("scale to nothing", patch("ReplicaSet", "web", scale(0))),
    ),
    scenario(
        "statefulset",
        ("create", create(workload("StatefulSet", "db", 3, serviceName="db"))),
        ("scale up", patch("StatefulSet", "db", scale(4))),
        ("scale down", patch("StatefulSet", "db", scale(2))),
        (
            "update with a partition",
            patch(
                "StatefulSet",
                "db",
                {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}, **image("example.com/web:2")["spec"]}},
            ),
        ),
        ("update all", patch("StatefulSet", "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})),
        ("delete a Pod", delete_first({"app": "db"})),
        ("delete", delete("StatefulSet", "db")),
    ),
    scenario(
        "statefulset-parallel",
        (
            "create",
            create(
                workload(
                    "StatefulSet", "db", 3, serviceName="db", podManagementPolicy="Parallel", ordinals={"start": 5}
                )
            ),
        ),
        (
            "on delete",
            patch(
                "StatefulSet", "db", {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}, "merge"
            ),
        ),
        ("update", patch("StatefulSet", "db", image("example.com/web:2"))),
        ("delete a Pod", delete_first({"app": "db"})),
    ),
    scenario(
        "daemonset",
        ("create", create(workload("DaemonSet", "agent"))),
        ("update", patch("DaemonSet", "agent", image("example.com/web:2"))),
        ("no node", patch("DaemonSet", "agent", {"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}})),
        ("delete", delete("DaemonSet", "agent")),
    ),
    scenario(
        "job",
        ("create", create(job("work", completions=3, parallelism=2))),
        ("indexed", create(job("parts", completions=3, parallelism=3, completionMode="Indexed"))),
        ("fails", create(job("bad", backoffLimit=0, template=annotated("bad", FAILING, restartPolicy="Never")))),
        ("suspended", create(job("later", suspend=True, template=annotated("later", LONG, restartPolicy="Never")))),
        ("resumed", patch("Job", "later", {"spec": {"suspend": False}})),
        ("suspended again", patch("Job", "later", {"spec": {"suspend": True}})),
        ("delete", delete("Job", "work")),
    ),
    scenario(
        "job-policies",
        (
            "a policy that fails the job",
            create(
                job(
                    "policy",
                    backoffLimit=6,
                    template=annotated("policy", FAILING, restartPolicy="Never"),
                    podFailurePolicy={
                        "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}]
                    },
                )
            ),
        ),
        (
            "a limit for each index",
            create(
                job(
                    "indexes",
                    completions=2,
                    parallelism=2,
                    completionMode="Indexed",
                    backoffLimitPerIndex=0,
                    template=annotated("indexes", FAILING, restartPolicy="Never"),
                )
            ),
        ),
        (
            "a success policy",
            create(
                job(
                    "first",
                    completions=3,
                    parallelism=1,
                    completionMode="Indexed",
                    successPolicy={"rules": [{"succeededIndexes": "0"}]},
                )
            ),
        ),
        (
            "a deadline",
            create(
                job(
                    "late",
                    activeDeadlineSeconds=2,
                    template=annotated("late", LONG, restartPolicy="Never"),
                )
            ),
        ),
        ("time to live", create(job("short", ttlSecondsAfterFinished=1))),
    ),
    scenario(
        "pending",
        (
            "too large",
            create(
                obj(
                    "v1",
                    "Pod",
                    "large",
                    {"containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "1000"}}}]},
                )
            ),
        ),
        ("no such node", create(obj("v1", "Pod", "picky", template("picky", nodeSelector={"disk": "ssd"})["spec"]))),
        (
            "gated",
            create(obj("v1", "Pod", "gated", template("g", schedulingGates=[{"name": "example.com/wait"}])["spec"])),
        ),
    ),
    scenario(
        "budget",
        (
            "create",
            create(
                workload("Deployment", "web", 3),
                obj(
                    "policy/v1",
                    "PodDisruptionBudget",
                    "web",
                    {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
                ),
            ),
        ),
        ("evict", evict_first({"app": "web"})),
        ("scale down", patch("Deployment", "web", scale(2))),
        ("evict without a budget left", evict_first({"app": "web"})),
    ),
    scenario(
        "service",
        (
            "create",
            create(
                obj("v1", "Service", "web", {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]})
            ),
        ),
        ("a Pod", create(workload("Deployment", "web", 1))),
        ("scale", patch("Deployment", "web", scale(2))),
        ("another selector", patch("Service", "web", {"spec": {"selector": {"app": "other"}}})),
    ),
    scenario(
        "deployment-percent",
        (
            "create",
            create(
                workload(
                    "Deployment",
                    "web",
                    4,
                    minReadySeconds=2,
                    strategy={"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "0%"}},
                )
            ),
        ),
        ("update", patch("Deployment", "web", image("example.com/web:2"))),
        (
            "scale, and another strategy",
            patch(
                "Deployment",
                "web",
                {
                    "spec": {
                        "replicas": 6,
                        "strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": "25%"}},
                    }
                },
            ),
        ),
        ("update again", patch("Deployment", "web", image("example.com/web:3"))),
    ),
    scenario(
        "replicationcontroller",
        (
            "create",
            create(
                obj(
                    "v1",
                    "ReplicationController",
                    "web",
                    {"replicas": 2, "selector": {"app": "web"}, "template": template("web")},
                )
            ),
        ),
        ("scale up", patch("ReplicationController", "web", scale(4))),
        ("delete a Pod", delete_first({"app": "web"})),
        ("scale down", patch("ReplicationController", "web", scale(1))),
        ("delete", delete("ReplicationController", "web")),
    ),
    scenario(
        "taint",
        (
            "create",
            create(
                workload("Deployment", "web", 2, template=pooled("web", "taint")),
                obj("v1", "Pod", "patient", pooled("patient", "taint", tolerations=[PATIENT])["spec"]),
            ),
        ),
        ("taint", taint("node-4", MAINTENANCE)),
        ("no taint", taint("node-4")),
    ),
    scenario(
        "drain",
        (
            "create",
            create(
                workload("Deployment", "web", 3, template=pooled("web", "drain")),
                obj(
                    "policy/v1",
                    "PodDisruptionBudget",
                    "web",
                    {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
                ),
            ),
        ),
        ("cordon", patch("Node", "node-5", {"spec": {"unschedulable": True}})),
        ("evict", evict_first({"app": "web"})),
        ("evict without a budget left", evict_first({"app": "web"})),
        ("uncordon", patch("Node", "node-5", {"spec": {"unschedulable": None}}, "merge")),
    ),
    scenario(
        "statefulset-claims",
        (
            "create",
            create(
                workload(
                    "StatefulSet",
                    "db",
                    2,
                    serviceName="db",
                    volumeClaimTemplates=[claim("data")],
                    persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Delete"},
                )
            ),
        ),
        ("scale up", patch("StatefulSet", "db", scale(3))),
        ("scale down", patch("StatefulSet", "db", scale(1))),
        ("delete", delete("StatefulSet", "db")),
        ("delete a claim", delete("PersistentVolumeClaim", "data-db-0")),
    ),
    scenario(
        "volumes",
        ("volumes", create(disk("small", "volumes"), disk("large", "volumes", "5Gi", "Delete"))),
        ("a claim", create(claim("one", "1Gi", ""))),
        ("a larger claim", create(claim("two", "2Gi", ""))),
        ("no volume", create(claim("three", "2Gi", ""))),
        ("a claim that waits for its Pod", create(claim("four"))),
        ("by name, too small", create(disk("named", "volumes"), claim("five", "2Gi", "", volumeName="named"))),
        (
            "reserved",
            both(
                create(disk("own", "volumes", claimRef={"namespace": "volumes", "name": "six"})),
                create(claim("six", "1Gi", "")),
            ),
        ),
        ("release", delete("PersistentVolumeClaim", "one")),
        ("delete, which fails", delete("PersistentVolumeClaim", "two")),
        ("lose a volume", unprotect("own")),
    ),
)
