"""The fields of a Stage file, as kwok's API has them. A field that it does not have is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from pilotage.errors import InvalidDefinition

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
PatchKind = Literal["json", "merge", "strategic", ""]
ApplyKind = Literal["apply", "merge", "strategic"]


class Fields(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The fields of an object."""


class Expression(Fields):
    """An expression in CEL or jq."""

    expression: Text


class ExpressionFrom(Fields):
    """An expression in one of the languages; `expressionFrom` is in jq, too."""

    expression_from: str = ""
    jq: Expression | None = None
    cel: Expression | None = None


class Requirement(Fields):
    """A condition on the outputs of a jq expression."""

    key: Text
    operator: Operator
    values: list[str] = []


class MatchExpression(Fields):
    """A requirement, here or in `jq`, or an expression in CEL."""

    key: str = ""
    operator: Operator = "Exists"
    values: list[str] = []
    jq: Requirement | None = None
    cel: Expression | None = None


class Selector(Fields):
    """Which objects a Stage is for."""

    match_labels: dict[str, str] = {}
    match_annotations: dict[str, str] = {}
    match_expressions: list[MatchExpression] = []


class Delay(Fields):
    """The time until a step."""

    duration_milliseconds: Count = 0
    duration_from: ExpressionFrom | None = None
    jitter_duration_milliseconds: Count | None = None
    jitter_duration_from: ExpressionFrom | None = None


class Event(Fields):
    """An Event about the object."""

    type: str = ""
    reason: str = ""
    message: str = ""


class Finalizer(Fields):
    """One finalizer."""

    value: Text


class Finalizers(Fields):
    """Changes of the finalizers."""

    add: list[Finalizer] = []
    remove: list[Finalizer] = []
    empty: bool = False


class Patch(Fields):
    """A patch of the object."""

    subresource: str = ""
    root: str = ""
    template: str = ""
    type: PatchKind = ""


class Apply(Fields):
    """Another object."""

    subresource: str = ""
    template: str = ""
    type: ApplyKind = "apply"


class Step(Fields):
    """One of `steps`."""

    event: Event | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patch: Patch | None = None
    apply: Apply | None = None


class Next(Fields):
    """The older form of `steps`."""

    event: Event | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patches: list[Patch] = []
    status_template: str | None = None
    status_subresource: str = "status"


class Resource(Fields):
    """The kind of the objects."""

    kind: Text
    api_group: str = "v1"


class Spec(Fields):
    """The spec of a Stage."""

    resource_ref: Resource
    selector: Selector | None = None
    weight: Count = 0
    weight_from: ExpressionFrom | None = None
    delay: Delay | None = None
    next: Next | None = None
    steps: list[Step] = []
    immediate_next_stage: bool = False


class Metadata(msgspec.Struct):
    """The part of the metadata that is read."""

    name: Text


class Stage(Fields):
    """A Stage."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: Spec
    status: Any = None


def definition(document: dict[str, Any], where: str) -> Stage:
    """The fields of a document. Raises InvalidDefinition, with `where` and the field."""
    try:
        return msgspec.convert(_without_nulls(document), Stage)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        raise InvalidDefinition(": ".join(filter(None, (where, path.strip(".`"), message)))) from None


def _without_nulls(value: Any) -> Any:
    """A field that is null is one that is not there."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
