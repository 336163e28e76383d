"""The fields of classes: name, type, default, description."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pilotage.errors import InvalidDefinition
from pilotage.schema.source import pythontypes
from pilotage.schema.source.names import attribute_name, json_name
from pilotage.schema.source.pythontypes import Hint, Schema, hint_of
from pilotage.schema.source.text import docstring, literal

if TYPE_CHECKING:
    from pilotage.schema.source.models import Models

_FORBIDDEN = "a quote, a backslash or a control character"
_EMPTY = {"list": "[]", "map": "{}"}


@dataclass(slots=True)
class ModelField:
    """A field of a class."""

    attribute: str
    hint: Hint
    name: str | None = None
    """The name in JSON, if it is not the one that follows from the attribute."""
    markers: list[str] = field(default_factory=list)
    optional: bool = False
    """Whether None is a value of it."""
    default: str | None = None
    """The default as source; None if the field is required."""
    text: str = ""

    @property
    def required(self) -> bool:
        return self.default is None

    @property
    def names(self) -> set[str]:
        """What must be imported or defined."""
        found = set(self.hint.names)
        if self.hint.markers or self.markers:
            found.add("Annotated")
        return found

    def source(self) -> str:
        """The lines of the field."""
        value = self._value()
        line = self.hint.source(self.markers, self.optional, f"    {self.attribute}: ", f" = {value}" if value else "")
        return line + "\n" + (docstring(self.text, 4) if self.text else "")

    def _value(self) -> str:
        if self.name is None:
            return self.default or ""
        default = f", default={self.default}" if self.default is not None else ""
        return f"pt.meta.json_name({literal(self.name)}{default})"


def member_of(
    name: str, schema: Schema, required: bool, path: tuple[str, ...], models: Models, taken: set[str], resource: bool
) -> ModelField:
    """The field for a property. `taken` are the attributes above it; `resource`: it is one of a whole object."""
    if any(character in '"\\' or character < " " for character in name):
        raise InvalidDefinition(
            f"the property {name!r} of {'.'.join(path[:-1])} cannot be a field: it has {_FORBIDDEN}"
        )
    hint = hint_of(schema, path, models)
    attribute = attribute_name(name, taken, resource)
    member = ModelField(attribute, hint, name if json_name(attribute) != name else None)
    member.text = "" if hint.form == "class" and models.has_text(schema) else schema.get("description", "").strip()
    if hint.form == "class":  # what is said of the use, not of the class
        member.markers += pythontypes.markers_of(
            {key: schema[key] for key in ("title", "example", "externalDocs") if key in schema}
        )
    if "default" in schema:
        _set_default(member, schema, models)
        member.markers += ["pt.markers.Required()"] if required else []
    elif not required:
        _set_absent(member)
    if schema.get("nullable"):
        _set_nullable(member)
    return member


def _set_default(member: ModelField, schema: Schema, models: Models) -> None:
    value, form = schema["default"], member.hint.form
    plain = isinstance(value, str | int | float) or (
        form == "list"
        and isinstance(value, list)
        and value
        and all(isinstance(each, str | int | float) for each in value)
    )
    if plain and (form == "scalar" or (form == "list" and not _special_items(schema))):
        member.default = literal(value)
        return
    member.markers.append(f"pt.Default({literal(value)})")
    if form == "class" and value == {} and models.is_complete(schema):
        member.default = f"{member.hint.text}()"
    else:
        _set_absent(member)


def _special_items(schema: Schema) -> bool:
    items: Any = schema.get("items", {})
    return items.get("format") in ("date-time", "byte") or "x-kubernetes-int-or-string" in items


def _set_absent(member: ModelField) -> None:
    """A field that may be absent: an empty list or map, else None."""
    member.default = _EMPTY.get(member.hint.form, "None")
    member.optional = member.default == "None"


def _set_nullable(member: ModelField) -> None:
    """Allow `null`, which differs from an absent field."""
    if member.default in ("[]", "{}"):
        member.default = "None"
    if member.default == "None" or (member.default is not None and member.hint.form == "class"):
        member.markers.append("pt.markers.Nullable()")
    member.optional = True
