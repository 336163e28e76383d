"""The webhook that is measured: it accepts every ConfigMap. And a review about one of 2 KB."""

from __future__ import annotations

import msgspec

import pilotage as pt
from pilotage.meta.documents import Document
from pilotage.types.core.v1 import ConfigMap

PATH = "/validate--v1-configmap"
MUTATING_PATH = "/mutate--v1-configmap"


class Accepting:
    """Does nothing, as a defaulter and as a validator."""

    async def default(self, config_map: ConfigMap) -> None:
        pass

    async def validate_create(self, config_map: ConfigMap) -> None:
        pass

    async def validate_update(self, old: ConfigMap, config_map: ConfigMap) -> None:
        pass

    async def validate_delete(self, config_map: ConfigMap) -> None:
        pass


def declare(manager: pt.Manager) -> None:
    """Add the webhook to a manager."""
    accepting = Accepting()
    pt.WebhookBuilder(manager).for_(ConfigMap).with_defaulter(accepting).with_validator(accepting).complete()


def review() -> Document:
    """A review of a create, as kube-apiserver sends it."""
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "settings",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
            "object": _config_map(),
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"},
        },
    }


def _config_map() -> Document:
    entry = {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {f"f:key-{number}": {} for number in range(20)}},
    }
    document = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": "settings",
            "namespace": "default",
            "uid": "0b2c8b5e-2a4c-4f0e-9d1e-2b1f6f0f8a11",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "settings", "team": "blue"},
            "managedFields": [entry],
        },
        "data": {f"key-{number}": "x" * 54 for number in range(20)},
    }
    assert 1_900 < len(msgspec.json.encode(document)) < 2_200
    return document
