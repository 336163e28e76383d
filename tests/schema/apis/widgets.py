"""Every marker once: a kind with one field for each marker."""

from __future__ import annotations

import enum
from datetime import date, datetime
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

from pilotage.meta.markers import (
    AtLeastOneOf,
    AtMostOneOf,
    Column,
    Default,
    Description,
    EmbeddedResource,
    Enum,
    ExactlyOneOf,
    Example,
    ExternalDocs,
    Format,
    Immutable,
    Items,
    ListType,
    MapType,
    Maximum,
    MaxItems,
    MaxLength,
    MaxProperties,
    Minimum,
    MinItems,
    MinLength,
    MinProperties,
    MultipleOf,
    Nullable,
    Optional,
    Pattern,
    PreserveUnknownFields,
    Required,
    Rule,
    Scale,
    Schemaless,
    Title,
    Type,
    UniqueItems,
    XIntOrString,
)
from pilotage.meta.models import Condition, Model, ObjectMeta, Resource, omit, resource
from pilotage.meta.scalars.intorstring import IntOrString
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.scalars.times import Duration, MicroTime
from pilotage.meta.unstructured import Unstructured

Port = Annotated[int, Minimum(1), Maximum(65535), Format("int32")]
Zone = NewType("Zone", str)


class Color(enum.Enum):
    """The colors we have paint for."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Numbers(Model):
    """Numbers and what may be said about them."""

    any_integer: int | None = None
    positive: Annotated[int, Minimum(0, exclusive=True), Maximum(100, exclusive=True)] = 1
    even: Annotated[int, MultipleOf(2)] = 2
    ratio: Annotated[float, Minimum(0), Maximum(1)] = 0.5
    low_port: Annotated[Port, Maximum(1023)] | None = None
    level: Level = Level.LOW
    version: Literal[1, 2] = 2
    enabled: bool = True
    memory: Quantity = Quantity("1Gi")
    target: IntOrString = 80
    percent: Annotated[Any, XIntOrString(), Pattern("^[0-9]+%$")] = "25%"


class Texts(Model):
    """Texts and what may be said about them."""

    short: Annotated[str, MinLength(1), MaxLength(10), Pattern("^[a-z]+$")] = "abc"
    mail: Annotated[str, Format("email")] | None = None
    color: Color = Color.RED
    size: Annotated[str, Enum("small", "large")] = "small"
    mode: Literal["on", "off"] | Literal["auto"] = "auto"
    zone: Zone | None = None
    secret: bytes | None = None
    day: date | None = None
    at: datetime | None = None
    at_exactly: MicroTime | None = None
    timeout: Duration = Duration(seconds=90)
    id: UUID | None = None
    hint: str = omit("")
    as_text: Annotated[int, Type("string")] | None = None
    documented: Annotated[
        str,
        Title("Documented"),
        Description("It has everything that is only for people."),
        Example("an example"),
        ExternalDocs("https://docs.example.com/documented", "more about it"),
    ] = ""


class Host(Model, markers=[MapType("atomic")]):
    """A name with its address."""

    name: Annotated[str, MaxLength(253)]
    address: Annotated[str, Format("ipv4")] | None = None


class Listener(Model):
    name: Annotated[str, MaxLength(63)]
    protocol: Annotated[str, MaxLength(10)] = "TCP"
    port: Annotated[Port, Immutable()]


class Collections(Model):
    """Lists and maps and what may be said about them."""

    names: Annotated[list[Annotated[str, MinLength(1)]], MinItems(1), MaxItems(5), UniqueItems(False)] = ["first"]
    zones: Annotated[list[str], Items(MaxLength(20), Pattern("^[a-z]")), ListType("set"), MaxItems(10)] = []
    tags: set[str] = set()
    pair: tuple[int, ...] = ()
    hosts: Annotated[list[Host], ListType("atomic")] = []
    listeners: Annotated[list[Listener], ListType("map", "name", "protocol"), MaxItems(16)] = []
    limits: Annotated[dict[str, Quantity], MinProperties(1), MaxProperties(10), MapType("granular")] = {}
    grid: list[list[int]] = []
    by_zone: dict[str, list[Host]] = {}
    sparse: list[str | None] = []


class Inline(Model):
    text: str


class Reference(Model):
    name: str
    namespace: str | None = None


class Source(Model, markers=[ExactlyOneOf("inline", "secretRef"), AtMostOneOf("cacheSeconds", "noCache")]):
    """Where the content comes from."""

    inline: Inline | None = None
    secret_ref: Reference | None = None
    cache_seconds: int | None = None
    no_cache: bool | None = None


class Free(Model):
    """What no schema says much about."""

    anything: Any = None
    parameters: dict[str, Any] = {}
    partly: Annotated[Reference, PreserveUnknownFields()] | None = None
    object: Unstructured | None = None
    manifest: Annotated[dict[str, Any], EmbeddedResource()] | None = None
    schemaless: Annotated[Reference, Schemaless(), PreserveUnknownFields(), Description("Anything at all.")] | None = (
        None
    )


class Template(Model):
    metadata: ObjectMeta | None = None
    labels: dict[str, str] = {}


class WidgetSpec(
    Model,
    markers=[
        AtLeastOneOf("numbers", "texts", "source"),
        Rule("!has(self.owner) || self.owner != 'root'", "the owner may not be root", reason="FieldValueForbidden"),
    ],
):
    """What the user wants of a widget.

    It has two paragraphs, the second with a list: numbers, texts, collections.
    """

    required: str
    required_or_null: str | None
    also_required: Annotated[str, Required()] = "given"
    not_required: Annotated[str, Optional()]
    filled: Annotated[int, Default(7), Minimum(0)]
    replicas: Annotated[int, Minimum(0), Format("int32")] = 1
    """How many of them.

    None at all is a number too.
    """
    nothing: Annotated[str | None, Nullable(), Default(None)] = None
    owner: Annotated[str, MaxLength(64), Immutable()] | None = None
    """Who pays for it."""
    tier: Annotated[
        str, MaxLength(20), Rule("self == self.lowerAscii()", message_expression="'not lower case: ' + self")
    ] = "standard"
    numbers: Numbers = Numbers()
    texts: Texts | None = None
    collections: Collections | None = None
    source: Source | None = None
    namespace: (
        Annotated[
            str,
            MaxLength(63),
            Rule("oldSelf.orValue('') == '' || self == oldSelf.value()", "it is final", optional_old_self=True),
        ]
        | None
    ) = None
    free: Free | None = None
    template: Template | None = None


class WidgetStatus(Model):
    replicas: int = 0
    selector: str | None = None
    ready_since: datetime | None = None
    conditions: list[Condition] = []
    """What is known of it."""


@resource(
    group="test.pilotage.dev",
    version="v1",
    plural="widgets",
    singular="widget",
    short_names=["wd", "wdg"],
    categories=["all", "pilotage"],
    status=True,
    scale=Scale(label_selector_path=".status.selector"),
    selectable_fields=[".spec.tier", ".spec.replicas"],
    columns=[
        Column("Replicas", ".spec.replicas"),
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status', description="Whether it is ready."),
        Column("Since", ".status.readySince", priority=1),
        Column("Memory", ".spec.numbers.memory", "string", format="byte"),
        Column("Ratio", ".spec.numbers.ratio"),
        Column("Enabled", ".spec.numbers.enabled"),
        Column("Age", ".metadata.creationTimestamp"),
    ],
    rules=[
        Rule(
            "self.spec.replicas <= 10 ||\nself.spec.required == 'large'",
            "more than ten only if it is large",
            field_path=".spec.replicas",
            reason="FieldValueInvalid",
        )
    ],
    annotations={"example.com/owner": "the widget team"},
    labels={"team": "widgets"},
)
class Widget(Resource):
    """A widget has everything."""

    spec: WidgetSpec
    status: WidgetStatus | None = None
