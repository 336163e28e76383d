"""The objects of an installation, as documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pilotage.cli.manifests.settings import CERTIFICATES, EXISTING_NAMESPACES, InstallationSettings
from pilotage.meta.documents import Document, copied

if TYPE_CHECKING:
    from pilotage.webhook.manifests import ManifestOptions

_USER = 65532
"""The user of distroless images and of the Dockerfile of `pilotage init`."""
_SHUTDOWN_SECONDS = 40
"""Ten more than `pilotage run` waits for running reconciles."""
METRICS_LABEL = {"metrics": "enabled"}
"""The label of namespaces that may read metrics; kubebuilder's."""


def files(settings: InstallationSettings) -> dict[str, list[Document]]:
    """All objects by file, in the order in which they are applied."""
    found = {
        "namespace.yaml": [namespace(settings)] if settings.namespace not in EXISTING_NAMESPACES else [],
        "crds.yaml": definitions(settings),
        "service-account.yaml": [service_account(settings)],
        "rbac.yaml": roles(settings),
        "services.yaml": services(settings),
        "deployment.yaml": [deployment(settings)],
        "network-policy.yaml": [network_policy(settings)],
        "webhooks.yaml": webhooks(settings),
    }
    return {name: documents for name, documents in found.items() if documents}


def install(settings: InstallationSettings) -> str:
    """All objects in one file, for `kubectl apply --server-side -f install.yaml`."""
    from pilotage.meta.text import yamltext

    return yamltext.write_all([each for documents in files(settings).values() for each in documents])


def namespace(settings: InstallationSettings) -> Document:
    """The namespace, in which only Pods that follow the restricted profile are admitted."""
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": settings.namespace, "labels": {**settings.labels, **level}},
    }


