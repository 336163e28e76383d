"""Defaults and validates a CustomResourceDefinition as an API server does.

Causes have Kubernetes' paths. If all versions have the same schema (or subresources, or columns), these are
`spec.validation`, `spec.subresources` and `spec.additionalPrinterColumns`: fields of v1beta1, which v1 does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.meta.paths import is_condition_true, value_at
from pilotage.meta.validation.names import dns_1123_subdomain
from pilotage.schema.definition.approval import approval_causes
from pilotage.schema.definition.conversion import ca_bundle_causes, conversion_causes
from pilotage.schema.definition.defaults import default_causes
from pilotage.schema.definition.keywords import (
    SchemaPosition,
    is_convertible,
    keyword_causes,
    places,
    schema_keyword_causes,
)
from pilotage.schema.definition.names import label_rule, names_causes
from pilotage.schema.definition.rulecosts import ProgramBudget, RuleCosts
from pilotage.schema.definition.shape import shape_causes
from pilotage.schema.definition.structure import structure_causes
from pilotage.schema.definition.version import (
    columns_causes,
    deprecation_causes,
    selectable_causes,
    status_root_causes,
    subresource_causes,
)
from pilotage.schema.subschemas import content_digest, has_rules


@dataclass(frozen=True, slots=True)
class _RuleLimits:
    """The limits for the rules of all versions."""

    programs: ProgramBudget
    old_schemas: Mapping[str, Any]

    def costs(self, version: Any, schema: Any) -> RuleCosts:
        return RuleCosts(self.programs, self.old_schemas.get(version) == schema)


def apply_definition_defaults(definition: dict[str, Any]) -> None:
    """Set the defaults of a definition in place."""
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
    service = value_at(conversion, ("webhook", "clientConfig", "service"))
    if isinstance(service, dict):
        service.setdefault("port", 443)
    _default_stored_versions(definition)


def _default_stored_versions(definition: dict[str, Any]) -> None:
    versions = value_at(definition, ("spec", "versions"))
    status = definition.setdefault("status", {})
    if isinstance(status, dict) and isinstance(versions, list) and not status.get("storedVersions"):
        stored = [one.get("name") or "" for one in versions if isinstance(one, dict) and one.get("storage") is True]
        status["storedVersions"] = stored[:1]


def definition_causes(definition: Any, old: Any = None) -> list[Cause]:
    """Everything that is wrong with a definition, after `apply_definition_defaults`.

    `old` is the definition that it replaces: an expensive rule in a schema that does not change is not rejected.
    Raises MissingExtra if it has CEL rules and CEL is not installed.
    """
    if wrong := shape_causes(definition):
        return wrong
    spec = definition.get("spec") or {}
    return [
        *(_name_causes(definition) if old is None else ()),  # it cannot change
        *_spec_causes(spec, _schemas(old)),
        *(ca_bundle_causes(spec) if old is not None and _needs_ca_bundle(old) else ()),
        *approval_causes(definition, old),
        *_preserve_unknown_causes(spec),
    ]


def stored_version_causes(definition: Any) -> Iterator[Cause]:
    """What is wrong with the versions that a definition says objects are stored in."""
    stored = (definition.get("status") or {}).get("storedVersions") or []
    at = "status.storedVersions"
    if not stored:
        yield causes.invalid(at, None, "must have at least one stored version")
        return
    versions = (definition.get("spec") or {}).get("versions") or []
    left = set(stored)
    for version in versions:
        name = version.get("name") or ""
        if version.get("storage") is True and name not in left:  # also if another version has the same name
            yield causes.invalid(at, stored, f"must have the storage version {name}", whole=True)
        left.discard(name)
    for index, name in enumerate(stored):
        if name in left:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield causes.invalid(f"{at}[{index}]", name, text)


def definition_update_causes(definition: Any, old: Any) -> list[Cause]:
    """What is wrong with the update of a definition, in addition to `definition_causes`.

    `definition` has the status that it will have after the update.
    """
    if shape_causes(definition):
        return []
    found: list[Cause] = []
    spec, before = definition.get("spec") or {}, old.get("spec") or {}
    immutable: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if is_condition_true(old, "Established"):
        immutable = [("scope",), ("names", "kind"), *immutable]
    for path in immutable:
        value = value_at(spec, path) or ""
        if value != (value_at(before, path) or ""):
            found.append(causes.invalid(".".join(("spec", *path)), value, "field is immutable"))
    return [*found, *stored_version_causes(definition)]


def _name_causes(definition: Mapping[str, Any]) -> Iterator[Cause]:
    spec, metadata = definition.get("spec") or {}, definition.get("metadata") or {}
    group, plural = spec.get("group") or "", value_at(spec, ("names", "plural")) or ""
    wanted, detail = f"{plural}.{group}", 'must be spec.names.plural+"."+spec.group'
    for key in ("generateName", "name"):
        if (name := metadata.get(key)) and name != wanted:
            yield causes.invalid(f"metadata.{key}", name, detail)


def _preserve_unknown_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    if spec.get("preserveUnknownFields") is True:
        strategy = value_at(spec, ("conversion", "strategy")) or "None"
        if any(_has_default(version.get("schema")) for version in spec.get("versions") or ()):
            text = "must be false in order to use defaults in the schema"
            yield causes.invalid("spec.preserveUnknownFields", True, text)
        if strategy != "None":
            text = "must be None if spec.preserveUnknownFields is true"
            yield causes.invalid("spec.conversion.strategy", strategy, text)
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield causes.invalid("spec.preserveUnknownFields", True, text)


def _has_default(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return "default" in schema or any(map(_has_default, schema.values()))
    return isinstance(schema, list) and any(map(_has_default, schema))


def _spec_causes(spec: Mapping[str, Any], old_schemas: Mapping[str, Any]) -> Iterator[Cause]:
    versions = spec.get("versions") or []
    yield from _group_and_scope_causes(spec)
    for index, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield causes.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    shared = {key: _shared(versions, key) for key in ("schema", "subresources", "additionalPrinterColumns")}
    shared["selectableFields"] = _shared(versions, "selectableFields")
    limits = _RuleLimits(ProgramBudget(), old_schemas)
    for index, version in enumerate(versions):
        yield from _version_causes(version, f"spec.versions[{index}]", shared, limits)
    yield from _version_list_causes(versions, spec.get("versions"))
    if versions and (first := versions[0].get("name")) and (broken := label_rule(first)):
        yield causes.invalid("spec.version", first, broken)
    names = spec.get("names") or {}
    yield from names_causes(names)
    if versions:
        yield from _shared_causes(versions[0], shared, limits)
    yield from conversion_causes(spec.get("conversion") or {"strategy": "None"})


def _group_and_scope_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    if not group:
        yield causes.required("spec.group")
    elif broken := dns_1123_subdomain(group):
        yield causes.invalid("spec.group", group, ",".join(broken))
    elif "." not in group:
        yield causes.invalid("spec.group", group, "should be a domain with at least one dot")
    if not scope:
        yield causes.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield causes.not_supported("spec.scope", scope, ("Cluster", "Namespaced"))


def _shared(versions: list[Any], key: str) -> bool:
    """Whether all versions have the same value for a key, so that Kubernetes reports it once."""
    first = versions[0].get(key) if versions else None
    return bool(first) and all(version.get(key) == first for version in versions)


def _version_causes(
    version: Mapping[str, Any], at: str, shared: Mapping[str, bool], limits: _RuleLimits
) -> Iterator[Cause]:
    name = version.get("name") or ""
    if broken := label_rule(name):
        yield causes.invalid(f"{at}.name", name, broken)
    yield from deprecation_causes(version, at)
    if not shared["schema"]:
        yield from _schema_causes(version, f"{at}.schema", limits)
    if not shared["subresources"]:
        yield from subresource_causes(version.get("subresources") or {}, f"{at}.subresources")
    if not shared["additionalPrinterColumns"]:
        yield from columns_causes(version, at)
    if not shared["selectableFields"]:
        yield from selectable_causes(version, at, has_schema=not shared["schema"])


def _shared_causes(version: Mapping[str, Any], shared: Mapping[str, bool], limits: _RuleLimits) -> Iterator[Cause]:
    if shared["schema"]:
        yield from _schema_causes(version, "spec.validation", limits)
    if shared["subresources"]:
        yield from subresource_causes(version.get("subresources") or {}, "spec.subresources")
    if shared["additionalPrinterColumns"]:
        yield from columns_causes(version, "spec")
    if shared["selectableFields"]:
        yield from selectable_causes(version, "spec", has_schema=shared["schema"])


def _version_list_causes(versions: list[Any], raw: list[Any] | None) -> Iterator[Cause]:
    names = [version.get("name") for version in versions]
    if len(set(names)) != len(names):
        yield causes.invalid("spec.versions", versions, "must contain unique version names")
    if sum(version.get("storage") is True for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        yield causes.invalid("spec.versions", versions or raw, text, whole=not versions)


def _schema_causes(version: Mapping[str, Any], at: str, limits: _RuleLimits) -> Iterator[Cause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        return
    has_status = (version.get("subresources") or {}).get("status") is not None
    content = content_digest(schema) + bytes([has_status])
    if content in _SOUND:
        return
    found = list(_all_schema_causes(version, schema, at, limits))
    if not found and not has_rules(schema):  # the limits of rules are limits of the whole definition
        if len(_SOUND) >= _MOST_SOUND:
            _SOUND.clear()
        _SOUND.add(content)
    yield from found


_SOUND: set[bytes] = set()
"""The digests of schemas without rules in which nothing is wrong, with or without a status: a program validates its own
before the server does, and the next server of the process validates them again."""
_MOST_SOUND = 4096


def _all_schema_causes(
    version: Mapping[str, Any], schema: Mapping[str, Any], at: str, limits: _RuleLimits
) -> Iterator[Cause]:
    where = f"{at}.openAPIV3Schema"
    if (version.get("subresources") or {}).get("status") is not None:
        yield from status_root_causes(schema, where)
    if schema.get("nullable"):
        yield causes.forbidden(f"{where}.nullable", "nullable cannot be true at the root")
    every = list(places(schema, SchemaPosition(where, root=True, resource=True)))
    keywords = [(cause, place) for each, place in every for cause in keyword_causes(each, place)]
    forms: list[tuple[Cause, SchemaPosition]] = []
    ruled = has_rules(schema)
    if ruled:
        from pilotage.schema.definition import celrules  # with CEL, which most schemas do not need

        forms = [(cause, place) for each, place in every for cause in celrules.rule_form_causes(each, place)]
    # As in Kubernetes: defaults are validated only if the schema is structural, and rules are not reported if a default
    # is wrong, or the part of the schema that they are for. Defaults are validated by rules, so that these are compiled
    # first, within their limits.
    structural: list[Cause] = []
    defaults: list[Cause] = []
    compiled: list[Cause] = []
    convertible = all(is_convertible(each) for each, _ in every)
    if convertible:
        structural = list(schema_keyword_causes((each for each, _ in every), where)) or structure_causes(schema, where)
    if ruled and convertible and not structural:
        costs = limits.costs(version.get("name"), schema)
        wrong = {at for _, place in (*keywords, *forms) for at in _around(place.at)}
        sound = [(each, place) for each, place in every if place.at not in wrong]
        compiled = [cause for each, place in sound for cause in celrules.rule_compile_causes(each, place, costs)]
        compiled += costs.causes(where)
    if convertible and not structural and not limits.programs.exceeded:
        defaults = [cause for each, place in every for cause in default_causes(each, place, well_formed=not forms)]
    if defaults:
        compiled = []
    yield from structural
    yield from defaults
    yield from (cause for cause, _ in (*keywords, *forms))
    yield from compiled


def _around(at: str) -> Iterator[str]:
    """A path and the paths of all schemas around it."""
    steps = at.split(".")
    return (".".join(steps[:length]) for length in range(1, len(steps) + 1))


def _schemas(definition: Any) -> dict[str, Any]:
    """The schemas of a definition, by version."""
    versions = value_at(definition, ("spec", "versions")) or []
    return {version.get("name"): value_at(version, ("schema", "openAPIV3Schema")) for version in versions}


def _needs_ca_bundle(old: Any) -> bool:
    """Whether a definition that replaces `old` must have a CA bundle that can be loaded."""
    return is_condition_true(old, "Established") and not list(ca_bundle_causes(old.get("spec") or {}))
