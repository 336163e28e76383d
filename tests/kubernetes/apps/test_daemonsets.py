from __future__ import annotations

import pytest

from pilotage.errors import BadRequest

from ..writes import created, fields, status_written, strategy_of, updated
from .test_deployments import spec

STRATEGY = strategy_of("daemonsets.apps")
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
    ("text", "problem"), [("x", "invalid syntax"), ("", "invalid syntax"), ("9" * 5000, "out of range")]
)
def test_a_count_that_is_not_a_number_cannot_be_decoded(text: str, problem: str) -> None:
    message = 'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing'
    with pytest.raises(BadRequest, match=f"^{message}.*{problem}$"):
        created(STRATEGY, metadata={"name": "a", "annotations": {GENERATION: text}}, spec=spec())


def test_a_writer_can_set_the_first_count() -> None:
    document, causes = created(STRATEGY, metadata={"name": "a", "annotations": {GENERATION: "7"}}, spec=spec())
    assert not causes
    assert document["metadata"]["annotations"] == {GENERATION: "7"}


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
