"""Documents of built-in kinds as Go's codec reads and writes them."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.codec.scalars import Mismatch
from pilotage.codec.structure import structure_of
from pilotage.meta.documents import copied
from pilotage.meta.kinds import GroupVersionKind

POD = structure_of(GroupVersionKind("", "v1", "Pod"))
CONFIG_MAP = structure_of(GroupVersionKind("", "v1", "ConfigMap"))
ROLE = structure_of(GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role"))
LEASE = structure_of(GroupVersionKind("coordination.k8s.io", "v1", "Lease"))
SECRET = structure_of(GroupVersionKind("", "v1", "Secret"))
DEFINITION = structure_of(GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))


def json_values() -> st.SearchStrategy[Any]:
    names = st.sampled_from(["containers", "name", "versions", "schema", "labels", "a", "resources", "limits", "rules"])
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    return st.recursive(leaves, lambda each: st.lists(each, max_size=3) | st.dictionaries(names, each, max_size=4))


def decoded_spec(**spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = POD.decode({"spec": spec}, [])["spec"]
    return found


def test_empty_values_are_dropped_unless_they_have_a_meaning() -> None:
    spec = decoded_spec(hostNetwork=False, nodeName="", automountServiceAccountToken=False, priority=0, volumes=[])
    assert spec == {"automountServiceAccountToken": False, "priority": 0}


def test_an_empty_structure_behind_a_pointer_stays() -> None:
    assert decoded_spec(securityContext={}, affinity=None) == {"securityContext": {}}


def test_structures_that_are_always_there_are_filled_in() -> None:
    assert POD.decode({}, []) == {"metadata": {}, "spec": {}, "status": {}}
    assert decoded_spec(containers=[{"name": "a"}])["containers"] == [{"name": "a", "resources": {}}]


def test_null_in_a_map_or_a_list_is_the_empty_value() -> None:
    assert CONFIG_MAP.decode({"data": {"a": None}}, [])["data"] == {"a": ""}
    assert decoded_spec(containers=[None])["containers"] == [{"resources": {}}]


def test_disabled_fields_are_dropped_wherever_they_are() -> None:
    projected = {"sources": [{"clusterTrustBundle": {"path": "p"}}, {"secret": {"name": "s"}}]}
    pod = POD.decode({"spec": {"schedulingGroup": {"podGroupName": "g"}, "volumes": [{"projected": projected}]}}, [])
    POD.drop_disabled(pod)
    assert pod["spec"] == {"volumes": [{"projected": {"sources": [{}, {"secret": {"name": "s"}}]}}]}


def test_encoding_fills_in_what_is_never_left_out() -> None:
    role = ROLE.decode({"rules": []}, [])
    assert role["rules"] == []
    ROLE.encode(role)
    assert role["rules"] is None


@pytest.mark.parametrize(("text", "stored"), [("1000m", "1"), ("1024Mi", "1Gi"), ("0.1000", "100m"), (2, "2")])
def test_quantities_are_canonical(text: object, stored: str) -> None:
    assert decoded_spec(overhead={"cpu": text})["overhead"] == {"cpu": stored}


@pytest.mark.parametrize(("port", "kept"), [(0, {}), ("", {"port": ""}), (80, {"port": 80}), ("web", {"port": "web"})])
def test_an_empty_text_is_not_the_number_zero(port: object, kept: dict[str, object]) -> None:
    container = decoded_spec(containers=[{"livenessProbe": {"tcpSocket": {"port": port}}}])["containers"][0]
    assert container["livenessProbe"]["tcpSocket"] == kept


@pytest.mark.parametrize("text", ["1.500", "00001", "1.", "+5", "1E3", "012Ki"])
def test_some_spellings_of_quantities_are_kept_as_kubernetes_does(text: str) -> None:
    assert decoded_spec(overhead={"cpu": text})["overhead"] == {"cpu": text}


def test_times_are_in_utc_to_the_second() -> None:
    metadata = CONFIG_MAP.decode({"metadata": {"creationTimestamp": "2020-01-02T03:04:05.6+01:00"}}, [])["metadata"]
    assert metadata == {"creationTimestamp": "2020-01-02T02:04:05Z"}


def test_the_zero_time_is_no_time() -> None:
    assert CONFIG_MAP.decode({"metadata": {"creationTimestamp": "0001-01-01T00:00:00Z"}}, [])["metadata"] == {}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"spec": []}, "cannot unmarshal array into field spec of type object"),
        ({"spec": {"containers": [{"name": 7}]}}, "unmarshal number into field spec.containers[0].name of type string"),
        ({"spec": {"priority": 1.0}}, "cannot unmarshal number 1.0 into field spec.priority of type int32"),
        ({"spec": {"priority": 2**31}}, "cannot unmarshal number 2147483648 into field spec.priority of type int32"),
        ({"spec": {"priority": True}}, "cannot unmarshal bool into field spec.priority of type int32"),
        ({"spec": {"hostNetwork": "true"}}, "cannot unmarshal string into field spec.hostNetwork of type boolean"),
        ({"spec": {"overhead": {"cpu": "1x"}}}, "quantities must match the regular expression"),
        ({"status": {"startTime": "soon"}}, 'parsing time "soon" as "2006-01-02T15:04:05Z07:00"'),
    ],
)
def test_a_value_that_a_field_cannot_have_is_an_error_with_its_path(document: dict[str, Any], reason: str) -> None:
    with pytest.raises(Mismatch) as error:
        POD.decode(document, [])
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2020-01-02T03:04:05Z", 'cannot parse "Z" as ".000000"'),
        ("2020-01-02T03:04:05.5Z", 'cannot parse ".5Z" as ".000000"'),
        ("2020-01-02T03:04:05.123456789Z", 'cannot parse "789Z" as "Z07:00"'),
        ("2020-01-02", 'cannot parse "" as "T"'),
        ("soon", 'cannot parse "soon" as "2006"'),
    ],
)
def test_a_micro_time_has_six_digits(text: str, problem: str) -> None:
    with pytest.raises(Mismatch) as error:
        LEASE.decode({"spec": {"renewTime": text}}, [])
    assert str(error.value).endswith(problem)


def test_a_micro_time_may_have_a_comma() -> None:
    decoded = LEASE.decode({"spec": {"renewTime": "2020-01-02T03:04:05,123456Z"}}, [])
    assert decoded["spec"]["renewTime"] == "2020-01-02T03:04:05.123456Z"


def test_bytes_are_base64() -> None:
    assert SECRET.decode({"data": {"a": "YQ==\n"}}, [])["data"] == {"a": "YQ=="}
    with pytest.raises(Mismatch, match="illegal base64 data at input byte 1"):
        SECRET.decode({"data": {"a": "a b!"}}, [])


def test_unknown_fields_are_named_with_their_path_and_dropped() -> None:
    document = {"extra": 1, "spec": {"containers": [{"name": "a", "Image": "x"}], "hostnetwork": True}}
    unknown: list[None] = []
    assert POD.decode(document, unknown)["spec"] == {"containers": [{"name": "a", "resources": {}}]}
    assert unknown
    assert list(POD.unknown_fields(document)) == ["extra", "spec.containers[0].Image", "spec.hostnetwork"]


def test_a_schema_or_a_boolean_is_either() -> None:
    def schema(value: object) -> Any:
        properties = {"properties": {"a": {"additionalProperties": value}}}
        version = {"name": "v1", "schema": {"openAPIV3Schema": properties}}
        found = DEFINITION.decode({"spec": {"versions": [version]}}, [])
        return found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]

    assert schema(False) == {"additionalProperties": False}
    assert schema({"type": "string"}) == {"additionalProperties": {"type": "string"}}
    with pytest.raises(Mismatch, match="boolean or JSON schema expected"):
        schema("x")


def test_a_hostile_key_is_cut_in_the_message() -> None:
    with pytest.raises(Mismatch) as error:
        CONFIG_MAP.decode({"data": {"k" * 1_000_000: 1}}, [])
    assert len(str(error.value)) < 500


def test_unknown_fields_are_found_one_at_a_time() -> None:
    document = {f"x{number}": None for number in range(200_000)}
    unknown: list[None] = []
    CONFIG_MAP.decode(document, unknown)
    assert len(unknown) == 200_000
    assert list(islice(CONFIG_MAP.unknown_fields(document), 2)) == ["x0", "x1"]


@given(json_values())
def test_what_is_encoded_is_decoded_to_the_same(value: Any) -> None:
    for structure in (POD, DEFINITION, SECRET):
        for document in ({"spec": value}, {"metadata": value}, {"status": value, "data": value}, value):
            with suppress(Mismatch):
                internal = structure.decode(document, [])
                written = copied(internal)
                structure.encode(written)
                assert structure.decode(written, []) == internal
