"""Invalid definitions, each for one reason: the messages are in golden/refusals.txt."""

from __future__ import annotations

import dataclasses
import enum
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from pilotage.meta.markers import (
    AtMostOneOf,
    Column,
    Default,
    EmbeddedResource,
    Enum,
    ExactlyOneOf,
    Immutable,
    Items,
    ListType,
    MapType,
    Maximum,
    Minimum,
    MinLength,
    MultipleOf,
    Nullable,
    Optional,
    Pattern,
    PreserveUnknownFields,
    Required,
    Rule,
    Scale,
    Schemaless,
    Type,
    UniqueItems,
)
from pilotage.meta.models import Model, Resource, json_name, resource

if TYPE_CHECKING:
    from collections import OrderedDict


class Part(Model):
    name: str
    note: str | None = None
    parts: dict[str, str] = {}
    alias: str | None


@dataclasses.dataclass
class Plain:
    x: int


class Mixed(enum.Enum):
    A = "a"
    B = 1


class UnionOfScalars(Model):
    value: str | bool


class UnionOfModels(Model):
    value: Part | UnionOfScalars


class LocalName(Model):
    value: OrderedDict[str, str]


class NotAModel(Model):
    value: Plain


class TimeDelta(Model):
    value: timedelta


class DecimalNumber(Model):
    value: Decimal


class UntypedList(Model):
    value: list  # type: ignore[type-arg]  # that is the point


class FixedTuple(Model):
    value: tuple[int, str]


class UntypedMap(Model):
    value: dict  # type: ignore[type-arg]  # that is the point


class IntegerKeys(Model):
    value: dict[int, str]


class MixedEnum(Model):
    value: Mixed


class MixedLiteral(Model):
    value: Literal["a", 1]


class Node(Model):
    children: list[Node] = []


class Left(Model):
    right: Right | None = None


class Right(Model):
    lefts: dict[str, Left] = {}


class MarkerClass(Model):
    value: Annotated[str, Required]


class MsgspecMeta(Model):
    value: Annotated[int, msgspec.Meta(ge=1)]


class NameInAnnotated(Model):
    value: Annotated[str, json_name("VALUE")]


class RequiredAndOptional(Model):
    value: Annotated[str, Required(), Optional()]


class LengthOfInteger(Model):
    value: Annotated[int, MinLength(1)]


class MinimumOfText(Model):
    value: Annotated[str, Minimum(1)] | None = None


class LengthOfItems(Model):
    value: list[Annotated[int, MinLength(1)]]


class ItemsOfText(Model):
    value: Annotated[str, Items(MinLength(1))]


class NegativeLength(Model):
    value: Annotated[str, MinLength(-1)]


class MultipleOfZero(Model):
    value: Annotated[int, MultipleOf(0)]


class CrossedBounds(Model):
    value: Annotated[int, Minimum(10), Maximum(1)]


class LookAhead(Model):
    value: Annotated[str, Pattern("^(?!root)")]


class EnumOfOtherType(Model):
    value: Annotated[int, Enum(1, "two")]


class EmptyEnum(Model):
    value: Annotated[str, Enum()]


class UniqueList(Model):
    value: Annotated[list[str], UniqueItems()]


class SetOfObjects(Model):
    value: Annotated[list[Part], ListType("set")]


class PythonSetOfMaps(Model):
    value: set[dict[str, str]]


class MapWithoutKeys(Model):
    value: Annotated[list[Part], ListType("map")]


class MapOfScalars(Model):
    value: Annotated[list[str], ListType("map", "name")]


class MapByMissingKey(Model):
    value: Annotated[list[Part], ListType("map", "id")]


class MapByOptionalKey(Model):
    value: Annotated[list[Part], ListType("map", "note")]


class MapByObject(Model):
    value: Annotated[list[Part], ListType("map", "parts")]


class MapByNullableKey(Model):
    value: Annotated[list[Part], ListType("map", "alias")]


class SetWithKeys(Model):
    value: Annotated[list[str], ListType("set", "name")]


class ListTypeOfText(Model):
    value: Annotated[str, ListType("set")]


class MapTypeOfList(Model):
    value: Annotated[list[str], MapType("atomic")]


class EmbeddedText(Model):
    value: Annotated[str, EmbeddedResource()]


class PreservedText(Model):
    value: Annotated[str, PreserveUnknownFields()]


class SchemalessAlone(Model):
    value: Annotated[Part, Schemaless()]


class ArrayOfNothing(Model):
    value: Annotated[Any, Type("array")]


class OneOfPythonName(Model, markers=[ExactlyOneOf("first_one", "second")]):
    first_one: str | None = None
    second: str | None = None


class OneOfMissing(Model, markers=[AtMostOneOf("first", "third")]):
    first: str | None = None
    second: str | None = None


class OneOfOne(Model, markers=[AtMostOneOf("first")]):
    first: str | None = None


class OneOfText(Model):
    value: Annotated[str, ExactlyOneOf("a", "b")]


class EmptyRule(Model):
    value: Annotated[str, Rule(" ")]


class LongRuleWithoutMessage(Model):
    value: Annotated[int, Rule("self > 1 &&\nself < 5")]


class LongMessage(Model):
    value: Annotated[int, Rule("self > 1", "first line\nsecond line")]


class OldSelfOption(Model):
    value: Annotated[int, Rule("self > 1", "too small", optional_old_self=True)]


class ImmutableItem(Model):
    value: list[Annotated[str, Immutable()]]


