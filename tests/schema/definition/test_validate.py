from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.schema.definition import apply_definition_defaults, definition_causes, definition_update_causes


def definition(schema: Any = None, **version: Any) -> dict[str, Any]:
    first = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or {"type": "object"}}}
    made: dict[str, Any] = {
        "metadata": {"name": "widgets.demo.dev"},
        "spec": {
            "group": "demo.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{**first, **version}],
        },
    }
    apply_definition_defaults(made)
    return made


def established(made: dict[str, Any], *stored: str) -> dict[str, Any]:
    conditions = [{"type": "Established", "status": "True"}]
    return {**copy.deepcopy(made), "status": {"storedVersions": list(stored), "conditions": conditions}}


def test_defaults_name_the_list_and_the_singular() -> None:
    made = definition()
    assert made["spec"]["names"] == {
        "plural": "widgets",
        "kind": "Widget",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    assert made["spec"]["conversion"] == {"strategy": "None"}
    again = copy.deepcopy(made)
    apply_definition_defaults(again)
    assert again == made


def test_the_default_port_of_a_webhook_service_is_443() -> None:
    made = definition()
    made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "a"}}}}
    apply_definition_defaults(made)
    assert made["spec"]["conversion"]["webhook"]["clientConfig"]["service"] == {"name": "a", "port": 443}


def test_paths_speak_of_versions_only_where_their_schemas_differ() -> None:
    bad = {"type": "object", "properties": {"x": {}}}
    made = definition(bad)
    assert [cause.field for cause in definition_causes(made)] == ["spec.validation.openAPIV3Schema.properties[x].type"]
    made["spec"]["versions"].append(
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}}
    )
    assert [cause.field for cause in definition_causes(made)] == [
        "spec.versions[0].schema.openAPIV3Schema.properties[x].type"
    ]


@pytest.mark.parametrize(
    ("path", "value", "when_established"),
    [("group", "other.dev", False), ("scope", "Cluster", True), ("plural", "others", False), ("kind", "Other", True)],
)
def test_names_that_objects_are_stored_by_do_not_change(path: str, value: str, when_established: bool) -> None:
    old = definition()
    new = copy.deepcopy(old)
    place = new["spec"] if path in new["spec"] else new["spec"]["names"]
    place[path] = value
    new["metadata"]["name"] = f"{new['spec']['names']['plural']}.{new['spec']['group']}"
    field = f"spec.{path}" if path in new["spec"] else f"spec.names.{path}"
    before = [cause.field for cause in definition_update_causes(new, old)]
    assert (field in before) is not when_established
    after = {cause.field: cause.message for cause in definition_update_causes(new, established(old, "v1"))}
    assert after[field] == f'Invalid value: "{value}": field is immutable'


def test_an_immutable_name_that_is_left_out_is_reported_as_empty() -> None:
    old = established(definition(), "v1")
    new = copy.deepcopy(old)
    del new["spec"]["scope"]
    (cause,) = definition_update_causes(new, old)
    assert (cause.field, cause.message) == ("spec.scope", 'Invalid value: "": field is immutable')


def test_names_are_measured_in_the_words_of_kubernetes() -> None:
    made = definition()
    made["spec"]["names"] |= {"shortNames": ["a" * 64], "kind": "A" * 64}
    assert [cause.message.rpartition(": ")[2] for cause in definition_causes(made)] == [
        "must be no more than 63 characters",
        "must be no more than 63 characters",
    ]


def test_a_version_that_objects_are_stored_in_stays() -> None:
    old = established(definition(), "v1")
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["name"] = "v2"
    new["status"]["storedVersions"] = ["v1", "v2"]
    (cause,) = definition_update_causes(new, old)
    assert cause.field == "status.storedVersions[0]"
    assert cause.message.startswith('Invalid value: "v1": missing from spec.versions')
    new["status"]["storedVersions"] = ["v2"]
    assert definition_update_causes(new, old) == []


def test_a_wrong_type_is_reported_before_anything_else() -> None:
    made = definition()
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "object", "properties": {"x": {"type": 3}}}
    (cause,) = definition_causes(made)
    assert cause.field == "spec.versions[0].schema.openAPIV3Schema.properties.x.type"
    assert cause.reason == "FieldValueTypeInvalid"
    assert definition_causes(None)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
