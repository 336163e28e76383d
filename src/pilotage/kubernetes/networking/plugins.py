"""The plugin about the default class of ingresses."""

from __future__ import annotations

from pilotage.kubernetes.defaultclasses import default_class
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, annotations_of, section

_INGRESS_CLASSES = "networking.k8s.io/ingressclasses/"


class DefaultIngressClass(Plugin):
    """An Ingress without a class has the default one."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        spec = section(attributes.new, "spec")
        if "ingressClassName" in spec or "kubernetes.io/ingress.class" in annotations_of(attributes.new):
            return
        if name := await default_class(self.context, _INGRESS_CLASSES, "ingressclass.kubernetes.io/is-default-class"):
            spec["ingressClassName"] = name
