"""What a history must not show is shown as hashes."""

from __future__ import annotations

import json
from typing import Any

from pilotage.history.secrets import Hider
from pilotage.meta.kinds import GroupVersionKind

SECRET = GroupVersionKind("", "v1", "Secret")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def test_the_data_of_a_secret_is_hashed_and_its_keys_are_shown() -> None:
    hidden = Hider(key=b"k").hide(SECRET, {"data": {"password": "aHVudGVyMg=="}, "stringData": {"a": "hunter2"}})
    assert "aHVudGVyMg" not in json.dumps(hidden)
    assert "hunter2" not in json.dumps(hidden)
    assert [*hidden["data"]] == ["password"]


def test_equal_values_have_equal_hashes_in_one_history_and_others_in_another() -> None:
    def hashed(key: bytes, value: str) -> str:
        text: str = Hider(key=key).hide(SECRET, {"data": {"a": value}})["data"]["a"]
        return text

    assert hashed(b"k", "x") == hashed(b"k", "x") != hashed(b"k", "y")
    assert hashed(b"k", "x") != hashed(b"l", "x")


def test_configured_fields_are_hashed_also_in_lists() -> None:
    hider = Hider(["spec.users.password", ".spec.token"], key=b"k")
    document = {"spec": {"users": [{"name": "a", "password": "p1"}], "token": {"value": "t1"}}}
    hidden = json.dumps(hider.hide(CONFIG_MAP, document))
    assert "p1" not in hidden
    assert "t1" not in hidden
    assert '"name": "a"' in hidden


def test_the_configuration_that_kubectl_applied_last_is_hashed() -> None:
    name = "kubectl.kubernetes.io/last-applied-configuration"
    hidden = Hider(key=b"k").hide(SECRET, {"metadata": {"annotations": {name: '{"data":{"a":"cGFzcw=="}}'}}})
    assert "cGFzcw" not in json.dumps(hidden)


def test_other_objects_are_shown() -> None:
    assert Hider(key=b"k").hide(CONFIG_MAP, {"data": {"a": "b"}}) == {"data": {"a": "b"}}


def test_documents_of_any_shape_are_taken() -> None:
    documents: tuple[dict[str, Any], ...] = (
        {"data": None},
        {"data": ["x"]},
        {"metadata": 3},
        {"metadata": {"annotations": []}},
    )
    for document in documents:
        Hider(["spec.a.b"], key=b"k").hide(SECRET, dict(document))
