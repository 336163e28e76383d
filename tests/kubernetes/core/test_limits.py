"""LimitRanges and ResourceQuotas."""

from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

LIMITS = strategy_of("limitranges")
QUOTA = strategy_of("resourcequotas")


def limit(**content: Any) -> list[str]:
    found: list[str] = fields(created(LIMITS, spec={"limits": [content]})[1])
    return [field.removeprefix("spec.limits[0].") for field in found]


def test_defaults_of_containers_follow_from_their_bounds() -> None:
    content = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}
    document, causes = created(LIMITS, spec={"limits": [content]})
    assert not causes
    assert document["spec"]["limits"][0] == content | {
        "default": {"cpu": "2"},
        "defaultRequest": {"memory": "1Mi", "cpu": "2"},
    }


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"type": "Pod", "max": {"cpu": "1"}}, []),
        ({"type": "Pod", "default": {"cpu": "1"}}, ["default"]),
        ({"type": "Cup"}, ["type"]),
        ({"type": "Pod", "max": {"gold": "1"}}, ["max[gold]", "max[gold]"]),
        ({"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, ["min[cpu]"]),
        ({"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}}, ["maxLimitRequestRatio[cpu]"]),
        (
            {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
            ["maxLimitRequestRatio[cpu]"],
        ),
        ({"type": "PersistentVolumeClaim"}, ["limits"]),
        (
            {"type": "Container", "default": {"a.com/g": "2"}, "defaultRequest": {"a.com/g": "1"}},
            ["defaultRequest[a.com/g]"],
        ),
    ],
)
def test_what_is_wrong_with_a_limit(content: dict[str, Any], wrong: list[str]) -> None:
    assert limit(**content) == wrong


def test_each_type_has_one_limit_and_a_range_without_a_name_gets_one() -> None:
    limits = [{"type": "Pod"}, {"type": "Pod"}]
    document, causes = created(LIMITS, metadata={"uid": "u"}, spec={"limits": limits})
    assert fields(causes) == ["spec.limits[1].type"]
    assert document["metadata"]["name"] == "u"


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"hard": {"pods": "3", "requests.cpu": "1500m", "example.com/gpu": "1"}}, []),
        ({"hard": {"pods": "-1"}}, ["spec.hard[pods]"]),
        ({"hard": {"pods": "1500m"}}, ["spec.hard[pods]"]),
        ({"hard": {"storage": "1"}}, ["spec.hard[storage]"]),
        ({"scopes": ["Odd"]}, ["spec.scopes"]),
        ({"scopes": ["BestEffort"], "hard": {"cpu": "1"}}, ["spec.scopes"]),
        ({"scopes": ["Terminating", "NotTerminating"]}, ["spec.scopes"]),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
            ["spec.scopeSelector.matchExpressions.values"],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "Terminating", "operator": "Near"}]}},
            ["spec.scopeSelector.matchExpressions.operator"] * 2,
        ),
    ],
)
def test_what_is_wrong_with_a_quota(spec: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(QUOTA, spec=spec)[1]) == wrong


def test_a_quota_keeps_its_scopes() -> None:
    old, _ = created(QUOTA, spec={"scopes": ["Terminating"]})
    assert fields(updated(QUOTA, old, spec={})[1]) == ["spec.scopes"]


def test_the_use_of_a_quota_is_counted_in_amounts() -> None:
    old, _ = created(QUOTA, spec={})
    assert fields(status_written(QUOTA, old, status={"used": {"pods": "-1"}})[1]) == ["status.used[pods]"]
