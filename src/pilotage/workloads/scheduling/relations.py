"""The rules about where other Pods are: topology spread, affinity and anti-affinity between Pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from pilotage.meta.selectors.selectors import Selector
from pilotage.workloads.nodes.matching import node_selector_matches, tolerates
from pilotage.workloads.scheduling.filters import FITS
from pilotage.workloads.scheduling.placement import Group, NodeInfo, Placement, PodInfo
from pilotage.workloads.scheduling.requirements import BLOCKING, Spread, Term, Verdict

SKEWED = "node(s) didn't match pod topology spread constraints"
NO_TOPOLOGY = f"{SKEWED} (missing required label)"
NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"
Pair = tuple[str, str]
"""A topology key and its value."""


def matter(pod: PodInfo, placement: Placement) -> bool:
    """Whether other Pods decide where this one may run."""
    return pod.requirements.is_relative or bool(placement.apart)


class Relations:
    """The rules for one Pod, with the places of all others counted once."""

    def __init__(self, pod: PodInfo, placement: Placement) -> None:
        needs = pod.requirements
        self._pod = pod
        self._placement = placement
        self._of_namespace = placement.namespaces.get(pod.namespace, {})
        self._spreads = [(one, *self._domains(one)) for one in needs.spreads]
        self._near = self._pairs(needs.affinity, self._nodes_near(needs.affinity)) if needs.affinity else Counter()
        self._is_first = bool(needs.affinity) and not self._near and all(map(self._selects_itself, needs.affinity))
        self._apart: Counter[Pair] = Counter()
        for term in needs.anti_affinity:
            self._apart.update(self._pairs((term,), self._nodes_with(self._selected_by(term), placement.groups)))
        self._repelled = self._repelled_pairs()

    def verdict(self, node: NodeInfo) -> Verdict:
        """Whether a node is right for the Pod."""
        for spread, counts, least in self._spreads:
            value = node.labels.get(spread.topology_key)
            if value is None:
                return Verdict((NO_TOPOLOGY,), False)
            own = int(spread.selector.matches(self._pod.labels))
            if counts[value] + own - least > spread.max_skew:
                return Verdict((SKEWED,))
        if not self._is_near(node):
            return Verdict((NOT_NEAR,), False)
        if any(
            self._apart[one.topology_key, node.labels.get(one.topology_key, "")]
            for one in self._pod.requirements.anti_affinity
        ):
            return Verdict((NOT_APART,))
        if self._repelled and any(self._repelled[pair] for pair in node.labels.items()):
            return Verdict((REPELLED,))
        return FITS

    def _is_near(self, node: NodeInfo) -> bool:
        terms = self._pod.requirements.affinity
        if any(one.topology_key not in node.labels for one in terms):
            return False
        # The first Pod of several that shall be together may run anywhere.
        return self._is_first or all(self._near[one.topology_key, node.labels[one.topology_key]] for one in terms)

    def _domains(self, spread: Spread) -> tuple[Counter[str], int]:
        """How many selected Pods each domain has, and the least number of all."""
        placement, needs = self._placement, self._pod.requirements
        keys = [one.topology_key for one in needs.spreads]
        on_node = self._nodes_with(self._in_own_namespace(spread.selector), placement.staying)
        counts: Counter[str] = Counter()
        for node in placement.nodes.values():
            if not all(key in node.labels for key in keys):
                continue
            if spread.honors_affinity and not node_selector_matches(needs.spec, node.name, node.labels):
                continue
            if spread.honors_taints and not tolerates(node.taints, needs.spec.tolerations, BLOCKING):
                continue
            counts[node.labels[spread.topology_key]] += on_node[node.name]
        least = min(counts.values(), default=0) if len(counts) >= spread.min_domains else 0
        return counts, least

    def _in_own_namespace(self, selector: Selector) -> Callable[[Group], bool]:
        namespace = self._pod.namespace
        if not selector.requirements:  # an empty selector counts no Pod
            return lambda group: False
        return lambda group: group[0] == namespace and selector.matches(dict(group[1]))

    def _selected_by(self, term: Term) -> Callable[[Group], bool]:
        namespaces = self._placement.namespaces
        return lambda group: term.selects(self._pod.namespace, group[0], dict(group[1]), namespaces.get(group[0], {}))

    def _selects_itself(self, term: Term) -> bool:
        return self._selected_by(term)((self._pod.namespace, tuple(self._pod.labels.items())))

    def _nodes_near(self, terms: Iterable[Term]) -> Counter[str]:
        """The nodes with Pods that all terms of the affinity select."""
        rules = [self._selected_by(term) for term in terms]
        return self._nodes_with(lambda group: all(rule(group) for rule in rules), self._placement.groups)

    def _nodes_with(self, is_selected: Callable[[Group], bool], groups: Mapping[Group, Counter[str]]) -> Counter[str]:
        found: Counter[str] = Counter()
        for group, nodes in groups.items():
            if is_selected(group):
                found.update(nodes)
        return found

    def _pairs(self, terms: Iterable[Term], on_nodes: Mapping[str, int]) -> Counter[Pair]:
        """How many Pods are in each domain of the terms."""
        found: Counter[Pair] = Counter()
        for name, count in on_nodes.items():
            node = self._placement.nodes.get(name)
            for term in terms:
                if node is not None and (value := node.labels.get(term.topology_key)) is not None:
                    found[term.topology_key, value] += count
        return found

    def _repelled_pairs(self) -> Counter[Pair]:
        """The domains whose Pods do not want this one near them."""
        found: Counter[Pair] = Counter()
        for (namespace, needs), nodes in self._placement.apart.items():
            for term in needs.anti_affinity:
                if term.selects(namespace, self._pod.namespace, self._pod.labels, self._of_namespace):
                    found.update(self._pairs((term,), nodes))
        return found
