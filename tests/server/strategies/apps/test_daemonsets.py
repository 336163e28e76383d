from __future__ import annotations

import pytest

from pilotage.server.strategies.apps.daemonsets import DaemonSetStrategy

from ..writes import created, fields, status_written, updated
from .test_deployments import spec

STRATEGY = DaemonSetStrategy(generation=True, subresources=("status",))
GENERATION = "deprecated.daemonset.template.generation"


def test_changes_of_the_template_are_counted_in_an_annotation() -> None:
    old, causes = created(STRATEGY, spec=spec())
    assert not causes
    assert old["metadata"]["annotations"] == {GENERATION: "1"}
    document, _ = updated(STRATEGY, old, spec=old["spec"] | {"minReadySeconds": 5})
    assert document["metadata"]["annotations"] == {GENERATION: "1"}
    assert document["metadata"]["generation"] == 2
    template = old["spec"]["template"] | {"metadata": {"labels": {"app": "web", "b": "c"}}}
    document, _ = updated(STRATEGY, old, spec=old["spec"] | {"template": template})
    assert document["metadata"]["annotations"] == {GENERATION: "2"}


def test_a_writer_cannot_set_the_count_later() -> None:
    old, _ = created(STRATEGY, spec=spec())
    document, _ = updated(STRATEGY, old, metadata=old["metadata"] | {"annotations": {GENERATION: "9"}})
    assert document["metadata"]["annotations"] == {GENERATION: "1"}


def test_the_count_cannot_be_removed_with_the_status() -> None:
    old, _ = created(STRATEGY, spec=spec())
    metadata = {key: value for key, value in old["metadata"].items() if key != "annotations"}
    document, _ = status_written(STRATEGY, old, metadata=metadata, status={"numberReady": 1})
    assert document["metadata"]["annotations"] == {GENERATION: "1"}


@pytest.mark.parametrize(
    ("text", "problem"), [("7", ""), ("x", "invalid syntax"), ("", "invalid syntax"), ("9" * 5000, "out of range")]
)
def test_the_count_is_a_number(text: str, problem: str) -> None:
    error = STRATEGY.decoding_error({"metadata": {"annotations": {GENERATION: text}}})
    assert problem in error
    assert bool(problem) == bool(error)


def test_a_rolling_update_always_has_both_limits() -> None:
    document, _ = created(STRATEGY, spec=spec())
    assert document["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    document, _ = created(STRATEGY, spec=spec(updateStrategy={"type": "OnDelete", "rollingUpdate": {"maxSurge": 2}}))
    assert document["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 2}


def test_surge_and_unavailable_exclude_each_other() -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": "20%"}
    _, causes = created(STRATEGY, spec=spec(updateStrategy={"rollingUpdate": rolling}))
    assert fields(causes) == ["spec.updateStrategy.rollingUpdate.maxSurge"]
    rolling = {"maxSurge": 0, "maxUnavailable": 0}
    _, causes = created(STRATEGY, spec=spec(updateStrategy={"rollingUpdate": rolling}))
    assert fields(causes) == ["spec.updateStrategy.rollingUpdate.maxUnavailable"]
