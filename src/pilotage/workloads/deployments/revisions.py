"""The annotations by which a Deployment and its ReplicaSets keep revisions and the sizes of a rollout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pilotage.types.apps.v1 import ReplicaSet
from pilotage.workloads.integers import parse_integer

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
MOST_HISTORY = 2000
"""Characters that the history of revisions may have."""

_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    }
)
_INT32 = 2**31


def revision_of(annotations: Mapping[str, str]) -> int | None:
    """The revision; 0 where there is none, and None for a text that is not a number."""
    return parse_integer(annotations[REVISION]) if REVISION in annotations else 0


def max_revision(replica_sets: Iterable[ReplicaSet]) -> int:
    """The highest revision of ReplicaSets."""
    return max((revision_of(each.metadata.annotations) or 0 for each in replica_sets), default=0)


def next_annotations(
    annotations: Mapping[str, str], of_deployment: Mapping[str, str], revision: int, most_history: int = MOST_HISTORY
) -> dict[str, str] | None:
    """The annotations of the new ReplicaSet, given those that it has, or None if they stay.

    It has those of the Deployment, and the revision where that is higher than its own. A ReplicaSet that becomes the
    new one again, by a rollback, keeps its former revisions as the history.
    """
    made = {**annotations, **{name: text for name, text in of_deployment.items() if name not in _NOT_COPIED}}
    text = annotations.get(REVISION, "")
    before = parse_integer(text) if text else 0
    if before is None:
        return None
    if before < revision:
        made[REVISION] = str(revision)
        if REVISION in annotations:
            made |= _history(annotations.get(REVISION_HISTORY, ""), text, most_history)
    return made if made != annotations else None


def replicas_annotations(desired: int, most: int) -> dict[str, str]:
    """The sizes of the Deployment when its ReplicaSet was scaled: by them it sees a change of its own size."""
    return {DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(most)}


def replicas_in(annotations: Mapping[str, str], name: str) -> int | None:
    """A size in an annotation; None where there is none, or no size that Kubernetes writes."""
    text = annotations.get(name, "")
    number = parse_integer(text)
    return number if number is not None and 0 <= number < _INT32 and text.isdigit() else None


def _history(history: str, revision: str, most: int) -> dict[str, str]:
    """The history with one more revision, without the oldest ones where it would be too long."""
    if not history:
        return {REVISION_HISTORY: revision}
    kept = history.split(",")
    length = len(history) + len(revision) + 1
    while length > most and kept:
        length -= len(kept.pop(0)) + 1
    return {REVISION_HISTORY: ",".join([*kept, revision])} if length <= most else {}