keywords = st.sampled_from(
    [
        *("type", "properties", "items", "additionalProperties", "enum", "default", "pattern", "anyOf", "not"),
        *("required", "nullable", "minimum", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
        *("x-kubernetes-validations", "x-kubernetes-embedded-resource"),
    ]
)
types = st.sampled_from(["object", "array", "string", "integer"])
schemas = st.recursive(
    st.dictionaries(keywords, anything | types, max_size=3),
    lambda inner: st.fixed_dictionaries(
        {"type": types},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "items": inner,
            "default": anything,
        },
    ),
    max_leaves=4,
)


@given(schemas)
def test_no_schema_however_odd_makes_the_judge_fail(schema: Any) -> None:
    assert isinstance(definition_causes(definition(schema)), list)


@given(anything)
def test_no_document_however_odd_makes_the_judge_fail(spec: Any) -> None:
    made: Any = {"metadata": {"name": "x"}, "spec": spec}
    apply_definition_defaults(made)
    assert isinstance(definition_causes(made), list)


def test_a_schema_that_is_too_deep_or_too_large_is_refused() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"x": deep}}
    (cause,) = definition_causes(definition(deep))
    assert "at most 60 levels" in cause.message
    rules = [{"rule": "true"}] * 1_001
    (cause,) = definition_causes(definition({"type": "object", "x-kubernetes-validations": rules}))
    assert "at most 1000" in cause.message
    wide = {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(300_000)}}
    (cause,) = definition_causes(definition(wide))
    assert "at most 50000 schemas" in cause.message


def test_a_definition_has_at_most_a_hundred_versions() -> None:
    document = definition({"type": "object"})
    (version,) = document["spec"]["versions"]
    for count, told in ((100, []), (10_000, ["Too many: 10000: must have at most 100 items"])):
        document["spec"]["versions"] = [version | {"name": f"v{n + 1}", "storage": not n} for n in range(count)]
        assert [cause.message for cause in definition_causes(document)] == told


@pytest.mark.parametrize(
    "patterns",
    [
        [r"(?i)[^\pL]" * 100 + str(number) for number in range(300)],
        ["a?" * 50_000],
        [f"{number}" * 200 for number in range(1000, 4000)],
    ],
)
def test_patterns_that_take_long_to_compile_are_refused(patterns: list[str]) -> None:
    properties = {f"p{index}": {"type": "string", "pattern": each} for index, each in enumerate(patterns)}
    (cause,) = definition_causes(definition({"type": "object", "properties": properties}))
    assert cause.reason == "FieldValueForbidden"
    assert "takes too long" in cause.message


def test_a_pattern_that_many_places_have_counts_once() -> None:
    properties = {f"p{index}": {"type": "string", "pattern": "[a-z0-9]" * 100} for index in range(2_000)}
    assert definition_causes(definition({"type": "object", "properties": properties})) == []


def test_rules_that_are_large_when_they_are_compiled_are_refused() -> None:
    rule = "self.?a" + ".optMap(x, x)" * 10 + ".hasValue()"
    rules = [{"rule": rule, "message": str(number)} for number in range(200)]
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": rules}
    (cause,) = definition_causes(definition(schema))  # to compile all of them would take minutes
    assert "the compiled rules of the definition are too large" in cause.message


def test_the_keyword_for_the_dialect_of_a_schema_is_refused_at_the_root() -> None:
    inner = {"type": "object", "$schema": "http://json-schema.org/draft-07/schema"}
    (cause,) = definition_causes(definition({"type": "object", "properties": {"spec": inner}}))
    text = "Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"
    assert (cause.field, cause.message) == ("spec.validation.openAPIV3Schema", text)


def test_a_schema_that_is_validated_again_is_judged_as_the_first_time() -> None:
    sound: dict[str, Any] = {"type": "object", "properties": {"status": {"type": "string"}, "a": {"type": "integer"}}}
    status: dict[str, Any] = {"subresources": {"status": {}}}
    unsound = copy.deepcopy(sound)
    unsound["properties"]["a"]["type"] = "number of replicas"
    rules = sound | {"x-kubernetes-validations": [{"rule": "self.b == 1"}]}
    for _ in range(2):
        assert definition_causes(definition(sound)) == []
        assert definition_causes(definition({**sound, "x-kubernetes-preserve-unknown-fields": 1})) != []
        assert [cause.field for cause in definition_causes(definition(unsound))] != []
        assert definition_causes(definition(rules)) != []
        assert definition_causes(definition({"type": "array", "items": sound}, **status)) != []
