from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from pilotage.errors import InvalidDefinition
from pilotage.meta import markers as m
from pilotage.meta.models import Condition, Model, ModelMeta, ObjectMeta, Resource, omit, resource
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.scalars.times import Duration
from pilotage.schema.generate.openapi import openapi
from pilotage.types.core.v1 import PodTemplateSpec


def schema_of(hint: Any, **default: Any) -> dict[str, Any]:
    """The schema of one field of that type."""
    namespace: dict[str, Any] = {"__annotations__": {"field": hint}, "__module__": __name__} | (
        {"field": default["default"]} if default else {}
    )
    schema: dict[str, Any] = openapi(ModelMeta("Made", (Model,), namespace))
    return schema


def field_of(hint: Any, **default: Any) -> Any:
    return schema_of(hint, **default)["properties"]["field"]


class Mode(enum.Enum):
    """How it runs."""

    FAST = "fast"
    SAFE = "safe"


class Inner(Model):
    """The inner part."""

    size: int = 3


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer", "format": "int64"}),
        (bool, {"type": "boolean"}),
        (float, {"type": "number", "format": "double"}),
        (int | float, {"type": "number", "format": "double"}),
        (bytes, {"type": "string", "format": "byte"}),
        (Duration, {"type": "string"}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}}),
        (list[bool], {"type": "array", "items": {"type": "boolean"}}),
        (frozenset[str], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Mode, {"description": "How it runs.", "type": "string", "enum": ["fast", "safe"]}),
        (list[str | None], {"type": "array", "items": {"type": "string", "nullable": True}}),
        (Annotated[int, m.Format("int32")], {"type": "integer", "format": "int32"}),
        (
            int | str,
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
        ),
    ],
)
def test_a_python_type_has_one_schema(hint: Any, schema: Any) -> None:
    assert field_of(hint) == schema


def test_a_field_without_a_default_is_required_and_one_with_a_default_has_it_in_the_schema() -> None:
    assert schema_of(int)["required"] == ["field"]
    with_default = schema_of(int, default=5)
    assert "required" not in with_default
    assert with_default["properties"]["field"]["default"] == 5


@pytest.mark.parametrize(("hint", "default"), [(str | None, None), (list[str], []), (dict[str, str], {})])
def test_nothing_and_empty_collections_are_no_defaults_of_the_schema(hint: Any, default: Any) -> None:
    made = schema_of(hint, default=default)
    assert "required" not in made
    assert "default" not in made["properties"]["field"]


def test_a_default_that_is_not_written_is_no_default_of_the_schema() -> None:
    assert "default" not in field_of(str, default=omit("x"))


def test_a_default_that_differs_each_time_is_no_default_of_the_schema() -> None:
    numbers = iter(range(100))
    made = schema_of(int, default=msgspec.field(default_factory=lambda: next(numbers)))
    assert "default" not in made["properties"]["field"]
    assert "required" not in made


def test_defaults_stand_in_the_schema_as_they_stand_on_the_wire() -> None:
    assert field_of(Inner, default=Inner())["default"] == {"size": 3}
    assert field_of(Quantity, default=Quantity("1Gi"))["default"] == "1Gi"
    assert field_of(Mode, default=Mode.SAFE)["default"] == "safe"
    assert field_of(bytes, default=b"hello")["default"] == "aGVsbG8="


def test_none_is_null_only_where_it_is_not_written_by_leaving_the_field_out() -> None:
    assert "nullable" not in field_of(str | None, default=None)
    assert field_of(str | None)["nullable"] is True
    assert field_of(str | None, default="x")["nullable"] is True


def test_markers_about_presence_override_the_class() -> None:
    assert "required" not in schema_of(Annotated[str, m.Optional()])
    assert schema_of(Annotated[str, m.Required()], default="x")["required"] == ["field"]
    made = schema_of(Annotated[int, m.Default(7)])
    assert "required" not in made
    assert made["properties"]["field"]["default"] == 7


def test_schemas_beside_that_of_the_type_are_written_as_they_are() -> None:
    one, other = {"minLength": 3}, {"pattern": "^a"}
    hint = Annotated[str, m.AllOf(one), m.AnyOf(one, other), m.OneOf(other, one), m.Not(other)]
    assert field_of(hint) == {
        "type": "string",
        "allOf": [one],
        "anyOf": [one, other],
        "oneOf": [other, one],
        "not": other,
    }


def test_the_format_of_a_type_can_be_removed() -> None:
    assert field_of(Annotated[int, m.Format("")]) == {"type": "integer"}


def test_null_may_be_among_the_allowed_values() -> None:
    assert field_of(Annotated[str, m.Enum("a", None), m.Nullable()])["enum"] == ["a", None]


def test_an_integer_or_string_may_have_a_type_beside() -> None:
    hint = Annotated[int | str, m.XIntOrString(), m.Type("string")]
    assert field_of(hint) == {"type": "string", "x-kubernetes-int-or-string": True}


