"""What a Pod asks of its node, read once for all Pods of one template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.documents import Document
from pilotage.meta.forms import reader_of
from pilotage.meta.selectors.selectors import Requirement, Selector
from pilotage.types.core.v1 import Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint
from pilotage.workloads.nodes.matching import NO_EXECUTE, NO_SCHEDULE
from pilotage.workloads.scheduling.amounts import amounts_of, scored

_MOST_SHAPES = 2000
BLOCKING = (NO_SCHEDULE, NO_EXECUTE)
_NOTHING = msgspec.Raw(b"")
Port = tuple[str, str, int]
"""Address, protocol and number of a port of the host."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A constraint of topology spread that must be met."""

    topology_key: str
    max_skew: int
    min_domains: int
    selector: Selector
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A required term of the affinity to Pods, or of the anti-affinity."""

    topology_key: str
    selector: Selector | None
    """None selects no Pod."""
    namespaces: frozenset[str]
    """Empty together with `namespace_selector`: the namespace of the Pod that has the term."""
    namespace_selector: Selector | None

    def selects(self, owner: str, namespace: str, labels: Mapping[str, str], of_namespace: Mapping[str, str]) -> bool:
        """Whether the term of a Pod in the namespace `owner` selects a Pod with these labels in `namespace`."""
        if self.selector is None or not self.selector.matches(labels):
            return False
        if self.namespace_selector is None:
            return namespace in (self.namespaces or (owner,))
        return namespace in self.namespaces or self.namespace_selector.matches(of_namespace)


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """Whether a node fits."""

    reasons: tuple[str, ...] = ()
    """Why not; empty if it does."""
    is_resolvable: bool = True
    """Whether it could fit without some of its Pods."""


class Assessment(msgspec.Struct, frozen=True, gc=False):
    """How a node in one state fits the Pods of one template, as far as the Pods elsewhere do not matter."""

    version: int
    verdict: Verdict
    fixed: tuple[int, int]
    """What its labels and taints count for in its score: weights of preferences, and taints that are not tolerated."""
    score: int
    """What its free resources count for."""


@dataclass(frozen=True, slots=True, eq=False)
class Requirements:
    """What the Pods of one template ask of a node. Compared by identity: equal Pods share one."""

    amounts: dict[str, int]
    """Requested resources: `cpu` in thousandths, others in whole units."""
    scored: tuple[int, int]
    """Cpu and memory for the score of a node, where a container has defaults."""
    ports: frozenset[Port]
    spec: PodSpec
    priority: int
    can_preempt: bool
    spreads: tuple[Spread, ...]
    affinity: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    only_nodes: frozenset[str] | None
    """The nodes that its affinity names, as a DaemonSet's does; None: any."""
    assessments: dict[str, Assessment] = field(default_factory=dict)
    """How each node fits, as `filters` found."""

    @property
    def is_relative(self) -> bool:
        """Whether other Pods decide where the Pod may run."""
        return bool(self.spreads or self.affinity or self.anti_affinity)


class _Part(msgspec.Struct, rename="camel", gc=False):
    pass


class _Container(_Part):
    resources: msgspec.Raw = _NOTHING
    ports: msgspec.Raw = _NOTHING
    restart_policy: str = ""


class _Claim(_Part):
    claim_name: str = ""


class _Volume(_Part):
    name: str = ""
    persistent_volume_claim: _Claim | None = None
    ephemeral: msgspec.Raw = _NOTHING


class _Spec(_Part):
    scheduler_name: str = ""
    scheduling_gates: msgspec.Raw = _NOTHING
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    volumes: list[_Volume] = []
    priority: int = 0
    resources: msgspec.Raw = _NOTHING
    overhead: msgspec.Raw = _NOTHING
    node_selector: msgspec.Raw = _NOTHING
    affinity: msgspec.Raw = _NOTHING
    tolerations: msgspec.Raw = _NOTHING
    topology_spread_constraints: msgspec.Raw = _NOTHING
    preemption_policy: str = ""


class _Pod(_Part):
    spec: _Spec


class _Document(_Part):
    spec: Document


_POD = msgspec.json.Decoder(_Pod)
_DOCUMENT = msgspec.json.Decoder(_Document)


class Ask(msgspec.Struct, frozen=True, gc=False):
    """What one Pod asks for, beyond what it shares with the Pods of its template."""

    requirements: Requirements
    scheduler: str
    is_gated: bool
    claims: tuple[str, ...]
    """The names of its PersistentVolumeClaims."""
    ephemeral_claims: tuple[str, ...]
    """Those of them that a controller makes for the Pod."""


