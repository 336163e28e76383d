from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("jobs.batch")
METADATA = {"name": "one", "namespace": "n", "uid": "u1"}


def spec(**more: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "nginx:1"}]}
    return {"template": {"spec": pod}} | more


def job(**more: Any) -> Any:
    return created(STRATEGY, metadata=METADATA, spec=spec(**more))


def test_a_job_selects_its_pods_by_its_uid() -> None:
    document, causes = job()
    assert not causes
    assert document["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u1"}}
    assert document["spec"]["template"]["metadata"]["labels"] == {
        "job-name": "one",
        "batch.kubernetes.io/job-name": "one",
        "controller-uid": "u1",
        "batch.kubernetes.io/controller-uid": "u1",
    }


def test_a_job_without_labels_has_those_of_its_template_and_the_generated_ones() -> None:
    template = spec()["template"] | {"metadata": {"labels": {"a": "b"}}}
    document, _ = job(template=template)
    assert document["metadata"]["labels"] == document["spec"]["template"]["metadata"]["labels"]
    assert len(document["metadata"]["labels"]) == 5


def test_a_selector_by_hand_is_kept() -> None:
    template = spec()["template"] | {"metadata": {"labels": {"a": "b"}}}
    document, causes = job(manualSelector=True, selector={"matchLabels": {"a": "b"}}, template=template)
    assert not causes
    assert document["spec"]["template"]["metadata"]["labels"] == {"a": "b"}
    _, causes = job(manualSelector=True)
    assert fields(causes) == ["spec.selector", "spec.template.metadata.labels"]


def test_labels_of_another_job_are_refused() -> None:
    template = spec()["template"] | {"metadata": {"labels": {"job-name": "other"}}}
    _, causes = job(template=template)
    assert fields(causes) == ["spec.template.metadata.labels[job-name]"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"completions": 1, "parallelism": 1, "backoffLimit": 6}),
        ({"completions": 3}, {"completions": 3, "parallelism": 1}),
        ({"parallelism": 3}, {"parallelism": 3, "podReplacementPolicy": "TerminatingOrFailed"}),
        ({"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 1}, {"backoffLimit": 2147483647}),
    ],
)
def test_counts_are_defaulted(change: dict[str, Any], expected: dict[str, Any]) -> None:
    document, causes = job(**change)
    assert not causes
    assert document["spec"].items() >= expected.items()


def test_a_job_that_works_in_parallel_has_no_number_of_completions() -> None:
    document, _ = job(parallelism=3)
    assert "completions" not in document["spec"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"completionMode": "Some"}, ["spec.completionMode"]),
        ({"parallelism": -1}, ["spec.parallelism"]),
        ({"maxFailedIndexes": 1}, ["spec.backoffLimitPerIndex", "spec.maxFailedIndexes"]),
        ({"completionMode": "Indexed", "parallelism": 1}, ["spec.completions"]),
        ({"managedBy": "me"}, ["spec.managedBy"]),
        ({"podReplacementPolicy": "Never"}, ["spec.podReplacementPolicy"]),
        ({"successPolicy": {"rules": []}}, ["spec.successPolicy"]),
        (
            {"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [{"succeededIndexes": "7"}]}},
            ["spec.successPolicy.rules[0].succeededIndexes"],
        ),
        (
            {
                "podFailurePolicy": {
                    "rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [0]}}]
                }
            },
            ["spec.podFailurePolicy.rules[0].action", "spec.podFailurePolicy.rules[0].onExitCodes.values[0]"],
        ),
        ({"podFailurePolicy": {"rules": [{"action": "Count"}]}}, ["spec.podFailurePolicy.rules[0]"]),
    ],
)
def test_rules_over_the_spec(change: dict[str, Any], expected: list[str]) -> None:
    assert fields(job(**change)[1]) == expected


def test_pods_of_a_job_are_not_always_restarted() -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "nginx:1"}]}}
    _, causes = job(template=template)
    assert fields(causes)[-1] == "spec.template.spec.restartPolicy"


def test_the_name_of_an_indexed_job_leaves_space_for_an_index() -> None:
    metadata = METADATA | {"name": "a" * 62}
    _, causes = created(STRATEGY, metadata=metadata, spec=spec(completionMode="Indexed", completions=2))
    assert fields(causes) == ["metadata.name"]


def test_the_template_is_immutable_while_the_job_runs() -> None:
    old, _ = job()
    content = old["spec"] | {"template": old["spec"]["template"] | {"spec": _on_node(old)}}
    _, causes = updated(STRATEGY, old, spec=content)
    assert fields(causes) == ["spec.template"]


def test_a_suspended_job_can_be_moved_to_other_nodes() -> None:
    old, _ = job(suspend=True)
    content = old["spec"] | {"template": old["spec"]["template"] | {"spec": _on_node(old)}}
    document, causes = updated(STRATEGY, old, spec=content)
    assert not causes
    assert document["metadata"]["generation"] == 2
    content["template"]["spec"]["hostNetwork"] = True
    _, causes = updated(STRATEGY, old, spec=content)
    assert fields(causes) == ["spec.template.spec"]


def _on_node(old: dict[str, Any]) -> dict[str, Any]:
    affinity: dict[str, Any] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    pod: dict[str, Any] = old["spec"]["template"]["spec"]
    return pod | {"nodeSelector": {"a": "b"}, "affinity": affinity}


def test_completions_change_together_with_parallelism() -> None:
    old, _ = job(completionMode="Indexed", completions=2, parallelism=2)
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"completions": 3, "parallelism": 3})
    assert not causes
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"completions": 3})
    assert fields(causes) == ["spec.completions"]


def condition(*kinds: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True"} for kind in kinds]}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"active": 1, "ready": 1}, []),
        ({"active": -1}, ["status.active"]),
        ({"ready": 1}, ["status.ready"]),
        ({"completionTime": "2024-01-01T00:00:00Z"}, ["status.completionTime"]),
        (condition("Complete"), ["status.conditions", "status.completionTime", "status.startTime"]),
        (
            condition("Complete", "SuccessCriteriaMet")
            | {"startTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-02T00:00:00Z"},
            [],
        ),
        (condition("Failed") | {"startTime": "2024-01-01T00:00:00Z"}, ["status.conditions"]),
        ({"completedIndexes": "0"}, ["status.completedIndexes"]),
        ({"failedIndexes": "0"}, ["status.failedIndexes"]),
        ({"uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}}, 2),
    ],
)
def test_the_status_of_a_job_fits_together(status: dict[str, Any], expected: Any) -> None:
    old, _ = job()
    _, causes = status_written(STRATEGY, old, status=status)
    assert (len(causes) if isinstance(expected, int) else fields(causes)) == expected


def test_a_finished_job_stays_finished() -> None:
    old, _ = job()
    old["status"] = condition("Failed", "FailureTarget") | {"failed": 3, "startTime": "2024-01-01T00:00:00Z"}
    _, causes = status_written(STRATEGY, old, status={"failed": 2, "startTime": "2024-01-02T00:00:00Z"})
    assert fields(causes) == ["status.conditions", "status.conditions", "status.failed", "status.startTime"]