class Locked(Model):
    name: Annotated[str, Immutable()]


class ImmutableInAtomicList(Model):
    value: list[Locked]


class ImmutableInAtomicMap(Model):
    value: Annotated[Locked, MapType("atomic")]


class Empty(Model):
    pass


class Spec(Model):
    replicas: int = 1
    name: str = ""
    ratio: float = 0.5
    names: list[str] = []


@resource(group="example", version="v1")
class GroupWithoutDot(Resource):
    spec: Spec


@resource(group="Example.com", version="v1")
class GroupInCapitals(Resource):
    spec: Spec


@resource(group="apps.k8s.io", version="v1")
class ProtectedGroup(Resource):
    spec: Spec


@resource(group="example.com", version="1.0")
class BadVersion(Resource):
    spec: Spec


@resource(group="example.com", version="v1", kind="Bad_Kind")
class BadKind(Resource):
    spec: Spec


@resource(group="example.com", version="v1", plural="Bad")
class BadPlural(Resource):
    spec: Spec


@resource(group="example.com", version="v1", short_names=["x", "x"])
class RepeatedShortName(Resource):
    spec: Spec


@resource(group="example.com", version="v1", short_names=["Short"])
class BadShortName(Resource):
    spec: Spec


@resource(group="example.com", version="v1", categories=["all", "all"])
class RepeatedCategory(Resource):
    spec: Spec


@resource(group="example.com", version="v1", storage=False)
class NotStored(Resource):
    spec: Spec


@resource(group="example.com", version="v1", served=False)
class NotServed(Resource):
    spec: Spec


class NotNamed(Resource):
    spec: Spec


@resource(group="example.com", version="v1", skip=True)
class OnlySkipped(Resource):
    spec: Spec


@resource(group="example.com", version="v1", status=True)
class StatusWithoutField(Resource):
    spec: Spec


@resource(group="example.com", version="v1", scale=Scale())
class ScaleWithoutStatus(Resource):
    spec: Spec


@resource(group="example.com", version="v1", scale=Scale(spec_replicas_path="spec.replicas"))
class ScalePathWithoutDot(Resource):
    spec: Spec


@resource(group="example.com", version="v1", scale=Scale(spec_replicas_path=".spec.name"))
class ScaleOfText(Resource):
    spec: Spec


@resource(group="example.com", version="v1", selectable_fields=[".spec.ratio"])
class SelectableNumber(Resource):
    spec: Spec


@resource(group="example.com", version="v1", selectable_fields=[".spec.nmae"])
class SelectableTypo(Resource):
    spec: Spec


@resource(group="example.com", version="v1", selectable_fields=[".metadata.name"])
class SelectableMetadata(Resource):
    spec: Spec


@resource(group="example.com", version="v1", selectable_fields=[".spec.names[0]"])
class SelectableItem(Resource):
    spec: Spec


@resource(group="example.com", version="v1", selectable_fields=[".spec.name", ".spec.name"])
class SelectableTwice(Resource):
    spec: Spec


@resource(group="example.com", version="v1", selectable_fields=[f".spec.name{number}" for number in range(9)])
class NineSelectable(Resource):
    spec: Spec


@resource(group="example.com", version="v1", columns=[Column("Name", ".spec.title")])
class ColumnOfNothing(Resource):
    spec: Spec


@resource(group="example.com", version="v1", columns=[Column("Name", "spec.name")])
class ColumnWithoutDot(Resource):
    spec: Spec


@resource(group="example.com", version="v1", columns=[Column("Name", ".spec.names[?(@.x")])
class ColumnUnclosed(Resource):
    spec: Spec


@resource(group="example.com", version="v1", columns=[Column("", ".spec.name")])
class ColumnWithoutName(Resource):
    spec: Spec


@resource(group="example.com", version="v1")
class NullableRoot(Resource, markers=[Nullable()]):
    spec: Spec


class DefaultOutside(Model):
    value: Annotated[int, Minimum(5)] = 1


@resource(group="example.com", version="v1")
class DefaultOutsideItsLimits(Resource):
    spec: DefaultOutside


class DefaultOfOtherType(Model):
    values: Annotated[list[str], Default([1])]


@resource(group="example.com", version="v1")
class DefaultOfAnotherType(Resource):
    spec: DefaultOfOtherType


@resource(group="example.com", version="v1", rules=[Rule("self.spec.replica > 1", "more")])
class RuleOnMissingField(Resource):
    spec: Spec


@resource(group="example.com", version="v1", rules=[Rule("self.spec.replicas >", "more")])
class RuleThatIsNoExpression(Resource):
    spec: Spec


@resource(group="example.com", version="v1", rules=[Rule("self.spec.replicas + 1", "more")])
class RuleThatIsNoTruth(Resource):
    spec: Spec


@resource(group="example.com", version="v1", rules=[Rule("self.spec.replicas > 1", "more", field_path=".spec.size")])
class RuleAboutMissingField(Resource):
    spec: Spec


@resource(group="example.com", version="v1", rules=[Rule("has(self.spec)", message_expression="1 + 1")])
class RuleWithNumberForMessage(Resource):
    spec: Spec


@resource(group="example.com", version="v1", columns=[Column("Name", ".spec.name", format="long")])
class ColumnOfUnknownFormat(Resource):
    spec: Spec


@resource(group="example.com", version="v1")
class ListOfItemsAtTheTop(Resource):
    items: list[str] = []
