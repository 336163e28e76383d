"""What the manifests of a program are made of: its names, its image, its flags, and what it declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.webhook.addresses import DEFAULT_SERVICE

if TYPE_CHECKING:
    from pilotage.cli.program.declarations import Declarations
    from pilotage.cli.rbac.grants import Installation, RequiredPermission

METRICS_PORT, HEALTH_PORT, WEBHOOK_PORT = 8080, 8081, 9443
COMPONENT = "manager"
CERTIFICATES = "/certificates"
"""Where the certificate of cert-manager is mounted."""
EXISTING_NAMESPACES = ("default", "kube-system")
"""Namespaces of every cluster, which are not generated."""


@dataclass(frozen=True, slots=True)
class InstallationSettings:
    """One installation of a program."""

    installation: Installation
    """Its names, namespaces and leases."""
    image: str
    """The container image."""
    target: str
    """The argument of `pilotage run`."""
    declared: Declarations
    """What the program declares."""
    grants: tuple[RequiredPermission, ...] = field(repr=False)
    """What it must be allowed to do."""
    definitions: tuple[Document, ...] = field(default=(), repr=False)
    """The CRDs."""

    @property
    def name(self) -> str:
        return self.installation.name

    @property
    def namespace(self) -> str:
        return self.installation.namespace

    @property
    def labels(self) -> Mapping[str, str]:
        """Of all objects."""
        return {"app.kubernetes.io/name": self.name}

    @property
    def selector(self) -> Mapping[str, str]:
        """The labels of the Pods."""
        return {**self.labels, "app.kubernetes.io/component": COMPONENT}

    @property
    def has_webhooks(self) -> bool:
        return self.declared.webhook_options is not None

    @property
    def has_own_manager(self) -> bool:
        """Whether the target is a manager, which takes no flags."""
        return self.declared.options is not None

    @property
    def metrics_port(self) -> int:
        """0: metrics are not served."""
        options = self.declared.options
        return METRICS_PORT if options is None else _port(options.metrics_bind_address)

    @property
    def health_port(self) -> int:
        """0: there are no probes."""
        options = self.declared.options
        return HEALTH_PORT if options is None else _port(options.health_probe_bind_address)

    @property
    def webhook_port(self) -> int:
        options = self.declared.webhook_options
        return options.port if options is not None and options.port > 0 else WEBHOOK_PORT

    @property
    def prefix(self) -> str:
        """What the names of all objects begin with that are not the only ones of their kind."""
        return f"{self.name}-"

    @property
    def webhook_service(self) -> str:
        """The Service of the webhooks: with the prefix, unless the program has chosen it. A manager of the program
        takes no flags, so it uses the name of its options."""
        options = self.declared.webhook_options
        if options is not None and options.service is not None:
            return options.service.name
        return options.service_name if options is not None and self.has_own_manager else self.prefix + DEFAULT_SERVICE

    @property
    def webhook_flags(self) -> list[str]:
        """The flag with the Service of the webhooks, unless the program names it itself."""
        options = self.declared.webhook_options
        chosen = options is None or options.service is not None or self.has_own_manager
        return [] if chosen else [f"--webhook-service={self.webhook_service}"]

    @property
    def arguments(self) -> list[str]:
        """Of `pilotage run`."""
        if self.has_own_manager:
            return [self.target, "--log-format=json"]
        found = [self.target]
        if self.installation.leader_election:
            found += ["--leader-elect", f"--leader-election-id={self.installation.lease_name}"]
        if self.installation.namespaces:
            found.append(f"--namespace={','.join(self.installation.namespaces)}")
        found += self.webhook_flags
        addresses = (("metrics", self.metrics_port), ("health-probe", self.health_port))
        return [*found, *(f"--{name}-bind-address=:{port}" for name, port in addresses), "--log-format=json"]


def split_image(image: str) -> tuple[str, str]:
    """The name and the tag of an image."""
    name, colon, tag = image.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (image, "latest")


def _port(address: str) -> int:
    from pilotage.net.sockets import parse_bind_address

    parsed = parse_bind_address(address)
    return parsed[1] if parsed is not None else 0


def shared_names(declared: Declarations) -> Iterator[str]:
    """Notes about webhook configurations that a manifest of another program may replace."""
    from pilotage.webhook.declarations import Declaration, default_name

    own = {kind.__resource__.gvk.group for kind in declared.kinds}
    for webhook in declared.webhooks:
        rule = webhook.rules[0] if isinstance(webhook, Declaration) and webhook.rules else None
        if not isinstance(webhook, Declaration) or rule is None or rule.api_groups[0] in own:
            continue
        plural = rule.resources[0]
        gvk = GroupVersionKind(rule.api_groups[0], rule.api_versions[0], "")
        if webhook.name == default_name(gvk, plural, mutating=webhook.mutating):
            yield (
                f"the configuration {webhook.name} has this name in every program with such a webhook for {plural}, "
                f'which replace each other\'s: call named("{plural}.YOUR.GROUP") of its WebhookBuilder'
            )
