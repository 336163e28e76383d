from __future__ import annotations

from ..writes import created, fields, status_written, strategy_of, updated
from .test_deployments import spec

STRATEGY = strategy_of("replicasets.apps")
CONTROLLERS = strategy_of("replicationcontrollers")


def test_a_replica_set_has_one_replica() -> None:
    document, causes = created(STRATEGY, spec=spec())
    assert not causes
    assert document["spec"]["replicas"] == 1


def test_pods_are_always_restarted_and_have_no_deadline() -> None:
    content = spec()
    content["template"]["spec"] |= {"restartPolicy": "Never", "activeDeadlineSeconds": 5}
    _, causes = created(STRATEGY, spec=content)
    assert fields(causes)[-2:] == ["spec.template.spec.restartPolicy", "spec.template.spec.activeDeadlineSeconds"]


def test_the_selector_cannot_change() -> None:
    old, _ = created(STRATEGY, spec=spec())
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "Exists"}]}
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"selector": selector})
    assert fields(causes) == ["spec.selector"]


def test_counts_in_the_status_fit_each_other() -> None:
    old, _ = created(STRATEGY, spec=spec())
    _, causes = status_written(STRATEGY, old, status={"replicas": 1, "fullyLabeledReplicas": 2})
    assert fields(causes) == ["status.fullyLabeledReplicas"]


def test_a_replication_controller_selects_the_labels_of_its_template() -> None:
    document, causes = created(CONTROLLERS, spec={"template": spec()["template"]})
    assert not causes
    assert document["spec"]["selector"] == document["metadata"]["labels"] == {"app": "web"}


def test_a_replication_controller_needs_a_template_and_a_selector() -> None:
    _, causes = created(CONTROLLERS, spec={})
    assert fields(causes) == ["spec.selector", "spec.template"]
    _, causes = created(CONTROLLERS, spec={"selector": {"app": "x"}, "template": spec()["template"]})
    assert fields(causes) == ["spec.template.metadata.labels"]
