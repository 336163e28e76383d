"""GPUs as the server keeps them: with the provider of each condition, which callers never see.

A stored condition has `provider`, and a stored status has `providers`: what each of them recommends.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from pilotage.device.v1alpha1 import GPU, GROUP, GPUSpec
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.markers import ListType, MaxItems, MaxLength, MaxProperties, MinLength
from pilotage.meta.models import Model, Resource, resource
from pilotage.schema.generate.crd import crd

MAX_CONDITIONS = 32
MAX_PROVIDERS = 32
"""Of one GPU."""
GPUS = GroupVersionResource(GROUP, "v1alpha1", "gpus")
DEFINITION = f"gpus.{GROUP}"
_PRIVATE = b'"provider'
_KEPT_BYTES = 4096
"""Larger GPUs are cleaned anew each time, so that what is kept stays small."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class StoredCondition(Model):
    """A condition and whose it is."""

    type: Annotated[str, MinLength(1), MaxLength(316)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, MaxLength(1024)] = ""
    """Empty where a provider gave none: the wire cannot tell that from absent."""
    message: Annotated[str, MaxLength(32768)] = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None
    provider: Annotated[str, MaxLength(128)] = ""


class ProviderRecord(Model):
    """What is known of one provider with regard to one GPU."""

    recommended_action: Annotated[str, MaxLength(1024)] | None = None


class StoredStatus(Model):
    """A status, and who has said what of it."""

    conditions: Annotated[list[StoredCondition], ListType("map", "type"), MaxItems(MAX_CONDITIONS)] = []
    recommended_action: Annotated[str, MaxLength(1024)] | None = None
    providers: Annotated[dict[str, ProviderRecord], MaxProperties(MAX_PROVIDERS)] = {}


@resource(
    group=GROUP,
    version="v1alpha1",
    kind="GPU",
    plural="gpus",
    scope="Cluster",
    status=True,
    selectable_fields=[".spec.uuid"],
    columns=GPU.__resource__.columns,
)
class StoredGPU(Resource):
    """A GPU of this node, as it is kept."""

    spec: GPUSpec
    status: StoredStatus = StoredStatus()


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition of the stored form."""
    return crd(StoredGPU)


def public(data: bytes | memoryview) -> bytes:
    """An object as callers see it: without what the server alone keeps."""
    data = bytes(data)
    if _PRIVATE not in data:
        return data
    return _kept_cleaned(data) if len(data) <= _KEPT_BYTES else _cleaned(data)


def _cleaned(data: bytes) -> bytes:
    document: dict[str, Any] = _decode(data)
    status = document.get("status")
    if isinstance(status, dict):
        document["status"] = public_status(status)
    return _encode(document)


_kept_cleaned = lru_cache(maxsize=2048)(_cleaned)
"""Most GPUs of a list are as they were in the list before."""


def public_status(status: dict[str, Any]) -> dict[str, Any]:
    """A status without what the server alone keeps."""
    result = {key: value for key, value in status.items() if key != "providers"}
    if "conditions" in result:
        result["conditions"] = [
            {key: value for key, value in condition.items() if key != "provider"} for condition in result["conditions"]
        ]
    return result
