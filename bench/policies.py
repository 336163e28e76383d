"""Admission policies: an expression that is made to be expensive, and what usual policies add to a write."""

from __future__ import annotations

import asyncio
import resource
import time
from contextlib import nullcontext, suppress
from typing import Any

import pilotage as pt
from hack.schema.random_expressions import measured
from pilotage.errors import Invalid
from pilotage.meta.unstructured import Unstructured
from pilotage.types.core.v1 import ConfigMap

MOST_SECONDS, MOST_MEBIBYTES = 0.25, 64.0
_TICK = 100_000.0
"""Nanoseconds of the measurement itself."""
ROUNDS, POLICIES = 400, 10
HOSTILE = "lists.range(10000).map(x, lists.range(10000)).size() > 0"
USUAL = (
    "size(object.data) < 100",
    "object.metadata.name.matches('^[a-z0-9-]+$')",
    "object.data.all(key, size(object.data[key]) < 1000 && !(key in ['password', 'token']))",
)
DATA = {f"key-{number}": "value" * 4 for number in range(20)}


async def measure_policies() -> None:
    """Print both. Raises SystemExit if the expensive one takes too much time or memory."""
    async with pt.Cluster.embedded("memory:") as cluster:
        await _create(cluster.client, "hostile", HOSTILE, value="hostile")
        for number in range(POLICIES):
            await _create(cluster.client, f"usual-{number}", *USUAL, value="usual")
        await _write(cluster.client, "first", "usual")
        seconds = min([await _write(cluster.client, f"usual-{number}", "usual") for number in range(ROUNDS)])
        plain = min([await _write(cluster.client, f"plain-{number}", "none") for number in range(ROUNDS)])
        print(f"  {'a create without policies':<46} {plain * 1e6:>9.0f} µs")
        print(f"  {f'a create with {POLICIES} policies of {len(USUAL)} expressions':<46} {seconds * 1e6:>9.0f} µs")
        before = _memory()
        seconds = await _write(cluster.client, "hostile", "hostile")
        memory = _memory() - before
    print(f"  {'an expensive policy':<46} {seconds * 1e3:>9.1f} ms CPU {memory:>6.1f} MiB")
    ratio = max(each.nanoseconds / (each.bound + _TICK) for seed in range(10) for each in measured(seed, 100))
    print(f"  {'random expressions: the most of a bound':<46} {ratio * 100:>9.0f} %")
    if ratio > 1:
        raise SystemExit("a random expression took longer than the bound that was computed before it ran")
    if seconds > MOST_SECONDS or memory > MOST_MEBIBYTES:
        raise SystemExit(f"a policy took longer than {MOST_SECONDS} s, or more than {MOST_MEBIBYTES} MiB")


async def _create(client: pt.Client, name: str, *expressions: str, value: str) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    constraints = {"resourceRules": [rule], "objectSelector": {"matchLabels": {"policies": value}}}
    validations = [{"expression": text} for text in expressions]
    spec: dict[str, Any] = {"matchConstraints": constraints, "validations": validations}
    for kind, each in (
        ("ValidatingAdmissionPolicy", spec),
        ("ValidatingAdmissionPolicyBinding", {"policyName": name, "validationActions": ["Deny"]}),
    ):
        document = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
        await client.create(Unstructured({**document, "spec": each}))


async def _write(client: pt.Client, name: str, value: str) -> float:
    """The seconds of CPU of one create, refused or not."""
    metadata = pt.ObjectMeta(name=name, namespace="default", labels={"policies": value})
    begin = time.process_time()
    with suppress(Invalid) if name == "hostile" else nullcontext():
        await client.create(ConfigMap(metadata=metadata, data=DATA))
    return time.process_time() - begin


def _memory() -> float:
    """The most memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    asyncio.run(measure_policies())
