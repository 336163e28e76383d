"""The controllers of kube-controller-manager that the server runs itself, and which of them `--controllers` selects."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors import InvalidDefinition

GARBAGE_COLLECTOR = "garbage-collector-controller"
NAMESPACE = "namespace-controller"
SERVICE_ACCOUNT = "serviceaccount-controller"
ROOT_CA = "root-ca-certificate-publisher-controller"
RESOURCE_QUOTA = "resourcequota-controller"
ROLE_AGGREGATION = "clusterrole-aggregation-controller"
POD_GARBAGE_COLLECTOR = "pod-garbage-collector-controller"
POLICY_STATUS = "validatingadmissionpolicy-status-controller"
CLAIM_PROTECTION = "persistentvolumeclaim-protection-controller"
VOLUME_PROTECTION = "persistentvolume-protection-controller"
ATTRIBUTES_PROTECTION = "volumeattributesclass-protection-controller"
SERVICE_CIDR = "service-cidr-controller"

_ALIASES = {
    GARBAGE_COLLECTOR: "garbagecollector",
    NAMESPACE: "namespace",
    SERVICE_ACCOUNT: "serviceaccount",
    ROOT_CA: "root-ca-cert-publisher",
    RESOURCE_QUOTA: "resourcequota",
    ROLE_AGGREGATION: "clusterrole-aggregation",
    POD_GARBAGE_COLLECTOR: "podgc",
    POLICY_STATUS: "",
    CLAIM_PROTECTION: "pvc-protection",
    VOLUME_PROTECTION: "pv-protection",
    ATTRIBUTES_PROTECTION: "",
    SERVICE_CIDR: "",
}
"""The older names, which kube-controller-manager accepts, too."""
_NAMES = {alias: name for name, alias in _ALIASES.items() if alias}

ALL = frozenset(_ALIASES)
"""All of them run by default."""


def selected(controllers: Iterable[str]) -> frozenset[str]:
    """The controllers that run, by kube-controller-manager's flag: `*` selects all, `NAME` one, and `-NAME` not this
    one. Where a name is given twice, the first counts. Raises InvalidDefinition for an unknown name."""
    words = tuple(controllers)
    chosen: dict[str, bool] = {}
    for word in words:
        if word == "*":
            continue
        name = word.removeprefix("-")
        chosen.setdefault(_known(name), name == word)
    return frozenset(name for name in ALL if chosen.get(name, "*" in words))


def _known(name: str) -> str:
    found = _NAMES.get(name, name)
    if found not in ALL:
        known = ", ".join(f"{each} ({alias})" if alias else each for each, alias in sorted(_ALIASES.items()))
        raise InvalidDefinition(f"the server runs no controller {name!r}; give * for all, or of these: {known}")
    return found
