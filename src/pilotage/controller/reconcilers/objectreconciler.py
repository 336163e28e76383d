"""A reconciler of objects: receives the object itself, and is not called for one that does not exist."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pilotage.client.reader import Reader
from pilotage.controller.reconcilers.reconciler import Outcome
from pilotage.controller.reconcilers.signature import check_signature
from pilotage.controller.request import Request
from pilotage.meta.models import Resource

R = TypeVar("R", bound=Resource)


def as_reconciler(
    client: Reader, kind: type[R], reconcile: Callable[[R], Awaitable[Outcome]]
) -> Callable[[Request[R]], Awaitable[Outcome]]:
    """A reconciler from a function of the object."""
    check_signature(reconcile, reconcile, f"obj: {kind.__name__}")

    async def reconcile_request(request: Request[R]) -> Outcome:
        found = await client.find(kind, request.name, namespace=request.namespace)
        return await reconcile(found) if found is not None else None

    return reconcile_request
