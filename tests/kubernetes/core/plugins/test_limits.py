from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import Forbidden
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource

from ....server.registries import Api
from ...environments import CLAIMS, PODS, claim, pod, with_plugins

LIMIT_RANGES = GroupVersionResource("", "v1", "limitranges")


async def limited(api: Api, kind: str, **limits: Any) -> None:
    limit = {"type": kind} | limits
    await api.create(LIMIT_RANGES, {"metadata": {"name": "limits"}, "spec": {"limits": [limit]}}, "default")


def container(**resources: Any) -> Document:
    return {"name": "c", "image": "i", "resources": resources}


async def test_containers_have_the_defaults_of_the_namespace() -> None:
    async with with_plugins() as api:
        await limited(api, "Container", default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "1"})
        made = await api.create(PODS, pod(containers=[container(requests={"memory": "1Mi"})]), "default")
        resources = made["spec"]["containers"][0]["resources"]
        assert resources == {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Mi"}}
        note = made["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
        assert note == "LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c"


@pytest.mark.parametrize(
    ("kind", "limits", "resources", "reason"),
    [
        (
            "Container",
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit",
        ),
        ("Pod", {"max": {"cpu": "1"}}, {}, "maximum cpu usage per Pod is 1.  No limit is specified"),
        (
            "Pod",
            {"min": {"cpu": "1"}},
            {"requests": {"cpu": "500m"}},
            "minimum cpu usage per Pod is 1, but request is 500m",
        ),
        ("Pod", {"min": {"cpu": "1"}}, {}, "minimum cpu usage per Pod is 1.  No request is specified"),
        (
            "Container",
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
async def test_a_pod_outside_the_limits_is_refused(
    kind: str, limits: Document, resources: Document, reason: str
) -> None:
    async with with_plugins() as api:
        await limited(api, kind, **limits)
        with pytest.raises(Forbidden, match=reason):
            await api.create(PODS, pod(containers=[container(**resources)]), "default")


async def test_a_claim_outside_the_limits_is_refused() -> None:
    async with with_plugins() as api:
        await limited(api, "PersistentVolumeClaim", max={"storage": "1Gi"}, min={"storage": "1Mi"})
        await api.create(CLAIMS, claim("1Gi"), "default")
        with pytest.raises(
            Forbidden, match="maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"
        ):
            await api.create(CLAIMS, claim("2Gi"), "default")


async def test_a_pod_needs_what_its_containers_need_together_or_one_init_container_alone() -> None:
    one, big = container(requests={"cpu": "1"}), container(requests={"cpu": "5"})
    async with with_plugins() as api:
        await limited(api, "Pod", maxLimitRequestRatio={"cpu": "1"}, min={"cpu": "5"})
        spec = pod(
            containers=[container(requests={"cpu": "1"}, limits={"cpu": "1"})], initContainers=[big | {"name": "i"}]
        )
        spec["spec"]["initContainers"][0]["resources"]["limits"] = {"cpu": "5"}
        await api.create(PODS, spec, "default")
        with pytest.raises(Forbidden, match="but request is 1"):
            await api.create(
                PODS, pod("b", containers=[one | {"resources": one["resources"] | {"limits": {"cpu": "1"}}}]), "default"
            )