class Templates:
    """The requirements of Pods, shared by all that ask for the same."""

    def __init__(self) -> None:
        self._known: Recent[tuple[object, ...], Requirements] = Recent(_MOST_SHAPES)

    def ask(self, name: str, labels: Mapping[str, str], data: bytes) -> Ask:
        """What a Pod in its JSON form asks for."""
        spec = _POD.decode(data).spec
        key = _key(spec, labels)
        found = self._known.get(key)
        if found is None:
            self._known[key] = found = requirements_of(data, labels)
        claims: tuple[str, ...] = ()
        ephemeral: tuple[str, ...] = ()
        for volume in spec.volumes:
            if volume.persistent_volume_claim is not None:
                claims += (volume.persistent_volume_claim.claim_name,)
            elif bytes(volume.ephemeral) not in (b"", b"null"):
                ephemeral += (f"{name}-{volume.name}",)
        gates = bytes(spec.scheduling_gates)
        return Ask(found, spec.scheduler_name, gates not in (b"", b"[]", b"null"), claims + ephemeral, ephemeral)


def _key(spec: _Spec, labels: Mapping[str, str]) -> tuple[object, ...]:
    spreads = bytes(spec.topology_spread_constraints)
    return (
        *[(bytes(one.resources), bytes(one.ports)) for one in spec.containers],
        None,
        *[(bytes(one.resources), bytes(one.ports), one.restart_policy) for one in spec.init_containers],
        spec.priority,
        bytes(spec.resources),
        bytes(spec.overhead),
        bytes(spec.node_selector),
        bytes(spec.affinity),
        bytes(spec.tolerations),
        spreads,
        tuple(labels.items()) if b"matchLabelKeys" in spreads else (),
        spec.preemption_policy,
    )


def requirements_of(data: bytes, labels: Mapping[str, str]) -> Requirements:
    """The requirements of a Pod in its JSON form."""
    document = _DOCUMENT.decode(data).spec
    spec = reader_of(Pod)(data).spec
    affinity = spec.affinity
    near = affinity.pod_affinity if affinity is not None else None
    apart = affinity.pod_anti_affinity if affinity is not None else None
    return Requirements(
        amounts_of(document),
        scored(document),
        frozenset(_host_ports(spec)),
        spec,
        spec.priority or 0,
        spec.preemption_policy != "Never",
        tuple(_spread(one, labels) for one in spec.topology_spread_constraints if one.when_unsatisfiable != _ANYWAY),
        tuple(_term(one) for one in near.required_during_scheduling_ignored_during_execution) if near else (),
        tuple(_term(one) for one in apart.required_during_scheduling_ignored_during_execution) if apart else (),
        _only_nodes(spec),
    )


_ANYWAY = "ScheduleAnyway"


def _host_ports(spec: PodSpec) -> list[Port]:
    sidecars = [one for one in spec.init_containers if one.restart_policy == "Always"]
    return [
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104 - what the API calls any address
        for container in [*spec.containers, *sidecars]
        for port in container.ports
        if port.host_port
    ]


def _spread(given: TopologySpreadConstraint, labels: Mapping[str, str]) -> Spread:
    selector = Selector.from_label_selector(given.label_selector) if given.label_selector is not None else _NO_PODS
    own = tuple(Requirement(key, "=", (labels[key],)) for key in given.match_label_keys if key in labels)
    return Spread(
        given.topology_key,
        given.max_skew,
        given.min_domains or 1,
        Selector((*selector.requirements, *own)),
        given.node_affinity_policy != "Ignore",
        given.node_taints_policy == "Honor",
    )


_NO_PODS = Selector((Requirement("none", "exists"), Requirement("none", "!")))


def _term(given: PodAffinityTerm) -> Term:
    chosen = given.label_selector
    return Term(
        given.topology_key,
        Selector.from_label_selector(chosen) if chosen is not None else None,
        frozenset(given.namespaces),
        Selector.from_label_selector(given.namespace_selector) if given.namespace_selector is not None else None,
    )


def _only_nodes(spec: PodSpec) -> frozenset[str] | None:
    """The names of nodes that every term of the required affinity has."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    if required is None or not required.node_selector_terms:
        return None
    names: set[str] = set()
    for term in required.node_selector_terms:
        named: set[str] | None = None
        for one in term.match_fields:
            if one.key == "metadata.name" and one.operator == "In":
                named = set(one.values) if named is None else named & set(one.values)
        if named is None:
            return None
        names |= named
    return frozenset(names)
