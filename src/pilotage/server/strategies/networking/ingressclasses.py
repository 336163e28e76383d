"""IngressClasses."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, not_supported, required, too_long
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, path_segment_name
from pilotage.server.strategies.checks.fields import validate_given, validate_immutable
from pilotage.server.strategies.checks.texts import validate_domain_path, validate_required_text, validate_text
from pilotage.server.strategies.strategy import Strategy

_MAX_CONTROLLER = 250
_SCOPES = ("Cluster", "Namespace")


class IngressClassStrategy(Strategy):
    """Ingress classes name a controller, which they keep, and may refer to its parameters."""

    def default(self, document: Document) -> None:
        parameters = document["spec"].get("parameters")
        if parameters is not None:
            parameters.setdefault("scope", "Cluster")

    def validate(self, document: Document) -> list[Cause]:
        spec = document["spec"]
        controller = spec.get("controller", "")
        found: list[Cause] = []
        if len(controller.encode()) > _MAX_CONTROLLER:
            found.append(too_long("spec.controller", _MAX_CONTROLLER))
        found += validate_domain_path(controller, "spec.controller")
        parameters = spec.get("parameters")
        return found if parameters is None else found + list(_validate_parameters(parameters, "spec.parameters"))

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        new, was = document["spec"].get("controller"), old.get("spec", {}).get("controller")
        return [*validate_immutable(new, was, "spec.controller"), *self.validate(document)]


def _validate_parameters(parameters: Document, path: str) -> Iterator[Cause]:
    yield from validate_given(parameters.get("apiGroup"), f"{path}.apiGroup", validate_text)
    yield from validate_required_text(parameters.get("kind"), f"{path}.kind", path_segment_name)
    yield from validate_required_text(parameters.get("name"), f"{path}.name", path_segment_name)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope or "", _SCOPES)
    elif scope == "Cluster":
        if namespace is not None:
            yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    else:
        yield from validate_text(namespace, f"{path}.namespace", dns_1123_label)
