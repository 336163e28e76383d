"""The tables of the tests of Kubernetes' scheduler plugins (`hack/kubernetes/schedulertables.py` writes them)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pilotage.meta.forms import reader_of
from pilotage.types.core.v1 import Node
from pilotage.workloads.scheduling.placement import Placement, PodInfo
from pilotage.workloads.scheduling.requirements import Templates

Row = dict[str, Any]
_TABLES: Mapping[str, list[Row]] = json.loads(Path(__file__).with_suffix(".json").read_text())
_templates = Templates()

NOT_APPLICABLE: Mapping[str, Mapping[str, str]] = {
    "testEnoughRequests": {
        "skip checking ignored extended resource": "an option of the plugin, which is not set by default",
        "skip checking ignored extended resource via resource groups": "as above",
        "extended resource backed by DRA": "the gate DRAExtendedResource is off by default",
        "extended resource was backed by Device Plugin (Allocatable: 0)": "as above",
    },
    "testRestartableInitContainers": {
        "not allow pod with restartable init containers if sidecar containers is disabled": "the gate cannot be off",
    },
    "TestTaintTolerationFilter": {
        "Pod with Gt toleration can be scheduled on node when taint value is higher than threshold": (
            "the gate TaintTolerationComparisonOperators is off by default"
        ),
        "Pod with Lt toleration can be scheduled on node when taint value is lower than threshold": "as above",
    },
    "TestTaintTolerationFilterWithFeatureGate": {
        "Pod with Gt toleration can be scheduled when feature gate is enabled and taint value is higher": "as above",
        "Pod with Lt toleration can be scheduled when feature gate is enabled and taint value is lower": "as above",
    },
    "TestNodeAffinity": {
        "Matches added affinity and Pod's node affinity": "an option of the plugin, which is not set by default",
        "Matches added affinity but not Pod's node affinity": "as above",
        "Doesn't match added affinity": "as above",
        "Pod with an invalid value in Affinity term won't be scheduled onto the node": (
            "the API server refuses such a Pod"
        ),
    },
    "TestRequiredAffinitySingleNode": {
        "PodAffinity fails PreFilter with an invalid affinity label syntax": "the API server refuses such a Pod",
        "PodAntiAffinity fails PreFilter with an invalid antiaffinity label syntax": "as above",
    },
    "TestPostFilter": {
        "preemption should respect filteredNodesStatuses": "about statuses that no filter of the test gives",
        "preemption should respect absent NodeToStatusReader entry meaning UnschedulableAndUnresolvable": "as above",
        "no candidate nodes found with mixed reason, 2 UnschedulableAndUnresolvable nodes and 2 nodes don't have "
        "enough CPU resource": "as above",
        "preemption result filtered out by extenders": "there are no extenders",
        "only one node but failed with TestPlugin": "there are no plugins of others",
        "one failed with TestPlugin and the other pass": "as above",
        "pod with SchedulingGroup with TAS with scheduling constraint enabled should not preempt": (
            "the gates of groups of Pods are off by default"
        ),
        "pod with SchedulingGroup with TAS with scheduling constraint enabled should not preempt even when WAP is "
        "enabled": "as above",
        "pod with SchedulingGroup with TAS without scheduling constraint enabled should preempt": "as above",
        "pod with SchedulingGroup with TAS with WAP enabled should not preempt": "as above",
        "pod with SchedulingGroup with WAP enabled should not preempt": "as above",
        "pod with SchedulingGroup with TAS and WAP disabled should preempt": "as above",
    },
}
"""The rows that do not apply, and why."""


def rows(*tables: str) -> list[Row]:
    """The rows of tables that apply."""
    return [row for table in tables for row in _TABLES[table] if row["name"] not in NOT_APPLICABLE.get(table, {})]


def names(table: str) -> set[str]:
    return {row["name"] for row in _TABLES[table]}


def pod_info(document: Row, index: int = 0) -> PodInfo:
    """A Pod of a table, where a name or a container may be missing."""
    metadata, status = document.get("metadata", {}), document.get("status", {})
    spec = {"containers": [], **document.get("spec", {})}
    for part in ("containers", "initContainers"):
        spec[part] = [{"name": "main", **one} for one in spec.get(part, ())]
    labels = metadata.get("labels", {})
    name = metadata.get("name") or f"pod-{index}"
    data = json.dumps({"metadata": {"name": name}, "spec": spec}).encode()
    ask = _templates.ask(name, labels, data)
    started = datetime.fromisoformat(status["startTime"]) if "startTime" in status else None
    deleted = "deletionTimestamp" in metadata
    uid, namespace = metadata.get("uid", name), metadata.get("namespace", "")
    return PodInfo(namespace, name, uid, labels, "", started, deleted, (), (), ask.requirements)


def placement_of(nodes: Iterable[Row], pods: Iterable[Row], allocatable: Row | None = None) -> Placement:
    """Nodes with Pods on them. `allocatable` is what a node has where the table does not say it."""
    placement = Placement()
    for node in nodes:
        status = {"allocatable": {"pods": "110"} | (allocatable or {})} | node.get("status", {})
        placement.set_node(reader_of(Node)(json.dumps(node | {"status": status}).encode()))
    for index, pod in enumerate(pods, start=1):
        placement.place(pod_info(pod, index), pod["spec"]["nodeName"])
    return placement
