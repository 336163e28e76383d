"""The policies of a Job: which failed Pods count or end it, and when enough indexes have succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pilotage.types.batch.v1 import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
    SuccessPolicy,
)
from pilotage.types.core.v1 import ContainerStatus, Pod
from pilotage.workloads.jobs.indexes import Intervals, count_of, count_shared, parse_indexes

Action = Literal["Count", "FailIndex", "FailJob", "Ignore"]


class Failure(NamedTuple):
    """How a failed Pod is handled."""

    is_counted: bool = True
    action: str = ""
    """That of the first rule that applies; empty if none does."""
    message: str = ""
    """Why the Job fails, if it does."""


def failure_of(policy: PodFailurePolicy | None, pod: Pod | None) -> Failure:
    """How the policy handles a failed Pod."""
    if policy is None or pod is None:
        return Failure()
    for index, rule in enumerate(policy.rules):
        found = _match(rule, pod)
        if found and rule.action in ("Count", "FailIndex", "FailJob", "Ignore"):
            message = f"{found} matching {rule.action} rule at index {index}" if rule.action == "FailJob" else ""
            return Failure(rule.action != "Ignore", rule.action, message)
    return Failure()


def _match(rule: PodFailurePolicyRule, pod: Pod) -> str:
    """What of a Pod matches a rule; empty if nothing does."""
    name, status = f"{pod.metadata.namespace}/{pod.metadata.name}", pod.status
    if status is None:
        return ""
    if rule.on_exit_codes is not None:
        container = _container(status.container_statuses, rule.on_exit_codes)
        container = container or _container(status.init_container_statuses, rule.on_exit_codes)
        code = _exit_code(container) if container is not None else None
        return f"Container {container.name} for pod {name} failed with exit code {code}" if container else ""
    wanted = {(pattern.type, pattern.status or "") for pattern in rule.on_pod_conditions}
    for condition in status.conditions:
        if (condition.type, condition.status) in wanted:
            return f"Pod {name} has condition {condition.type}"
    return ""


def _container(
    statuses: Sequence[ContainerStatus], wanted: PodFailurePolicyOnExitCodesRequirement
) -> ContainerStatus | None:
    """The first container that has ended with an exit code of the rule; never with 0."""
    for one in statuses:
        code = _exit_code(one)
        if not code or wanted.container_name not in (None, one.name):
            continue
        if wanted.operator in ("In", "NotIn") and (code in wanted.values) == (wanted.operator == "In"):
            return one
    return None


def _exit_code(container: ContainerStatus) -> int | None:
    terminated = container.state.terminated if container.state is not None else None
    return terminated.exit_code if terminated is not None else None


def success_message(policy: SuccessPolicy | None, completions: int, succeeded: Intervals) -> str:
    """Which rule the succeeded indexes meet; empty if none."""
    for number, rule in enumerate(policy.rules if policy is not None and succeeded else ()):
        least = rule.succeeded_count
        if rule.succeeded_indexes is not None:
            wanted = parse_indexes(rule.succeeded_indexes, completions)
            shared = count_shared(wanted, succeeded)
            is_met = bool(wanted) and (shared == count_of(wanted) or (least is not None and shared >= least))
        else:
            is_met = least is not None and count_of(succeeded) >= least
        if is_met:
            return f"Matched rules at index {number}"
    return ""
