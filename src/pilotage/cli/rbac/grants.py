"""What a program must be allowed to do, each permission with its reason: from what it declares and what it calls."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pilotage.cli.rbac.calls import READ, APICall, APICalls
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource
from pilotage.rest.permission import Permission

if TYPE_CHECKING:
    from pilotage.cli.program.declarations import Declarations
    from pilotage.webhook.registration import Registrable

COORDINATION = "coordination.k8s.io"
EXTENSIONS = "apiextensions.k8s.io"
DEFINITIONS = "customresourcedefinitions"
MANAGER, LEADER_ELECTION, WEBHOOK = "manager", "leader-election", "webhook"
"""The roles of a program."""


class PermissionScope(enum.Enum):
    """Where a permission holds."""

    CLUSTER = "cluster"
    """Of a kind without namespaces."""
    WATCHED = "watched"
    """In the namespaces that the program works in."""
    OWN = "own"
    """In the namespace that the program runs in."""


@dataclass(frozen=True, slots=True)
class RequiredPermission:
    """A permission, why it is needed, and the line of the program that needs it."""

    permission: Permission
    scope: PermissionScope
    reason: str
    place: str = ""
    cluster: str = ""
    """A further cluster of the manager; empty: its own."""
    role: str = MANAGER
    """The end of the name of its role."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What the permissions depend on besides the program: how it is run."""

    name: str
    """The prefix of names of objects."""
    namespace: str
    """Where it runs."""
    namespaces: tuple[str, ...] = ()
    """The namespaces that it works in; empty: all."""
    leader_election: bool = True
    lease: str = ""
    """The name of the Lease; by default the one that `pilotage run` is given in the manifests."""
    webhook_secret: str = ""
    """The Secret of the certificate of the webhooks; empty: the Secret in the options of the program."""
    registers_webhooks: bool = False
    """Whether the program writes its webhook configurations, or injects only the bundle."""

    @property
    def lease_name(self) -> str:
        return self.lease or f"{self.name}-leader"


class Resources:
    """Where kinds are served: by their class, by the classes of the program, by the built-in kinds."""

    def __init__(self, kinds: Iterable[type[Resource]]) -> None:
        self._kinds = {kind.__resource__.gvk.group_kind: kind for kind in kinds}
        self.guessed: dict[GroupVersionKind, str] = {}
        """Kinds that are not known, and the name of the resource that was guessed."""

    def of(self, kind: Kind) -> tuple[str, str, PermissionScope]:
        """The group, the plural name and the scope of a kind."""
        from pilotage.types import builtin

        gvk = gvk_of(kind)
        known = kind if isinstance(kind, type) else self._kinds.get(gvk.group_kind) or builtin.type_for(gvk)
        if known is None:
            plural = self.guessed[gvk] = _guessed_plural(gvk.kind)
            return gvk.group, plural, PermissionScope.WATCHED
        info = known.__resource__
        return gvk.group, info.plural, PermissionScope.WATCHED if info.namespaced else PermissionScope.CLUSTER


def grants(
    declared: Declarations, calls: APICalls, installation: Installation, resources: Resources
) -> list[RequiredPermission]:
    """All permissions that a program needs, in the order of their reasons."""
    found = [
        *_of_watches(declared, resources),
        *_of_calls(calls, resources),
        *_of_events(declared, calls),
        *_of_leases(calls, installation),
        *_of_webhooks(declared, installation),
        *_of_options(declared),
    ]
    return [grant for grant in found if grant.permission.group not in declared.aggregated_groups]


def _of_watches(declared: Declarations, resources: Resources) -> Iterator[RequiredPermission]:
    owners = {each.controller: each.kind for each in declared.watches if each.relation == "for"}
    for watch in declared.watches:
        group, plural, scope = resources.of(watch.kind)
        method = "for_" if watch.relation == "for" else watch.relation
        reason = f"{method}({gvk_of(watch.kind).kind})"
        yield from _required(group, plural, READ, scope, reason, watch.place, cluster=watch.cluster)
        owner = owners.get(watch.controller)
        if watch.relation == "owns" and owner is not None:
            group, plural, scope = resources.of(owner)
            reason = f"{reason}: owner references that block deletion"
            yield from _required(group, f"{plural}/finalizers", ("update",), scope, reason, watch.place)


def _of_calls(calls: APICalls, resources: Resources) -> Iterator[RequiredPermission]:
    for call in calls.calls:
        yield from _of_call(call, call.verbs, call.subresource, resources)
    for call in calls.definitions:
        yield from _of_definition(call, resources, ("get", "update"))
        yield from _required(EXTENSIONS, DEFINITIONS, ("create",), PermissionScope.CLUSTER, call.text, call.place)
        yield from _of_call(call, ("get",), "", resources)
    for call in calls.migrations:
        yield from _of_definition(call, resources, ("get",))
        yield from _of_definition(call, resources, ("patch",), "/status")
        yield from _of_call(call, ("list", "update"), "", resources)