def test_the_outer_of_two_markers_counts() -> None:
    port = Annotated[int, m.Minimum(1), m.Maximum(65535)]
    assert field_of(Annotated[port, m.Maximum(1023)] | None, default=None) == {
        "type": "integer",
        "format": "int64",
        "minimum": 1,
        "maximum": 1023,
    }


def test_markers_for_items_reach_the_items_of_lists_and_the_values_of_maps() -> None:
    limits = m.Items(m.MaxLength(3))
    assert field_of(Annotated[list[str], limits])["items"] == {"type": "string", "maxLength": 3}
    assert field_of(Annotated[dict[str, str], limits])["additionalProperties"] == {"type": "string", "maxLength": 3}


def test_a_list_of_conditions_is_a_map_by_type_by_default() -> None:
    conditions = field_of(list[Condition], default=[])
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert sorted(conditions["items"]["required"]) == ["lastTransitionTime", "message", "reason", "status", "type"]
    assert field_of(Annotated[list[Condition], m.ListType("atomic")])["x-kubernetes-list-type"] == "atomic"


def test_metadata_of_a_template_keeps_labels_and_annotations() -> None:
    assert {"labels", "annotations", "name"} <= set(field_of(ObjectMeta)["properties"])


def test_descriptions_come_from_the_marker_then_the_field_then_the_class() -> None:
    class Described(Model):
        """The class."""

        plain: Inner
        told: Inner
        """The field."""
        marked: Annotated[Inner, m.Description("The marker.")]
        """The field."""

    Described.__annotations__ = {
        "plain": Inner,
        "told": Inner,
        "marked": Annotated[Inner, m.Description("The marker.")],
    }
    made = openapi(Described)
    assert made["description"] == "The class."
    texts = [made["properties"][name]["description"] for name in ("plain", "told", "marked")]
    assert texts == ["The inner part.", "The field.", "The marker."]


def test_an_immutable_field_that_may_be_absent_may_not_be_removed_either() -> None:
    made = schema_of(Annotated[str, m.Immutable()] | None, default=None)
    assert [rule["rule"] for rule in made["properties"]["field"]["x-kubernetes-validations"]] == ["self == oldSelf"]
    assert [rule["rule"] for rule in made["x-kubernetes-validations"]] == ["!has(oldSelf.field) || has(self.field)"]
    assert "x-kubernetes-validations" not in schema_of(Annotated[str, m.Immutable()])


def test_names_that_cel_reserves_are_escaped_in_made_rules() -> None:
    class Choice(Model, markers=[m.AtMostOneOf("namespace", "in-zone")]):
        namespace: str | None = None
        in_zone: str | None = msgspec.field(name="in-zone", default=None)

    Choice.__annotations__ = {"namespace": str | None, "in_zone": str | None}
    (rule,) = openapi(Choice)["x-kubernetes-validations"]
    assert rule["rule"] == "[has(self.__namespace__), has(self.in__dash__zone)].filter(set, set).size() <= 1"


def test_a_made_rule_cannot_refer_to_a_name_that_cel_cannot_express() -> None:
    class Choice(Model, markers=[m.AtMostOneOf("9th", "other")]):
        ninth: str | None = msgspec.field(name="9th", default=None)
        other: str | None = None

    Choice.__annotations__ = {"ninth": str | None, "other": str | None}
    with pytest.raises(InvalidDefinition, match="a CEL rule cannot refer to the field '9th'; rename it"):
        openapi(Choice)


def test_old_self_in_a_text_is_not_a_comparison_with_the_old_value() -> None:
    made = schema_of(list[Annotated[str, m.Rule("self != 'oldSelf'", "a reserved word")]])
    assert made["properties"]["field"]["items"]["x-kubernetes-validations"][0]["rule"] == "self != 'oldSelf'"


def test_a_resource_inside_another_is_a_plain_object_with_metadata() -> None:
    @resource(group="example.com", version="v1")
    class Embedded(Resource):
        spec: Inner

    Embedded.__annotations__ = {"spec": Inner}
    for schema in (field_of(Embedded), field_of(list[Embedded])["items"]):
        assert "x-kubernetes-embedded-resource" not in schema
        assert set(schema["properties"]) == {"metadata", "spec"}


def test_a_recursion_may_be_cut_by_leaving_the_inner_part_free() -> None:
    assert openapi(Tree)["properties"]["children"]["items"] == {"x-kubernetes-preserve-unknown-fields": True}


def test_built_in_types_may_stand_in_a_crd() -> None:
    containers = field_of(PodTemplateSpec)["properties"]["spec"]["properties"]["containers"]
    ports = containers["items"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["items"]["properties"]["protocol"]["default"] == "TCP"


class Tree(Model):
    children: list[Annotated[Tree, m.Schemaless(), m.PreserveUnknownFields()]] = []
