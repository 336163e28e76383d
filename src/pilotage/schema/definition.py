"""What an API server asks of a CustomResourceDefinition, and what it fills in.

Paths are Kubernetes' own: where all versions share one schema (or subresources, or columns) it speaks of
`spec.validation`, `spec.subresources` and `spec.additionalPrinterColumns`, which documents have not had for long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema import cel
from pilotage.schema.definition_keywords import Place, keyword_causes, places
from pilotage.schema.definition_names import label_rule, names_causes, subdomain_rule
from pilotage.schema.definition_rules import default_causes, rule_compile_causes, rule_form_causes
from pilotage.schema.definition_shape import shape_causes
from pilotage.schema.definition_structure import structure_causes
from pilotage.schema.structural.node import Tree

APPROVAL = "api-approved.kubernetes.io"
MAXIMUM_SELECTABLE_FIELDS = 8

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_AT_ROOT = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


def apply_definition_defaults(definition: dict[str, Any]) -> None:
    """Fill in, in place, what a definition may leave out."""
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict):
        kind = names.get("kind")
        if isinstance(kind, str) and kind:
            names.setdefault("singular", kind.lower())
            names.setdefault("listKind", f"{kind}List")
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    webhook = conversion.get("webhook") if isinstance(conversion, dict) else None
    client = webhook.get("clientConfig") if isinstance(webhook, dict) else None
    service = client.get("service") if isinstance(client, dict) else None
    if isinstance(service, dict):
        service.setdefault("port", 443)


def definition_causes(definition: Any) -> list[Cause]:
    """Everything that is wrong with a definition, after `apply_definition_defaults`.

    MissingExtra if it has CEL rules and CEL is not installed.
    """
    if wrong := shape_causes(definition):
        return wrong
    return [*_metadata_causes(definition), *_spec_causes(definition.get("spec") or {})]


def definition_update_causes(definition: Any, old: Any) -> list[Cause]:
    """What is wrong with a definition that replaces another. `definition` has the status that it will have."""
    found = definition_causes(definition)
    if shape_causes(definition):
        return found
    spec, before = definition.get("spec") or {}, old.get("spec") or {}
    immutable: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if _is_established(old):
        immutable = [("scope",), ("names", "kind"), *immutable]
    for path in immutable:
        value = _at(spec, path)
        if value != _at(before, path):
            found.append(causes.invalid(".".join(("spec", *path)), value, "field is immutable"))
    return found + _stored_causes(definition)


def _metadata_causes(definition: Mapping[str, Any]) -> Iterator[Cause]:
    spec, metadata = definition.get("spec") or {}, definition.get("metadata") or {}
    group, plural = spec.get("group") or "", _at(spec, ("names", "plural")) or ""
    name = metadata.get("name") or ""
    if name != f"{plural}.{group}":
        yield causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io")):
        yield from _approval_causes((metadata.get("annotations") or {}).get(APPROVAL) or "")
    if spec.get("preserveUnknownFields") is True:
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield causes.invalid("spec.preserveUnknownFields", True, text)


def _approval_causes(approval: str) -> Iterator[Cause]:
    at, more = f"metadata.annotations[{APPROVAL}]", "see https://github.com/kubernetes/enhancements/pull/1111"
    words = f'protected groups must have approval annotation "{APPROVAL}"'
    if not approval:
        yield causes.required(at, f"{words}, {more}")
        return
    try:
        parts = urlsplit(approval)
    except ValueError:
        parts = urlsplit("")
    if not approval.startswith("unapproved") and not (parts.scheme and parts.netloc):
        text = f'{words} with either a URL or a reason starting with "unapproved", {more}'
        yield causes.invalid(at, approval, text)


def _spec_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    versions = spec.get("versions") or []
    yield from _group_and_scope_causes(spec)
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield causes.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    shared = {key: _shared(versions, key) for key in ("schema", "subresources", "additionalPrinterColumns")}
    shared["selectableFields"] = _shared(versions, "selectableFields")
    for index, version in enumerate(versions):
        yield from _version_causes(version, f"spec.versions[{index}]", shared)
    yield from _version_list_causes(versions)
    names = spec.get("names") or {}
    yield from names_causes(names)
    if versions:
        yield from _shared_causes(versions[0], shared)
    yield from _conversion_causes(spec.get("conversion") or {"strategy": "None"})


def _group_and_scope_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    if not group:
        yield causes.required("spec.group")
    elif broken := subdomain_rule(group):
        yield causes.invalid("spec.group", group, broken)
    elif "." not in group:
        yield causes.invalid("spec.group", group, "should be a domain with at least one dot")
    if not scope:
        yield causes.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield causes.not_supported("spec.scope", scope, ("Cluster", "Namespaced"))


def _shared(versions: list[Any], key: str) -> bool:
    """Whether all versions say the same under a key, so that Kubernetes speaks of it as one."""
    first = versions[0].get(key) if versions else None
    return bool(first) and all(version.get(key) == first for version in versions)


def _version_causes(version: Mapping[str, Any], at: str, shared: Mapping[str, bool]) -> Iterator[Cause]:
    name = version.get("name") or ""
    if broken := label_rule(name):
        yield causes.invalid(f"{at}.name", name, broken)
    yield from _deprecation_causes(version, at)
    if not shared["schema"]:
        yield from _schema_causes(version, f"{at}.schema")
    if not shared["subresources"]:
        yield from _subresource_causes(version.get("subresources") or {}, f"{at}.subresources")
    if not shared["additionalPrinterColumns"]:
        yield from _columns_causes(version, at)
    if not shared["selectableFields"]:
        yield from _selectable_causes(version, at)


def _shared_causes(version: Mapping[str, Any], shared: Mapping[str, bool]) -> Iterator[Cause]:
    if shared["schema"]:
        yield from _schema_causes(version, "spec.validation")
    if shared["subresources"]:
        yield from _subresource_causes(version.get("subresources") or {}, "spec.subresources")
    if shared["additionalPrinterColumns"]:
        yield from _columns_causes(version, "spec")
    if shared["selectableFields"]:
        yield from _selectable_causes(version, "spec")


def _version_list_causes(versions: list[Any]) -> Iterator[Cause]:
    names = [version.get("name") for version in versions]
    if len(set(names)) != len(names):
        yield causes.invalid("spec.versions", versions, "must contain unique version names")
    if sum(version.get("storage") is True for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        yield causes.invalid("spec.versions", versions, text)


def _deprecation_causes(version: Mapping[str, Any], at: str) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    where = f"{at}.deprecationWarning"
    if not version.get("deprecated"):
        yield causes.invalid(where, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > 256:
        yield causes.invalid(where, warning, "must be <= 256 characters long")
    if not warning:
        yield causes.invalid(where, warning, "must not be an empty string")
    bad = next((index for index, each in enumerate(warning) if not each.isprintable()), None)
    if bad is not None:
        text = f"must only contain printable UTF-8 characters; non-printable character found at index {bad}"
        yield causes.invalid(where, warning, text)


def _schema_causes(version: Mapping[str, Any], at: str) -> Iterator[Cause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if not schema:
        return
    where = f"{at}.openAPIV3Schema"
    if (version.get("subresources") or {}).get("status") is not None:
        yield from _status_root_causes(schema, where)
    if schema.get("nullable"):
        yield causes.forbidden(f"{where}.nullable", "nullable cannot be true at the root")
    every = list(places(schema, Place(where, root=True, resource=True)))
    structural = structure_causes(schema, where)
    yield from structural
    keywords = [cause for each, place in every for cause in keyword_causes(each, place)]
    forms = [cause for each, place in every for cause in rule_form_causes(each, place)]
    defaults: list[Cause] = []
    compiled: list[Cause] = []
    if not (structural or keywords or forms):
        compiled = [cause for each, place in every for cause in rule_compile_causes(each, place)]
    if not (structural or keywords or forms or compiled):
        defaults = [cause for each, place in every for cause in default_causes(each, place)]
    yield from defaults
    yield from keywords
    yield from forms
    yield from compiled


def _status_root_causes(schema: Mapping[str, Any], at: str) -> Iterator[Cause]:
    only = "if the status subresource is enabled"
    if schema.get("type") not in (None, "", "object"):
        text = f'only "object" is allowed as the type at the root of the schema {only}'
        yield causes.invalid(f"{at}.type", schema["type"], text)
    elif any(keyword not in _AT_ROOT and value not in (None, "", [], {}, False) for keyword, value in schema.items()):
        text = f"only [{' '.join(_AT_ROOT.values())}] fields are allowed at the root of the schema {only}"
        yield causes.invalid(at, schema, text)


def _subresource_causes(subresources: Mapping[str, Any], at: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for name, under in (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",))):
        where, path = f"{at}.scale.{name}", scale.get(name) or ""
        if not path:
            yield causes.required(where)
        else:
            yield from _path_causes(where, path, under)
    if path := scale.get("labelSelectorPath"):
        yield from _path_causes(f"{at}.scale.labelSelectorPath", path, (".spec.", ".status."))


def _path_causes(at: str, path: str, under: tuple[str, ...] = ()) -> Iterator[Cause]:
    if not path.startswith("."):
        yield causes.invalid(at, path, "must be a simple json path starting with .")
    elif under and not path.startswith(under):
        words = " or ".join(each.removesuffix(".") for each in under)
        yield causes.invalid(at, path, f"should be a json path under {'either ' if len(under) > 1 else ''}{words}")


def _columns_causes(version: Mapping[str, Any], at: str) -> Iterator[Cause]:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        where = f"{at}.additionalPrinterColumns[{index}]"
        if not column.get("name"):
            yield causes.required(f"{where}.name")
        kind, form, path = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
        text = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            yield causes.required(f"{where}.type", text)
        elif kind not in _COLUMN_TYPES:
            yield causes.invalid(f"{where}.type", kind, text)
        if form and form not in _COLUMN_FORMATS:
            yield causes.invalid(f"{where}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not path:
            yield causes.required(f"{where}.JSONPath")
        else:
            yield from _path_causes(f"{where}.JSONPath", path)


def _selectable_causes(version: Mapping[str, Any], at: str) -> Iterator[Cause]:
    fields = version.get("selectableFields") or []
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, path = f"{at}.selectableFields[{index}].jsonPath", field.get("jsonPath") or ""
        if not path:
            yield causes.required(where)
            continue
        told = _selectable_problem(path, schema)
        if told:
            yield causes.invalid(where, path, told)
        elif path in seen:
            yield causes.duplicate(where, path)
        seen.add(path)
    if len(seen) > MAXIMUM_SELECTABLE_FIELDS:
        yield causes.too_many(f"{at}.selectableFields", len(seen), MAXIMUM_SELECTABLE_FIELDS)


def _selectable_problem(path: str, schema: Mapping[str, Any]) -> str:
    node = Tree(None).node(schema)
    try:
        if "[" in path:
            raise ValueError("array notation is not allowed")
        steps = cel.field_steps(path, node)
    except ValueError as error:
        return f"is an invalid path: {error}"
    if steps[0] == "metadata":
        return "must not point to fields in metadata"
    for step in steps:
        node = node.properties.get(str(step)) or node.additional or node
    if node.type in ("string", "boolean", "integer"):
        return ""
    return (
        "must point to a field of type string, boolean or integer. "
        "Enum string fields and strings with formats are allowed."
    )


def _conversion_causes(conversion: Mapping[str, Any]) -> Iterator[Cause]:
    at, strategy = "spec.conversion", conversion.get("strategy") or ""
    webhook = conversion.get("webhook") or {}
    if not strategy:
        yield causes.required(f"{at}.strategy")
    elif strategy not in ("None", "Webhook"):
        yield causes.not_supported(f"{at}.strategy", strategy, ("None", "Webhook"))
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        for name, value in (("webhookClientConfig", client), ("conversionReviewVersions", reviews)):
            if value:
                yield causes.forbidden(f"{at}.{name}", "should not be set when strategy is not set to Webhook")
        return
    if client is None:
        yield causes.required(f"{at}.webhookClientConfig", "required when strategy is set to Webhook")
    elif ("url" in client) == ("service" in client):
        yield causes.required(f"{at}.webhookClientConfig", "exactly one of url or service is required")
    yield from _review_causes(reviews, f"{at}.conversionReviewVersions")


def _review_causes(reviews: list[str], at: str) -> Iterator[Cause]:
    if not reviews:
        yield causes.required(at)
        return
    for index, version in enumerate(reviews):
        if version in reviews[:index]:
            yield causes.invalid(f"{at}[{index}]", version, "duplicate version")
        elif broken := label_rule(version):
            yield causes.invalid(f"{at}[{index}]", version, broken)
    if not {"v1", "v1beta1"} & set(reviews):
        yield causes.invalid(at, reviews, "must include at least one of v1, v1beta1", whole=True)


def _stored_causes(definition: Mapping[str, Any]) -> list[Cause]:
    stored = (definition.get("status") or {}).get("storedVersions") or []
    versions = (definition.get("spec") or {}).get("versions") or []
    names = {version.get("name") for version in versions}
    found: list[Cause] = []
    for index, name in enumerate(stored):
        if name not in names:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            found.append(causes.invalid(f"status.storedVersions[{index}]", name, text))
    return found


def _is_established(definition: Any) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document