def _of_call(
    call: APICall, verbs: Iterable[str], subresource: str, resources: Resources
) -> Iterator[RequiredPermission]:
    group, plural, scope = resources.of(call.kind)
    yield from _required(group, f"{plural}/{subresource}".rstrip("/"), verbs, scope, call.text, call.place)


def _of_definition(
    call: APICall, resources: Resources, verbs: Iterable[str], subresource: str = ""
) -> Iterator[RequiredPermission]:
    group, plural, _ = resources.of(call.kind)
    resource, name = f"{DEFINITIONS}{subresource}", f"{plural}.{group}"
    yield from _required(EXTENSIONS, resource, verbs, PermissionScope.CLUSTER, call.text, call.place, name)


def _of_events(declared: Declarations, calls: APICalls) -> Iterator[RequiredPermission]:
    found = [(each.api_version, each.place) for each in declared.recorders]
    known = {place for _, place in found}
    found += [(version, place) for version, place in calls.recorders if place not in known]
    for version, place in found:
        group, verbs = version.rpartition("/")[0], ("create", "patch")
        yield from _required(group, "events", verbs, PermissionScope.WATCHED, "event_recorder_for(…)", place)


def lease_grants(name: str, reason: str = "leader election", place: str = "") -> Iterator[RequiredPermission]:
    """What an election by a Lease needs."""
    for verbs, named in ((("create",), ""), (("get", "watch", "update"), name)):
        yield from _required(
            COORDINATION, "leases", verbs, PermissionScope.OWN, reason, place, named, role=LEADER_ELECTION
        )


def _of_leases(calls: APICalls, installation: Installation) -> Iterator[RequiredPermission]:
    if installation.leader_election:
        yield from lease_grants(installation.lease_name)
    for name, place in calls.leases:
        yield from lease_grants(name, "run_while_leading(…)", place)


def _of_webhooks(declared: Declarations, installation: Installation) -> Iterator[RequiredPermission]:
    options = declared.webhook_options
    if options is None:
        return
    manages = options.certificates is None
    if manages:
        for verbs, name in ((("create",), ""), (("get", "update"), installation.webhook_secret or options.secret_name)):
            reason = "the certificate of webhooks"
            yield from _required("", "secrets", verbs, PermissionScope.OWN, reason, name=name, role=WEBHOOK)
    for webhook in declared.webhooks:
        yield from _of_configuration(webhook, installation, manages)


def _of_configuration(webhook: Registrable, installation: Installation, manages: bool) -> Iterator[RequiredPermission]:
    """What is needed to register a webhook, or to inject the bundle of a certificate that the program manages."""
    resource, injection = f"{webhook.kind.kind.lower()}s", ("get", "patch") if manages else ()
    needed = {webhook.name: ("get", "create", "patch") if installation.registers_webhooks else injection}
    if installation.registers_webhooks and resource != DEFINITIONS:  # a configuration that `webhook/probe.py` writes
        needed[f"probe.{webhook.name}"] = ("create", "patch", "delete")
    for name, verbs in needed.items():
        yield from _required(
            webhook.kind.group, resource, verbs, PermissionScope.CLUSTER, "webhooks", name=name, role=WEBHOOK
        )


def _of_options(declared: Declarations) -> Iterator[RequiredPermission]:
    options = declared.options
    if options is None:
        return
    own, cluster, role = PermissionScope.OWN, PermissionScope.CLUSTER, LEADER_ELECTION
    writes = ("create", "update", "delete")
    if options.shards:
        yield from _required(COORDINATION, "leases", ("get", "list", *writes), own, "shards", role=role)
    if options.leader_election and options.leader_election_candidate is not None:
        verbs, reason = ("get", "watch", *writes), "leader_election_candidate"
        yield from _required(COORDINATION, "leasecandidates", verbs, own, reason, role=role)
    if options.namespace_selector is not None:
        yield from _required("", "namespaces", ("list", "watch"), cluster, "namespace_selector")
    if options.metrics_filter is not None:
        yield from _required("authentication.k8s.io", "tokenreviews", ("create",), cluster, "metrics_filter")
        yield from _required("authorization.k8s.io", "subjectaccessreviews", ("create",), cluster, "metrics_filter")


def _required(
    group: str,
    resource: str,
    verbs: Iterable[str],
    scope: PermissionScope,
    reason: str,
    place: str = "",
    name: str = "",
    **more: str,
) -> Iterator[RequiredPermission]:
    """What some verbs need, on a resource or on the object of it with a name."""
    for verb in verbs:
        yield RequiredPermission(Permission(group, resource, verb, name), scope, reason, place, **more)


def _guessed_plural(kind: str) -> str:
    """The usual plural, as kubectl guesses it."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
