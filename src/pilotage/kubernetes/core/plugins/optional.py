"""Small plugins that are off by default."""

from __future__ import annotations

from pilotage.codec.defaults.containers import containers
from pilotage.kubernetes.checks import resourcenames
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, forbidden, section

_HOSTNAME = "kubernetes.io/hostname"


class AlwaysDeny(Plugin):
    """Refuses every write."""

    async def validate(self, attributes: Attributes) -> None:
        raise forbidden(attributes, "admission control is denying all modifications")


class DenyServiceExternalIPs(Plugin):
    """A Service gets no new external IPs."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.new is None:
            return
        wanted = section(attributes.new, "spec").get("externalIPs") or ()
        known = (((attributes.old or {}).get("spec")) or {}).get("externalIPs") or ()
        if not set(wanted) <= set(known):
            raise forbidden(attributes, "Use of external IPs is denied by admission control")


class ExtendedResourceToleration(Plugin):
    """A Pod that requests an extended resource tolerates the taint of nodes that have it."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is Operation.DELETE:
            return
        spec = section(attributes.new, "spec")
        names: set[str] = set()
        for container in containers(spec, ("containers", "initContainers")):
            requests = (container.get("resources") or {}).get("requests") or {}
            names.update(name for name in requests if not resourcenames.is_native(name))
        tolerations = list(spec.get("tolerations") or ())
        for name in sorted(names):
            toleration = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
            if toleration not in tolerations:
                tolerations.append(toleration)
        if tolerations:
            spec["tolerations"] = tolerations


class LimitPodHardAntiAffinityTopology(Plugin):
    """A Pod may be kept apart from others by node only."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.new is None:
            return
        rules = (section(attributes.new, "spec").get("affinity") or {}).get("podAntiAffinity") or {}
        for term in rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey", "")
            if key != _HOSTNAME:
                where = "affinity.PodAntiAffinity.RequiredDuringScheduling"
                raise forbidden(attributes, f"{where} has TopologyKey {key} but only key {_HOSTNAME} is allowed")
