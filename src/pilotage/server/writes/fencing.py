"""Commits the operations of a request: a leader's operations only while its term as the holder of a Lease lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

import msgspec

from pilotage.errors import Cause, Forbidden, RevisionConflict
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.fence import Fence, LeaderTerm, check_all
from pilotage.server.context import RegistryContext
from pilotage.storage.interface import Check, Operation

STALE_LEADER = "StaleLeader"
"""The reason in the details of a refusal."""
_LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")


class _Spec(msgspec.Struct, rename="camel", gc=False):
    holder_identity: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, gc=False):
    spec: _Spec | None = None


_LEASE = msgspec.json.Decoder(_Lease)


def commit(context: RegistryContext, fences: Sequence[Fence], *operations: Operation) -> Awaitable[int]:
    """Commit the operations of a request, in one transaction with the checks of its `fences`.

    Raises Forbidden if a term has ended, and RevisionConflict as the storage does.
    """
    return _commit_fenced(context, fences, operations) if fences else context.commit(*operations)


async def _commit_fenced(context: RegistryContext, fences: Sequence[Fence], operations: tuple[Operation, ...]) -> int:
    written = {operation.key for operation in operations}
    while True:
        conditions = [await _unchanged(context, fence.term) for fence in fences if fence.term is not None]
        # A request that writes the lease itself has its own condition on it.
        checks = {check.key: check for check in conditions if check.key not in written}
        check_all(fences)
        try:
            return await context.commit(*operations, *checks.values())
        except RevisionConflict as conflict:
            if conflict.key not in checks:
                raise
            # The lease was renewed or taken over meanwhile: read it again.


async def _unchanged(context: RegistryContext, term: LeaderTerm) -> Check:
    """The condition that the lease has not changed since the term was found valid. Raises Forbidden."""
    leases = await context.catalogue.find(_LEASES)
    key = context.key(leases, term.namespace, term.name)
    entry = await context.storage.get(key)
    if entry is not None:
        spec = _LEASE.decode(entry.value).spec or _Spec()
        if spec.holder_identity == term.holder and (spec.lease_transitions or 0) == term.transitions:
            return Check(key, entry.revision)
    message = f"the request was sent under {term}, which has ended; nothing was written"
    raise Forbidden(message, details=leases.details(term.name).replace(causes=(Cause(STALE_LEADER, message),)))
