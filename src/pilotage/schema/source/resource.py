"""The class of a kind in one version, with its decorator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilotage.meta.kinds import GroupKind
from pilotage.meta.models import plural_of
from pilotage.schema.generate.jsonpath import Unresolved, resolve
from pilotage.schema.generate.version import scale_problem
from pilotage.schema.source.models import Models, class_markers
from pilotage.schema.source.pythontypes import Schema, markers_of
from pilotage.schema.source.text import bracketed, docstring, literal

_APPROVED = "api-approved.kubernetes.io"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a definition."""

    definition: dict[str, Any]
    version: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.definition["spec"]["names"]["kind"])

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.definition["spec"]["group"], self.kind)

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self.definition['metadata']['name']} {self.version['name']}"

    @property
    def schema(self) -> Schema:
        found: Schema = (self.version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
        return found


def resource_source(version: Version, name: str, models: Models, external: bool) -> str:
    """The definition of the class. Constraints of metadata cannot be expressed."""
    schema = version.schema
    members = models.members(schema, (name,), resource=True)
    markers = class_markers({key: value for key, value in schema.items() if key != "x-kubernetes-validations"})
    bases = ["pt.Resource", *([f"markers=[{', '.join(markers)}]"] if markers else [])]
    body = docstring(schema["description"], 4) if schema.get("description") else ""
    body += ("\n" if body and members else "") + "".join(member.source() for member in members)
    options = _options(version, name) + (["skip=True"] if external else [])
    decorator, head = bracketed("@pt.resource(", options, ")"), bracketed(f"class {name}(", bases, "):")
    return f"{decorator}\n{head}\n{body or '    pass' + chr(10)}"


def _options(version: Version, name: str) -> list[str]:
    return [
        *(f"{key}={literal(value)}" for key, value in _names(version, name).items()),
        *_subresources(version),
        *(f"{key}={literal(value)}" for key, value in _lifecycle(version).items()),
        *_columns(version),
        *_rules(version.schema),
    ]


def _names(version: Version, name: str) -> dict[str, Any]:
    spec, names, kind = version.definition["spec"], version.definition["spec"]["names"], version.kind
    options: dict[str, Any] = {"group": spec["group"], "version": version.version["name"]}
    if name != kind:
        options["kind"] = kind
    if names["plural"] != plural_of(kind):
        options["plural"] = names["plural"]
    if names.get("singular", "") not in ("", kind.lower()):
        options["singular"] = names["singular"]
    if spec.get("scope") == "Cluster":
        options["scope"] = "Cluster"
    for key, option in (("shortNames", "short_names"), ("categories", "categories")):
        if names.get(key):
            options[option] = names[key]
    return options


def _subresources(version: Version) -> list[str]:
    found = []
    schema = version.schema
    subresources = version.version.get("subresources") or {}
    has_status = "status" in schema.get("properties", {}) or schema.get("x-kubernetes-preserve-unknown-fields")
    if "status" in subresources and has_status:
        found.append("status=True")
    if scale := subresources.get("scale"):
        names = {"specReplicasPath": "spec_replicas_path", "statusReplicasPath": "status_replicas_path"}
        names |= {"labelSelectorPath": "label_selector_path"}
        paths = [f"{names[key]}={literal(scale[key])}" for key in names if scale.get(key)]
        if any(scale_problem(key, scale[key], schema) for key in names if scale.get(key)):
            paths.append("checked=False")
        found.append(f"scale={bracketed('pt.markers.Scale(', paths, ')')}")
    if fields := version.version.get("selectableFields"):
        found.append(f"selectable_fields={literal([each['jsonPath'] for each in fields])}")
    return found


def _lifecycle(version: Version) -> dict[str, Any]:
    options: dict[str, Any] = {key: False for key in ("served", "storage") if not version.version.get(key)}
    if version.version.get("deprecated"):
        options["deprecated"] = version.version.get("deprecationWarning") or True
    annotations = version.definition["metadata"].get("annotations") or {}
    if _APPROVED in annotations:
        options["annotations"] = {_APPROVED: annotations[_APPROVED]}
    return options


def _columns(version: Version) -> list[str]:
    """The columns that show a field of the schema."""
    found = []
    for column in version.version.get("additionalPrinterColumns") or ():
        if isinstance(resolve(version.schema, column["jsonPath"]), Unresolved):
            continue
        arguments = [literal(column["name"]), literal(column["jsonPath"]), f"type={literal(column['type'])}"]
        arguments += [
            f"{key}={literal(column[key])}" for key in ("description", "format", "priority") if column.get(key)
        ]
        found.append(bracketed("pt.Column(", arguments, ")"))
    return [bracketed("columns=[", found, "]")] if found else []


def _rules(schema: Schema) -> list[str]:
    rules = markers_of({"x-kubernetes-validations": schema.get("x-kubernetes-validations", [])})
    return [bracketed("rules=[", rules, "]")] if rules else []