def definitions(settings: InstallationSettings) -> list[Document]:
    """The CRDs, with the webhook that converts between their versions, if there is one."""
    conversions = {
        document["metadata"]["name"]: document["spec"]
        for document in _registrations(settings)
        if document["kind"] == "CustomResourceDefinition"
    }
    found = [copied(document) for document in settings.definitions]
    for document in found:
        document["spec"] |= conversions.get(document["metadata"]["name"], {})
        metadata = document["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), **settings.labels}
    return found


def service_account(settings: InstallationSettings) -> Document:
    return _object(settings, "v1", "ServiceAccount")


def roles(settings: InstallationSettings) -> list[Document]:
    from pilotage.cli.rbac.roles import role_objects

    return [labelled(document, settings) for document in role_objects(settings.grants, settings.installation)]


def deployment(settings: InstallationSettings) -> Document:
    """The Deployment: probes, resources, and Pods that follow the restricted profile."""
    container: Document = {
        "name": "manager",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["pilotage", "run"],
        "args": settings.arguments,
        "ports": ports(settings),
        **probes(settings),
        # No CPU limit: a throttled process would miss its probes and its lease like a hung one.
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - a volume of the Pod
    }
    pod: Document = {
        "serviceAccountName": settings.name,
        "terminationGracePeriodSeconds": _SHUTDOWN_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    template = {"metadata": {"labels": dict(settings.selector)}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": dict(settings.selector)}, "template": template}
    return _object(settings, "apps/v1", "Deployment", spec=spec)


def certificate_mount(settings: InstallationSettings) -> tuple[Document, Document, str]:
    """The volume, its mount and the flag for a certificate of cert-manager."""
    from pilotage.webhook.manifests import CERTIFICATE_SECRET

    # Without ca.crt: cert-manager injects the bundle, and the program needs no permission for it.
    items = [{"key": name, "path": name} for name in ("tls.crt", "tls.key")]
    volume = {"name": "certificates", "secret": {"secretName": settings.prefix + CERTIFICATE_SECRET, "items": items}}
    mount = {"name": "certificates", "mountPath": CERTIFICATES, "readOnly": True}
    return volume, mount, f"--webhook-certificates={CERTIFICATES}"


def services(settings: InstallationSettings) -> list[Document]:
    """The Service of the metrics, and the one through which the API server calls webhooks."""
    found: list[Document] = []
    if settings.metrics_port:
        port = {"name": "metrics", "port": settings.metrics_port, "protocol": "TCP", "targetPort": "metrics"}
        spec = {"ports": [port], "selector": dict(settings.selector)}
        found.append(_object(settings, "v1", "Service", f"{settings.name}-metrics", spec=spec))
    if settings.has_webhooks:
        from pilotage.webhook.manifests import service

        found.append(labelled(service(webhook_options(settings)), settings))
    return found


def network_policy(settings: InstallationSettings) -> Document:
    """Metrics for namespaces with a label, webhooks for all, because the address of the API server is not known, and
    nothing else. Probes come from the node, which is always allowed."""
    ingress: list[Document] = []
    if settings.metrics_port:
        peers = [{"namespaceSelector": {"matchLabels": dict(METRICS_LABEL)}}]
        ingress.append({"from": peers, "ports": [{"port": settings.metrics_port, "protocol": "TCP"}]})
    if settings.has_webhooks:
        ingress.append({"ports": [{"port": settings.webhook_port, "protocol": "TCP"}]})
    spec = {"podSelector": {"matchLabels": dict(settings.selector)}, "policyTypes": ["Ingress"]}
    return _object(
        settings, "networking.k8s.io/v1", "NetworkPolicy", spec=spec | ({"ingress": ingress} if ingress else {})
    )


def webhooks(settings: InstallationSettings) -> list[Document]:
    """The webhook configurations."""
    found = _registrations(settings)
    return [labelled(each, settings) for each in found if each["kind"] != "CustomResourceDefinition"]


def certificates(settings: InstallationSettings) -> list[Document]:
    """What cert-manager needs: an Issuer and a Certificate."""
    from pilotage.webhook.manifests import cert_manager

    return [labelled(each, settings) for each in cert_manager(webhook_options(settings))]


def service_monitor(settings: InstallationSettings) -> Document:
    """For the Prometheus operator."""
    endpoints = [{"port": "metrics", "path": "/metrics"}]
    spec = {"endpoints": endpoints, "selector": {"matchLabels": dict(settings.labels)}}
    return _object(settings, "monitoring.coreos.com/v1", "ServiceMonitor", spec=spec)


def disruption_budget(settings: InstallationSettings) -> Document:
    """For two replicas and more: one of them stays."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": dict(settings.selector)}}
    return _object(settings, "policy/v1", "PodDisruptionBudget", spec=spec)


def webhook_options(settings: InstallationSettings) -> ManifestOptions:
    """What the manifests of webhooks refer to."""
    from pilotage.webhook.manifests import ManifestOptions

    options = settings.declared.webhook_options
    own = options.service if options is not None else None
    return ManifestOptions(
        namespace=settings.namespace,
        service=settings.webhook_service,
        prefix=settings.prefix,
        service_port=own.port if own is not None else 443,
        port=settings.webhook_port,
        selector=settings.selector,
    )


def _registrations(settings: InstallationSettings) -> Iterable[Document]:
    from pilotage.webhook.manifests import configuration

    if not settings.has_webhooks:
        return []
    options = webhook_options(settings)
    return [configuration(each, options) for each in settings.declared.webhooks]


def ports(settings: InstallationSettings) -> list[Document]:
    """The ports of the container."""
    found = {"metrics": settings.metrics_port, "health": settings.health_port}
    if settings.has_webhooks:
        found["webhooks"] = settings.webhook_port
    return [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in found.items() if port]


def probes(settings: InstallationSettings) -> Document:
    """The probes of the container."""
    if not settings.health_port:
        return {}
    return {
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 20},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "periodSeconds": 10},
    }


def _object(settings: InstallationSettings, version: str, kind: str, name: str = "", **content: Any) -> Document:
    """An object with the name of the program, unless it has another one."""
    metadata = {"name": name or settings.name, "namespace": settings.namespace, "labels": dict(settings.labels)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def labelled(document: Document, settings: InstallationSettings) -> Document:
    """The object with the labels of all objects of the program."""
    return {**document, "metadata": {**document["metadata"], "labels": dict(settings.labels)}}
