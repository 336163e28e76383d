from __future__ import annotations

from typing import Any

from ..writes import created, fields, status_written, strategy_of, updated
from .test_deployments import spec

STRATEGY = strategy_of("statefulsets.apps")


def claim(**more: Any) -> dict[str, Any]:
    content = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": "data"}, "spec": content | more}


def test_claims_of_templates_are_defaulted() -> None:
    document, causes = created(STRATEGY, spec=spec(volumeClaimTemplates=[claim()]))
    assert not causes
    [template] = document["spec"]["volumeClaimTemplates"]
    assert (template["apiVersion"], template["kind"]) == ("v1", "PersistentVolumeClaim")
    assert template["spec"]["volumeMode"] == "Filesystem"
    assert template["status"] == {"phase": "Pending"}


def test_claims_of_templates_are_validated() -> None:
    _, causes = created(STRATEGY, spec=spec(volumeClaimTemplates=[claim(accessModes=["Some"])]))
    assert fields(causes) == ["spec.volumeClaimTemplates[0].spec.accessModes"]


def test_the_limit_of_unavailable_pods_is_dropped_because_its_feature_is_off() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    document, _ = created(STRATEGY, spec=spec(updateStrategy=strategy))
    assert document["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}


def test_only_some_fields_of_the_spec_can_change() -> None:
    old, _ = created(STRATEGY, spec=spec())
    document, causes = updated(STRATEGY, old, spec=old["spec"] | {"replicas": 5, "minReadySeconds": 1})
    assert not causes
    assert document["metadata"]["generation"] == 2
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"serviceName": "other"})
    assert [(cause.reason, cause.field) for cause in causes] == [("FieldValueForbidden", "spec")]
    assert "'replicas', 'ordinals', 'template', 'updateStrategy'" in causes[0].message


def test_the_strategy_is_one_of_two() -> None:
    _, causes = created(STRATEGY, spec=spec(updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 1}}))
    assert fields(causes) == ["spec.updateStrategy.rollingUpdate"]
    _, causes = created(STRATEGY, spec=spec(updateStrategy={"type": "Never"}, podManagementPolicy="Random"))
    assert fields(causes) == ["spec.podManagementPolicy", "spec.updateStrategy"]


def test_counts_in_the_status_fit_each_other() -> None:
    old, _ = created(STRATEGY, spec=spec())
    _, causes = status_written(STRATEGY, old, status={"replicas": 1, "currentReplicas": 2})
    assert fields(causes) == ["status.currentReplicas"]


def test_a_negative_history_is_warned_of() -> None:
    document, causes = created(STRATEGY, spec=spec(revisionHistoryLimit=-1))
    assert not causes
    [warning] = STRATEGY.warnings(document, None)
    assert warning.startswith("spec.revisionHistoryLimit: a negative value retains")
