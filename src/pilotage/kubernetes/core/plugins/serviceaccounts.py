"""The plugin ServiceAccount: Pods run as a service account, whose token is mounted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pilotage.codec.defaults.containers import containers
from pilotage.kubernetes.core.pods.annotations import MIRROR
from pilotage.meta.documents import Document
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, annotations_of, forbidden, section

_SERVICE_ACCOUNTS = "core/serviceaccounts/"
_ENFORCE = "kubernetes.io/enforce-mountable-secrets"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUME = "kube-api-access-"
_TOKEN_SECONDS = 3607


class ServiceAccount(Plugin):
    """Sets the service account of a new Pod, and mounts its token."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        spec = section(attributes.new, "spec")
        if _is_mirror(attributes.new):
            return
        name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = await self._account(attributes, name)
        if _mounts(account, spec):
            _mount(spec, self.context.suffix)
        secrets = [{"name": one.get("name", "")} for one in account.get("imagePullSecrets") or ()]
        if secrets and not spec.get("imagePullSecrets"):
            spec["imagePullSecrets"] = secrets

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE or attributes.new is None:
            return
        spec = section(attributes.new, "spec")
        name = str(spec.get("serviceAccountName", ""))
        if _is_mirror(attributes.new):
            if reason := _mirror_problem(spec):
                raise forbidden(attributes, reason)
            return
        account = await self._account(attributes, name)
        if str(annotations_of(account).get(_ENFORCE, "")).lower() in ("true", "t", "1") and (
            reason := _reference_problem(account, spec)
        ):
            raise forbidden(attributes, reason)

    async def _account(self, attributes: Attributes, name: str) -> Document:
        namespace = attributes.request.namespace
        found = await self.context.get(_SERVICE_ACCOUNTS, namespace, name)
        if found is None:
            raise forbidden(
                attributes,
                f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found',
            )
        return found


def _is_mirror(pod: Document | None) -> bool:
    """Whether the Pod is a kubelet's copy of one that the API server does not control."""
    return MIRROR in annotations_of(pod)


def _mounts(account: Document, spec: Document) -> bool:
    for choice in (spec, account):
        wanted = choice.get("automountServiceAccountToken")
        if wanted is not None:
            return bool(wanted)
    return True


def _mount(spec: Document, suffix: Callable[[], str]) -> None:
    """Mount the token into each container that mounts nothing at its path, in place."""
    volumes = list(spec.get("volumes") or ())
    existing = next((one["name"] for one in volumes if str(one.get("name", "")).startswith(_VOLUME)), "")
    name = existing or _VOLUME + suffix()
    needed = False
    for container in containers(spec, ("initContainers", "containers")):
        mounts = list(container.get("volumeMounts") or ())
        if not any(one.get("mountPath") == _MOUNT_PATH for one in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}]
            needed = True
    if needed and not existing:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_volume()}]


def _token_volume() -> Document:
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": root},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 420,
    }


def _mirror_problem(spec: Document) -> str:
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if any(True for _ in _secret_references(spec)) or spec.get("imagePullSecrets"):
        return "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def _secret_references(spec: Document) -> Iterator[tuple[str, str]]:
    """The secrets that a Pod refers to, each with where it does so."""
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            name = volume["secret"].get("secretName", "")
            yield name, f'volume with secret.secretName="{name}"'
    for field, kind in (("initContainers", "init container"), ("containers", "container")):
        for container in spec.get(field) or ():
            for variable in container.get("env") or ():
                reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
                if reference is not None:
                    name = reference.get("name", "")
                    where = f"{kind} {container.get('name', '')} with envVar {variable.get('name', '')}"
                    yield name, f'{where} referencing secret.secretName="{name}"'
            for source in container.get("envFrom") or ():
                if source.get("secretRef") is not None:
                    name = source["secretRef"].get("name", "")
                    where = f"{kind} {container.get('name', '')} with envFrom"
                    yield name, f'{where} referencing secret.secretName="{name}"'


def _reference_problem(account: Document, spec: Document) -> str:
    """Why a Pod may not refer to a secret: its service account does not list it."""
    account_name = account["metadata"]["name"]
    mountable = {one.get("name") for one in account.get("secrets") or ()}
    for name, where in _secret_references(spec):
        if name not in mountable:
            return f"{where} is not allowed because service account {account_name} does not reference that secret"
    pulling = {one.get("name") for one in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name") not in pulling:
            return (
                f'imagePullSecrets[{index}].name="{secret.get("name", "")}" is not allowed because service account '
                f"{account_name} does not reference that imagePullSecret"
            )
    return ""
