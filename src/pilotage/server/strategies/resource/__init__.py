"""The kinds of the group resource.k8s.io: claims of devices, their classes, and the devices of nodes."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy, paths

STRATEGIES: Mapping[str, Strategy] = {
    "deviceclasses": deferred("resource.classes:DeviceClassStrategy", generation=True, generate_name_checked=False),
    "resourceclaims": deferred("resource.claims:ResourceClaimStrategy"),
    "resourceclaimtemplates": deferred("resource.claims:ResourceClaimTemplateStrategy"),
    "resourceslices": deferred(
        "resource.slices:ResourceSliceStrategy",
        generation=True,
        selectable_fields=paths("spec.driver", "spec.nodeName"),
    ),
}
