"""StatefulSets."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.apps import templates
from pilotage.kubernetes.core.pods.spec import validate_pod_template
from pilotage.kubernetes.core.volumes.claims import claim_spec_warnings, validate_claim_spec
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import dns_1123_label
from pilotage.meta.validation.objectmeta import annotations_causes, labels_causes
from pilotage.server.strategies.checks import fields, labelselectors, numbers, texts
from pilotage.server.strategies.strategy import Strategy

_COUNTS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)
_PARTS = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_POLICIES = ("Retain", "Delete")
_CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_IMMUTABLE = (
    f"updates to statefulset spec for fields other than {', '.join(map(repr, _CHANGEABLE[:-1]))} "
    f"and {_CHANGEABLE[-1]!r} are forbidden"
)
_ALL_REVISIONS = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


class StatefulSetStrategy(Strategy):
    """StatefulSets have claims from templates; most of the spec is immutable."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from _validate_strategies(spec, "spec")
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            yield from validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
        yield from texts.optional_text(spec.get("serviceName"), "spec.serviceName", dns_1123_label)
        yield from _validate_spec(spec, "spec")

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        spec, was = document["spec"], old["spec"]
        yield from _validate_strategies(spec, "spec")
        yield from _validate_spec(spec, "spec", _is_valid(was))
        if not same(_fixed(spec), _fixed(was)):
            yield forbidden("spec", _IMMUTABLE)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        status = document.get("status") or {}
        yield from numbers.counts(status, "status", _COUNTS)
        yield from templates.validate_parts(status, "replicas", _PARTS)
        yield from templates.validate_parts(status, "readyReplicas", ("availableReplicas",))
        yield from templates.validate_collision_count(status, old)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        spec = document["spec"]
        below = "" if old is None else ".Spec"  # the two paths of the real server
        found = [
            warning
            for index, claim in enumerate(spec.get("volumeClaimTemplates") or ())
            for warning in claim_spec_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]{below}")
        ]
        if old is None or templates.is_new_generation(document, old):
            found = templates.template_warnings_of(document) + found
        return found + [_ALL_REVISIONS] * ((spec.get("revisionHistoryLimit") or 0) < 0)


def _fixed(spec: Document) -> Document:
    return {key: value for key, value in spec.items() if key not in _CHANGEABLE}


def _is_valid(spec: Document) -> bool:
    return not any(_validate_strategies(spec, "")) and not any(_validate_spec(spec, ""))


def _validate_strategies(spec: Document, path: str) -> Iterator[Cause]:
    management = spec.get("podManagementPolicy") or ""
    if not management:
        yield required(f"{path}.podManagementPolicy")
    elif management not in ("OrderedReady", "Parallel"):
        yield invalid(f"{path}.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'")
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            yield invalid(f"{path}.updateStrategy.rollingUpdate", rolling, detail, whole=True)
    elif strategy.get("type") != "RollingUpdate":
        yield invalid(f"{path}.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'", whole=True)
    elif rolling is not None:
        yield from numbers.counts(rolling, f"{path}.updateStrategy.rollingUpdate", ("partition",))
    policy = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for key in ("whenDeleted", "whenScaled") if policy else ():
        at = f"{path}.persistentVolumeClaimRetentionPolicy.{key}"
        yield from fields.choice(policy.get(key) or "", at, _POLICIES)


def _validate_spec(spec: Document, path: str, with_template: bool = True) -> Iterator[Cause]:
    yield from numbers.counts(spec, path, ("replicas", "minReadySeconds"))
    yield from numbers.counts(spec.get("ordinals") or {}, f"{path}.ordinals", ("start",))
    yield from templates.validate_selector(spec, path, "statefulset")
    template = spec.get("template") or {}
    if templates.selector_is_valid(spec):
        yield from templates.validate_match(spec, path)
        if with_template:
            yield from validate_pod_template(_template_of_pods(spec), f"{path}.template")
        metadata = template.get("metadata") or {}
        yield from labels_causes(metadata.get("labels") or {}, f"{path}.template.labels")
        yield from annotations_causes(metadata.get("annotations") or {}, f"{path}.template.annotations")
    else:
        yield labelselectors.invalid_selector(f"{path}.selector", spec.get("selector"), "")
    yield from templates.validate_restarts(template, f"{path}.template", "StatefulSet")


def _template_of_pods(spec: Document) -> Document:
    """The template of the pods: with a volume for each claim, and without names that the controller sets."""
    template: Document = spec.get("template") or {}
    pod = {key: value for key, value in (template.get("spec") or {}).items() if key not in ("subdomain", "hostname")}
    names = [(claim.get("metadata") or {}).get("name") or "" for claim in spec.get("volumeClaimTemplates") or ()]
    if names:
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
        others = [volume for volume in pod.get("volumes") or () if volume.get("name", "") not in names]
        pod["volumes"] = volumes + others
    return template | {"spec": pod}
