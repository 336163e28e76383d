"""The specs of Jobs, also in the templates of CronJobs."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.batch.jobpolicies import (
    validate_failure_policy,
    validate_replacement_policy,
    validate_success_policy,
)
from pilotage.kubernetes.core.pods.spec import validate_pod_template
from pilotage.kubernetes.core.pods.warnings import template_warnings
from pilotage.meta.causes import invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, numbers, texts

_MANY_COMPLETIONS = 100_000
_MAX_PARALLELISM = 100_000
_MAX_FAILED = 100_000
_MAX_WITH_MANY = 10_000
_MAX_MANAGER = 63
_MODES = ("NonIndexed", "Indexed")
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def validate_job_spec(spec: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the spec of a Job, besides its selector."""
    yield from numbers.counts(spec, path, _COUNTS)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from fields.given(spec.get("managedBy"), f"{path}.managedBy", _validate_manager)
    mode = spec.get("completionMode")
    yield from fields.optional_choice(mode, f"{path}.completionMode", _MODES)
    if mode == "Indexed":
        yield from _validate_indexed(spec, path)
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
    yield from validate_failure_policy(spec, f"{path}.podFailurePolicy")
    yield from validate_success_policy(spec, f"{path}.successPolicy")
    yield from validate_replacement_policy(spec, f"{path}.podReplacementPolicy")
    yield from validate_pod_template(spec.get("template") or {}, f"{path}.template")
    yield from _validate_restart_policy(spec, f"{path}.template.spec.restartPolicy")


def job_spec_warnings(spec: Document, path: str) -> Iterator[str]:
    """Warnings about numbers that a cluster may not be able to track, and about the template."""
    completions, parallelism = spec.get("completions") or 0, spec.get("parallelism") or 0
    if spec.get("completionMode") == "Indexed" and completions > _MANY_COMPLETIONS and parallelism > _MAX_WITH_MANY:
        yield (
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
            "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    yield from template_warnings(spec.get("template") or {}, f"{path}.template")


def _validate_indexed(spec: Document, path: str) -> Iterator[Cause]:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    parallelism = spec.get("parallelism") or 0
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > _MAX_PARALLELISM:
        detail = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
        yield invalid(f"{path}.parallelism", parallelism, detail)
    if completions is not None and failed is not None and failed > completions:
        yield invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")
    if failed is not None and failed > _MAX_FAILED:
        yield invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MAX_FAILED}")
    if (completions or 0) > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        detail = (
            f"must be less than or equal to {_MAX_WITH_MANY} when completions are above {_MANY_COMPLETIONS} "
            "and used with backoff limit per index"
        )
        if failed is None:
            needed = f"must be specified when completions is above {_MANY_COMPLETIONS}"
            yield required(f"{path}.maxFailedIndexes", needed)
        if parallelism > _MAX_WITH_MANY:
            yield invalid(f"{path}.parallelism", parallelism, detail)
        if failed is not None and failed > _MAX_WITH_MANY:
            yield invalid(f"{path}.maxFailedIndexes", failed, detail)


def _validate_manager(name: str, path: str) -> Iterator[Cause]:
    """The name of a controller: a path with a domain before it."""
    yield from texts.domain_path(name, path)
    yield from texts.length(name, path, _MAX_MANAGER)


def _validate_restart_policy(spec: Document, path: str) -> Iterator[Cause]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
