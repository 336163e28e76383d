from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilotage.errors import DecodeError
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.manifests import from_document, from_yaml, to_document, to_yaml
from pilotage.meta.models import ObjectMeta
from pilotage.meta.unstructured import Unstructured, metadata_only
from pilotage.types.apps.v1 import Deployment
from pilotage.types.core.v1 import ConfigMap

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
TEXT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx, fromTheFuture: true}]
"""


def test_a_manifest_is_read_as_a_typed_object_and_written_with_what_the_class_does_not_know() -> None:
    deployment = from_yaml(Deployment, TEXT)
    assert deployment.spec is not None
    deployment.spec.replicas = 3
    assert from_yaml(Deployment, to_yaml(deployment)).spec == deployment.spec
    written = to_document(deployment)
    assert (written["apiVersion"], written["kind"], written["spec"]["replicas"]) == ("apps/v1", "Deployment", 3)
    assert written["spec"]["template"]["spec"]["containers"][0]["fromTheFuture"] is True


def test_an_object_goes_from_one_form_to_another_and_back() -> None:
    typed = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"b": "c"})
    plain = from_document(CONFIG_MAP, to_document(typed))
    assert isinstance(plain, Unstructured)
    assert plain["data"] == {"b": "c"}
    assert from_document(ConfigMap, to_document(plain)) == typed
    assert from_document(metadata_only(ConfigMap), to_document(typed)).metadata.name == "a"


def test_json_is_read_as_well_and_the_kind_may_be_left_out() -> None:
    assert from_yaml(ConfigMap, b'{"metadata": {"name": "a"}}').metadata.name == "a"


def test_a_document_of_an_object_is_its_own() -> None:
    plain = Unstructured({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}})
    to_document(plain)["data"]["a"] = "2"
    assert plain["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Secret\napiVersion: v1", "the document is Secret of v1, and cannot be decoded as ConfigMap of v1"),
        ("- a", "a manifest must be an object with fields, not list"),
        ("", "a manifest must be an object with fields, not NoneType"),
        ("data: [1]", r"ConfigMap cannot be read: Expected `object`, got `array` at \.data"),
        ("a: [", "not YAML"),
    ],
)
def test_what_is_not_such_an_object_is_rejected_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        from_yaml(ConfigMap, text)


def test_anchors_are_read_as_in_the_manifests_of_a_command_line() -> None:
    found = from_yaml(ConfigMap, "metadata: {name: a, labels: &labels {app: web}}\ndata: *labels\n")
    assert found.data == found.metadata.labels == {"app": "web"}


@pytest.mark.parametrize("value", [ObjectMeta(name="a"), {"kind": "ConfigMap"}, ConfigMap, None])
def test_a_value_that_is_not_an_object_is_not_written_and_the_error_names_what_is_needed(value: Any) -> None:
    with pytest.raises(TypeError, match="an object of a kind is needed, such as a ConfigMap, not "):
        to_document(value)
    with pytest.raises(TypeError, match="an object of a kind is needed"):
        to_yaml(value)


def test_a_value_that_is_not_a_document_is_not_read_and_the_error_names_what_is_needed() -> None:
    wrong: Any = ConfigMap()
    with pytest.raises(TypeError, match=r"needs a document with fields, not ConfigMap; to_document\(…\) makes one"):
        from_document(ConfigMap, wrong)
    wrong = ["a"]
    with pytest.raises(TypeError, match=r"needs a document with fields, not list$"):
        from_document(ConfigMap, wrong)
    wrong = Path("a.yaml")
    with pytest.raises(TypeError, match="from_yaml needs the text of a manifest, not "):
        from_yaml(ConfigMap, wrong)
