"""Policies and bindings for tests, limited to the namespace of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pilotage.errors import ApiError
from pilotage.meta.unstructured import Unstructured

from ...environments import WITHIN, Environment

API_VERSION = "admissionregistration.k8s.io/v1"
PROBE = "probe"


class Policies:
    """Creates policies of one kind, and waits until the API server evaluates them."""

    def __init__(self, environment: Environment, kind: str) -> None:
        self._world = environment
        self._kind = kind
        self._constraints = {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": environment.namespace}}
        }

    async def create(
        self,
        name: str,
        spec: dict[str, Any],
        binding: dict[str, Any] | None = None,
        resources: Sequence[str] = ("configmaps",),
        operations: Sequence[str] = ("CREATE", "UPDATE"),
    ) -> None:
        rule = {"apiGroups": ["", "apps"], "apiVersions": ["v1"], "resources": list(resources)}
        constraints = {**self._constraints, "resourceRules": [{**rule, "operations": list(operations)}]}
        full = self.name(name)
        policy = {"failurePolicy": "Fail", "matchConstraints": constraints, **spec}
        await self._create(self._kind, full, policy)
        await self._create(f"{self._kind}Binding", full, {"policyName": full, **(binding or {})})

    def name(self, name: str) -> str:
        return f"{name}-{self._world.namespace}"

    async def active(self) -> None:
        """Wait until the last of the policies refuses an object with the name of the probe."""
        async with asyncio.timeout(WITHIN):
            while await refusal(self._world, PROBE, dry_run=True) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # the real server reads policies from its cache

    async def _create(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        document = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        await self._world.client.create(Unstructured(document))


async def create(
    environment: Environment, name: str, data: dict[str, str] | None = None, *, dry_run: bool = False
) -> Unstructured:
    """Create a ConfigMap."""
    metadata = {"name": name, "namespace": environment.namespace}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"k": "v"}}
    return await environment.client.create(Unstructured(document), dry_run=dry_run)


async def refusal(
    environment: Environment, name: str, data: dict[str, str] | None = None, *, dry_run: bool = False
) -> ApiError | None:
    """The error of a create; None if it was accepted."""
    try:
        await create(environment, name, data, dry_run=dry_run)
    except ApiError as error:
        return error
    return None


async def accepted(environment: Environment, name: str, data: dict[str, str]) -> None:
    """Wait until a ConfigMap can be created."""
    async with asyncio.timeout(WITHIN):
        while await refusal(environment, name, data, dry_run=True) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
