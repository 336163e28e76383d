"""The defaults of Jobs and CronJobs."""

from __future__ import annotations

from pilotage.codec.defaults.fields import default_empty, default_template_metadata
from pilotage.codec.defaults.pods import default_pod_template
from pilotage.meta.documents import Document

_MAX_INT32 = 2**31 - 1


def default_job(document: Document) -> None:
    """Fill in the defaults of a Job, in place. Without labels it gets the labels of its pods."""
    spec = document.setdefault("spec", {})
    _default_spec(spec)
    _default_counts(spec)
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if labels and not document["metadata"].get("labels"):
        document["metadata"]["labels"] = labels  # the same mapping: a label that is added is in both


def default_cron_job(document: Document) -> None:
    """Fill in the defaults of a CronJob, in place. Its template does not get the counts and modes of a Job."""
    spec = document.setdefault("spec", {})
    template = spec.setdefault("jobTemplate", {})
    default_template_metadata(template.get("metadata") or {})
    _default_spec(template.setdefault("spec", {}))
    default_empty(spec, "concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


def _default_spec(spec: Document) -> None:
    default_pod_template(spec.setdefault("template", {}))
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            default_empty(pattern, "status", "True")


def _default_counts(spec: Document) -> None:
    if spec.get("parallelism") is None:
        if spec.get("completions") is None:
            spec["completions"] = 1
        spec["parallelism"] = 1
    per_index = spec.get("backoffLimitPerIndex") is not None
    spec.setdefault("backoffLimit", _MAX_INT32 if per_index else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    failed = spec.get("podFailurePolicy") is not None
    spec.setdefault("podReplacementPolicy", "Failed" if failed else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
