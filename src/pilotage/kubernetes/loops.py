"""The background loops of the kinds of Kubernetes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pilotage.kubernetes.admissionregistration.typechecking import PolicyTypeChecker
from pilotage.kubernetes.core.loops.contents import ContentsCreator
from pilotage.kubernetes.core.loops.events import expire_events
from pilotage.kubernetes.core.loops.pods import PodRemover
from pilotage.kubernetes.core.loops.protection import Protector
from pilotage.kubernetes.core.loops.quotas import QuotaCounter
from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.kubernetes.flowcontrol.dangling import FlowSchemaChecker
from pilotage.kubernetes.rbac.aggregation import aggregate_roles
from pilotage.server import controllers
from pilotage.server.context import RegistryContext
from pilotage.server.kinds import Loops
from pilotage.server.loops.progress import LogLoop, Note


def loops(context: RegistryContext, note: Note) -> Loops:
    """The loops of a server: some work only where there are the objects of a cluster."""
    logs: list[LogLoop] = [Protector(context, note)]
    by_controller: dict[str, Callable[[RegistryContext, Note], LogLoop]] = {
        controllers.POD_GARBAGE_COLLECTOR: PodRemover
    }
    if isinstance(context.contents, NamespaceContents):
        logs += [ContentsCreator(context, note, context.contents), FlowSchemaChecker(context, note)]
        by_controller |= {controllers.RESOURCE_QUOTA: QuotaCounter, controllers.POLICY_STATUS: PolicyTypeChecker}
    logs += [made(context, note) for name, made in by_controller.items() if name in context.controllers]
    others: dict[str, Callable[[], Awaitable[None]]] = {}
    if controllers.ROLE_AGGREGATION in context.controllers:
        others["roles"] = lambda: aggregate_roles(context)
    if not context.storage.expires:
        others["events"] = lambda: expire_events(context)
    return Loops(logs, others)
