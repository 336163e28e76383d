from __future__ import annotations

import pytest

from pilotage.errors import InvalidDefinition, NotFound
from pilotage.kubernetes.plugins import DEFAULT, enabled

from ..server.registries import CONFIG_MAPS, NAMESPACES
from .environments import with_plugins


def test_the_default_plugins_are_kube_apiservers() -> None:
    assert enabled() == DEFAULT
    assert len(DEFAULT) == 27
    assert {"NamespaceLifecycle", "ServiceAccount", "Priority", "ResourceQuota", "PodSecurity"} <= DEFAULT
    assert "AlwaysPullImages" not in DEFAULT


def test_the_flags_add_and_remove_plugins() -> None:
    assert enabled(["AlwaysPullImages"], ["Priority"]) == (DEFAULT | {"AlwaysPullImages"}) - {"Priority"}


@pytest.mark.parametrize(
    ("enable", "disable", "reason"),
    [
        (["Prority"], [], "there is no admission plugin 'Prority'; the plugins are AlwaysAdmit, AlwaysDeny, "),
        ([], ["x"], "there is no admission plugin 'x'"),
        (["Priority"], ["Priority"], "both enabled and disabled: Priority"),
        (["EventRateLimit"], [], "EventRateLimit is not implemented"),
    ],
)
def test_wrong_flags_are_refused(enable: list[str], disable: list[str], reason: str) -> None:
    with pytest.raises(InvalidDefinition, match=reason.replace("(", r"\(")):
        enabled(enable, disable)


async def test_without_namespace_lifecycle_a_namespace_need_not_exist() -> None:
    async with with_plugins(disable=["NamespaceLifecycle"]) as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "nowhere")
        await api.delete(NAMESPACES, "kube-public")
    async with with_plugins() as api:
        with pytest.raises(NotFound):
            await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "nowhere")
