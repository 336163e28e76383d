from __future__ import annotations

from typing import Any

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("deployments.apps")


def spec(**more: Any) -> dict[str, Any]:
    return {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "a", "image": "nginx:1"}]},
        },
    } | more


def test_a_deployment_is_rolled_by_a_quarter() -> None:
    document, causes = created(STRATEGY, spec=spec())
    assert not causes
    assert document["metadata"]["generation"] == 1
    assert document["spec"]["replicas"] == 1
    assert document["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }


def test_recreate_has_no_rolling_update() -> None:
    document, causes = created(STRATEGY, spec=spec(strategy={"type": "Recreate"}))
    assert not causes
    assert document["spec"]["strategy"] == {"type": "Recreate"}
    _, causes = created(STRATEGY, spec=spec(strategy={"type": "Recreate", "rollingUpdate": {}}))
    assert fields(causes) == ["spec.strategy.rollingUpdate"]


def test_the_selector_must_match_the_template() -> None:
    _, causes = created(STRATEGY, spec=spec(selector={"matchLabels": {"app": "other"}}))
    assert fields(causes) == ["spec.template.metadata.labels"]


def test_without_a_selector_nothing_matches() -> None:
    content = spec()
    del content["selector"]
    _, causes = created(STRATEGY, spec=content)
    assert fields(causes) == ["spec.selector", "spec.template.metadata.labels"]


def test_a_selector_that_cannot_be_evaluated_hides_what_is_wrong_with_the_template() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Like"}]}
    _, causes = created(STRATEGY, spec=spec(selector=selector, template={}))
    assert fields(causes) == ["spec.selector.matchExpressions[0].operator", "spec.selector"]


def test_one_of_surge_and_unavailable_is_not_zero() -> None:
    strategy = {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}}
    _, causes = created(STRATEGY, spec=spec(strategy=strategy))
    assert fields(causes) == ["spec.strategy.rollingUpdate.maxUnavailable"]


def test_the_deadline_is_longer_than_the_time_to_be_ready() -> None:
    _, causes = created(STRATEGY, spec=spec(progressDeadlineSeconds=5, minReadySeconds=5))
    assert [cause.message for cause in causes] == ["Invalid value: 5: must be greater than minReadySeconds"]


def test_the_selector_cannot_change() -> None:
    old, _ = created(STRATEGY, spec=spec())
    other = {"app": "other"}
    template = spec()["template"] | {"metadata": {"labels": other}}
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"selector": {"matchLabels": other}, "template": template})
    assert [(cause.field, cause.message) for cause in causes] == [
        ("spec.selector", 'Invalid value: {"matchLabels":{"app":"other"}}: field is immutable')
    ]


def test_annotations_are_a_new_generation_and_labels_are_not() -> None:
    old, _ = created(STRATEGY, spec=spec())
    document, _ = updated(STRATEGY, old, metadata=old["metadata"] | {"annotations": {"a": "b"}})
    assert document["metadata"]["generation"] == 2
    document, _ = updated(STRATEGY, old, metadata=old["metadata"] | {"labels": {"a": "b"}})
    assert document["metadata"]["generation"] == 1


def test_labels_cannot_be_written_with_the_status() -> None:
    old, _ = created(STRATEGY, spec=spec())
    metadata = old["metadata"] | {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    document, causes = status_written(STRATEGY, old, metadata=metadata, spec={}, status={"replicas": 1})
    assert not causes
    assert "labels" not in document["metadata"]
    assert document["metadata"]["annotations"] == {"c": "d"}
    assert document["spec"] == old["spec"]


def test_counts_in_the_status_fit_each_other() -> None:
    old, _ = created(STRATEGY, spec=spec())
    old["status"] = {"collisionCount": 2}
    status = {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3, "unavailableReplicas": -1, "collisionCount": 1}
    _, causes = status_written(STRATEGY, old, status=status)
    assert fields(causes) == [
        "status.unavailableReplicas",
        "status.readyReplicas",
        "status.availableReplicas",
        "status.availableReplicas",
        "status.collisionCount",
    ]


def test_a_name_that_is_not_a_dns_label_is_warned_of() -> None:
    document, _ = created(STRATEGY, spec=spec())
    assert not STRATEGY.warnings(document, None)
    document["metadata"]["name"] = "a.b"
    assert STRATEGY.warnings(document, None) == [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    ]
