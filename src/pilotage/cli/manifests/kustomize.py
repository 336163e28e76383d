"""The manifests as a kustomize base, with components to choose from and overlays to begin with."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.cli.manifests import objects
from pilotage.cli.manifests.settings import InstallationSettings
from pilotage.meta.documents import Document
from pilotage.meta.text import yamltext
from pilotage.webhook.manifests import CERTIFICATE

_BASE = "kustomize.config.k8s.io/v1beta1"
_COMPONENT = "kustomize.config.k8s.io/v1alpha1"


def files(settings: InstallationSettings) -> dict[str, str]:
    """The base and the components."""
    base = objects.files(settings)
    found = {f"base/{name}": yamltext.write_all(documents) for name, documents in base.items()}
    found["base/kustomization.yaml"] = _kustomization(resources=list(base))
    if settings.metrics_port:
        monitor = "components/monitoring/service-monitor.yaml"
        found[monitor] = yamltext.write(objects.service_monitor(settings))
        found["components/monitoring/kustomization.yaml"] = _component(resources=["service-monitor.yaml"])
    if settings.has_webhooks:
        found["components/cert-manager/certificates.yaml"] = yamltext.write_all(objects.certificates(settings))
        found["components/cert-manager/kustomization.yaml"] = _cert_manager(settings)
    return dict(sorted(found.items()))


def overlays(settings: InstallationSettings) -> dict[str, str]:
    """Overlays for the user to change: `dev` with one replica and all log lines, `production` with two replicas."""
    image, _, tag = (
        settings.image.rpartition(":") if ":" in settings.image.rpartition("/")[2] else (settings.image, "", "")
    )
    verbose = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--log-level=debug"}]
    dev = _kustomization(
        resources=["../../base"],
        images=[{"name": image, "newTag": "dev"}],
        patches=[_patch("Deployment", settings.name, verbose)],
    )
    production = _kustomization(
        resources=["../../base", "pod-disruption-budget.yaml"],
        images=[{"name": image, "newTag": tag}],
        replicas=[{"name": settings.name, "count": 2}],
    )
    present = {"monitoring": bool(settings.metrics_port), "cert-manager": settings.has_webhooks}
    components = [name for name in present if present[name]]
    if components:
        lines = [f"#   - ../../components/{name}\n" for name in components]
        production += "# Components need other programs on the cluster: the Prometheus operator, cert-manager.\n"
        production += "# components:\n" + "".join(lines)
    return {
        "overlays/dev/kustomization.yaml": dev,
        "overlays/production/kustomization.yaml": production,
        "overlays/production/pod-disruption-budget.yaml": yamltext.write(objects.disruption_budget(settings)),
    }


def _cert_manager(settings: InstallationSettings) -> str:
    """The certificate of the webhooks is issued by cert-manager, which also injects its bundle."""
    volume, mount, flag = objects.certificate_mount(settings)
    container = "/spec/template/spec/containers/0"
    mounts: list[Document] = [
        {"op": "add", "path": "/spec/template/spec/volumes/-", "value": volume},
        {"op": "add", "path": f"{container}/volumeMounts/-", "value": mount},
        {"op": "add", "path": f"{container}/args/-", "value": flag},
    ]
    patches = [_patch("Deployment", settings.name, mounts)]
    reference = {"cert-manager.io/inject-ca-from": f"{settings.namespace}/{settings.prefix}{CERTIFICATE}"}
    patches += [{"patch": yamltext.write(_identified(each, annotations=reference))} for each in _registered(settings)]
    patches += [
        {"patch": yamltext.write({**_identified(each), "$patch": "delete"})}
        for each in objects.roles(settings)
        if each["metadata"]["name"] == f"{settings.name}-webhook"
    ]
    return _component(resources=["certificates.yaml"], patches=patches)


def _registered(settings: InstallationSettings) -> Iterable[Document]:
    """What has the bundle of the certificate: webhook configurations, and CRDs that are converted."""
    converted = [each for each in objects.definitions(settings) if "webhook" in each["spec"].get("conversion", {})]
    return [*objects.webhooks(settings), *converted]


def _identified(document: Document, **metadata: object) -> Document:
    named = {key: value for key, value in document["metadata"].items() if key in ("name", "namespace")}
    return {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": {**named, **metadata}}


def _patch(kind: str, name: str, operations: list[Document]) -> Document:
    return {"target": {"kind": kind, "name": name}, "patch": yamltext.write(operations)}


def _kustomization(**parts: object) -> str:
    return yamltext.write({"apiVersion": _BASE, "kind": "Kustomization", **parts})


def _component(**parts: object) -> str:
    return yamltext.write({"apiVersion": _COMPONENT, "kind": "Component", **parts})
