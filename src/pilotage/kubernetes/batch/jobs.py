"""Jobs."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.apps.templates import is_new_generation, name_warnings, validate_match
from pilotage.kubernetes.batch import jobspecs
from pilotage.kubernetes.batch.jobstatus import has_condition, validate_job_status
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document, copied, same
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, labelselectors
from pilotage.server.strategies.strategy import Strategy, copy_field

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_SELECTED = "batch.kubernetes.io/controller-uid"


class JobStrategy(Strategy):
    """Jobs select their pods by their own uid, unless a selector is given by hand."""

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        if not document["spec"]["manualSelector"]:
            _generate_selector(document)

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate(document, prefixed=True)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        labels = _template_labels(old)
        prefixed = _NAME_LABELS[1] in labels and _UID_LABELS[1] in labels
        yield from _validate(document, prefixed=prefixed)
        yield from _validate_spec(document["spec"], "spec")  # the real server reports the spec a second time
        yield from _validate_changes(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return validate_job_status(document, old)

    def canonicalize(self, document: Document) -> None:
        labels = _template_labels(document)
        if labels and not document["metadata"].get("labels"):  # as if the stored object were defaulted once more
            document["metadata"]["labels"] = dict(labels)

    def stored_again(self, document: Document) -> bool:
        # A Job that was created without labels is stored without any; they are added when it is read.
        return (document["metadata"].get("labels") or {}).keys() == {*_UID_LABELS, *_NAME_LABELS}

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        if old is None:
            return [*name_warnings(document), *jobspecs.job_spec_warnings(document["spec"], "spec")]
        return list(jobspecs.job_spec_warnings(document["spec"], "spec")) if is_new_generation(document, old) else []


def _template_labels(document: Document) -> Document:
    template = document["spec"].get("template") or {}
    labels: Document = (template.get("metadata") or {}).get("labels") or {}
    return labels


def _generate_selector(document: Document) -> None:
    metadata, spec = document["metadata"], document["spec"]
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    template = spec["template"].setdefault("metadata", {})
    generated = dict.fromkeys(_NAME_LABELS, name) | dict.fromkeys(_UID_LABELS, uid)
    labels = template.setdefault("labels", {})
    labels |= generated | labels  # a conflict is reported by validation
    selector = spec["selector"] = dict(spec.get("selector") or {})
    selector["matchLabels"] = {_SELECTED: uid} | (selector.get("matchLabels") or {})


def _validate(document: Document, *, prefixed: bool) -> Iterator[Cause]:
    spec, name = document["spec"], document["metadata"].get("name") or ""
    yield from _validate_generated_selector(document, prefixed=prefixed)
    yield from _validate_spec(spec, "spec")
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        hostname = f"{name}-{completions - 1}"
        if dns_1123_label(hostname):
            detail = f"will not able to create pod with invalid DNS label: {hostname}"
            yield invalid("metadata.name", name, detail)


def _validate_generated_selector(document: Document, *, prefixed: bool) -> Iterator[Cause]:
    spec, metadata = document["spec"], document["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    if not uid:
        yield required("metadata.uid")
    labels = _template_labels(document)
    expected = {_UID_LABELS[0]: uid, _NAME_LABELS[0]: name}
    if prefixed:
        expected |= {_UID_LABELS[1]: uid, _NAME_LABELS[1]: name}
    for key, value in expected.items():
        if key not in labels:
            yield required(f"spec.template.metadata.labels[{key}]", f"must be '{value}'")
        elif labels[key] != value:
            yield invalid(f"spec.template.metadata.labels[{key}]", labels, f"must be '{value}'", whole=True)
    selector = labelselectors.matching(spec["selector"])
    if selector is not None and not selector.matches(expected):
        yield labelselectors.invalid_selector("spec.selector", spec["selector"], "`selector` not auto-generated")


def _validate_spec(spec: Document, path: str) -> Iterator[Cause]:
    yield from jobspecs.validate_job_spec(spec, path)
    if spec.get("selector") is None:
        yield required(f"{path}.selector")
    else:
        yield from labelselectors.label_selector(spec["selector"], f"{path}.selector")
    yield from validate_match(spec, path)


def _validate_changes(document: Document, old: Document) -> Iterator[Cause]:
    spec, was = document["spec"], old["spec"]
    completions = spec.get("completions")
    if completions != was.get("completions"):
        if spec.get("completionMode") != "Indexed":
            yield invalid("spec.completions", completions, fields.IMMUTABLE)
        elif completions is not None and completions != spec.get("parallelism"):
            yield invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")
    if spec.get("selector") != was.get("selector"):  # an empty one is not the same as none
        yield labelselectors.invalid_selector("spec.selector", spec.get("selector"), fields.IMMUTABLE)
    yield from _validate_template_changes(document, old)
    for name in ("completionMode", "podFailurePolicy"):
        yield from fields.immutable(spec.get(name), was.get(name), f"spec.{name}")
    for name in ("backoffLimitPerIndex", "managedBy", "successPolicy"):
        if spec.get(name) != was.get(name):  # 0 is not the same as absent
            yield invalid(f"spec.{name}", spec.get(name), fields.IMMUTABLE, whole=True)


def _validate_template_changes(document: Document, old: Document) -> Iterator[Cause]:
    """The template is immutable, except the template of a suspended Job without pods: where they go, and their
    resources."""
    template, was = document["spec"].get("template") or {}, old["spec"].get("template") or {}
    if not _has_mutable_template(old):
        if not same(template, was):
            yield invalid("spec.template", template, fields.IMMUTABLE, whole=True)
    elif not same(template.get("spec"), _with_allowed_changes(was.get("spec") or {}, template.get("spec") or {})):
        yield invalid("spec.template.spec", template.get("spec"), fields.IMMUTABLE, whole=True)


def _has_mutable_template(document: Document) -> bool:
    status = document.get("status") or {}
    stopped = status.get("startTime") is None or has_condition(status, "Suspended")
    return bool(document["spec"].get("suspend")) and stopped and not status.get("active")


def _with_allowed_changes(old: Document, new: Document) -> Document:
    """The old spec of a pod with what a suspended Job may change as it is in the new one."""
    result: Document = copied(old)
    for key in ("nodeSelector", "tolerations", "schedulingGates"):
        copy_field(result, new, key)
    affinity = dict(result.get("affinity") or {})
    copy_field(affinity, new.get("affinity") or {}, "nodeAffinity")
    if affinity or "affinity" in new:
        result["affinity"] = affinity
    else:
        result.pop("affinity", None)
    for key in ("containers", "initContainers"):
        ours, theirs = result.get(key) or [], new.get(key) or []
        if len(ours) == len(theirs):
            for container, other in zip(ours, theirs, strict=True):
                if container.get("name") == other.get("name"):
                    copy_field(container, other, "resources")
    return result
