"""Keeps the status of ValidatingAdmissionPolicies: what type checking finds in their expressions."""

from __future__ import annotations

from pilotage.errors import MissingExtra
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.server import records
from pilotage.server.loops.progress import LogLoop
from pilotage.server.offload import COMPILED, offload
from pilotage.server.resources import ResourceInfo
from pilotage.storage.interface import Entry

POLICIES = GroupVersionResource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
FIELD_MANAGER = "validatingadmissionpolicy-status"
"""The name that kube-controller-manager has for it."""


class PolicyTypeChecker(LogLoop):
    """Checks each generation of a policy once."""

    name = "policies"
    work = "the expressions of an admission policy are being checked"
    collection = f"{POLICIES.group}/{POLICIES.resource}/"

    async def _run(self) -> None:
        try:
            for entry in await self._reader.existing():
                await self._check(entry)
            while True:
                latest = {event.key: event.entry for event in await self._reader.next()}
                for changed in latest.values():
                    if changed is not None:
                        await self._check(changed)
        except MissingExtra:
            while True:  # without CEL policies have no effect, and nothing to check
                await self._reader.next()

    async def _check(self, entry: Entry) -> None:
        policy = records.decode(entry.value)
        generation = policy["metadata"].get("generation") or 0
        if generation <= ((policy.get("status") or {}).get("observedGeneration") or 0):
            return
        from pilotage.server.policies.typechecking import expression_warnings, kinds_of  # with CEL

        spec, catalogue = policy["spec"], self._context.catalogue
        kinds = await kinds_of(spec, catalogue)
        params = await self._params(spec)
        warnings = await offload(len(entry.value) * COMPILED, expression_warnings, spec, kinds, params)
        found = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": generation, "typeChecking": found}
        await self._apply_status(POLICIES, policy, FIELD_MANAGER, status)

    async def _params(self, spec: Document) -> ResourceInfo | None:
        kind = spec.get("paramKind")
        if kind is None:
            return None
        return await self._context.catalogue.of_kind(GroupVersionKind.of(kind["apiVersion"], kind["kind"]))
