from __future__ import annotations

import random
from typing import Any

import pytest

from pilotage.errors import AlreadyExists, Invalid
from pilotage.meta.kinds import GroupVersionResource

from ..registries import CONFIG_MAPS, SECRETS, opened

JOBS = GroupVersionResource("batch", "v1", "jobs")


async def test_the_labels_of_a_jobs_pods_have_its_generated_name() -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "nginx:1"}]}
    document = {"metadata": {"generateName": "job-"}, "spec": {"template": {"spec": pod}}}
    async with opened() as api:
        stored = await api.create(JOBS, document, "default")
    assert stored["metadata"]["name"].startswith("job-")
    assert stored["spec"]["template"]["metadata"]["labels"]["job-name"] == stored["metadata"]["name"]


class _Repeating(random.Random):
    """Draws the same suffix a number of times."""

    left = 9

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
        self.left -= 1
        return list("aaaaa") if self.left > 0 else list("bbbbb")


@pytest.mark.covers("T146")
async def test_another_name_is_generated_if_one_is_taken() -> None:
    document = {"metadata": {"generateName": "map-"}}
    async with opened(chance=_Repeating()) as api:
        assert (await api.create(CONFIG_MAPS, document, "default"))["metadata"]["name"] == "map-aaaaa"
        assert (await api.create(CONFIG_MAPS, document, "default"))["metadata"]["name"] == "map-bbbbb"


@pytest.mark.covers("T146")
async def test_after_eight_names_that_are_taken_the_server_gives_up() -> None:
    document = {"metadata": {"generateName": "map-"}}
    chance = _Repeating()
    chance.left = 100
    async with opened(chance=chance) as api:
        await api.create(CONFIG_MAPS, document, "default")
        with pytest.raises(AlreadyExists, match="unable to generate a unique name"):
            await api.create(CONFIG_MAPS, document, "default")


@pytest.mark.covers("T147")
async def test_times_of_a_deletion_are_dropped_and_not_owned() -> None:
    async with opened() as api:
        metadata = {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
        created = await api.create(CONFIG_MAPS, {"metadata": metadata}, "default")
        assert (
            created["metadata"].keys().isdisjoint(("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"))
        )


async def test_a_name_that_is_taken_is_reported_with_the_warnings_about_the_object() -> None:
    secret = {"metadata": {"name": "a"}, "type": "kubernetes.io/tls", "data": {"tls.crt": "YQ==", "tls.key": "YQ=="}}
    async with opened() as api:
        await api.create(SECRETS, secret, "default")
        with pytest.raises(AlreadyExists) as caught:
            await api.create(SECRETS, secret, "default")
        assert caught.value.warnings == ("tls: failed to find any PEM data in certificate input",)
        with pytest.raises(Invalid) as invalid:
            await api.create(SECRETS, secret | {"metadata": {"name": "A"}}, "default")
        assert invalid.value.warnings == ()
