"""The Pod Security Standards, compared with the recorded answers of a kube-apiserver 1.36.3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilotage.errors import Forbidden, Invalid
from pilotage.kubernetes.core.plugins.podsecuritychecks import violations
from pilotage.meta.documents import Document
from pilotage.rest.request import APIRequest, Verb

from ....server.registries import NAMESPACES, Api
from ...environments import PODS, pod, with_plugins

CASES: dict[str, Document] = json.loads((Path(__file__).parent / "podsecurity.json").read_text())
VERSIONS: Document = json.loads((Path(__file__).parent / "podsecurityversions.json").read_text())
PREFIX = "pod-security.kubernetes.io/"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_level_forbids_what_kube_apiserver_forbids(name: str, level: str) -> None:
    assert ", ".join(map(str, violations(level, CASES[name]["spec"]))) == CASES[name][level]


@pytest.mark.parametrize("version", VERSIONS["restricted"])
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_an_older_version_of_a_level_forbids_what_it_forbade(version: str, level: str) -> None:
    expected = VERSIONS[level][version]
    found = {name: ", ".join(map(str, violations(level, VERSIONS["pods"][name], version))) for name in expected}
    assert found == expected


async def test_the_version_in_the_labels_of_a_namespace_decides() -> None:
    sysctls = {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}
    async with with_plugins() as api:
        await namespace(api, enforce="baseline", enforce_version="v1.31")
        with pytest.raises(Forbidden, match=r"baseline:v1\.31.: forbidden sysctls"):
            await api.create(PODS, pod(securityContext=sysctls), "mine")


def test_the_level_privileged_forbids_nothing() -> None:
    assert not any(violations("privileged", case["spec"]) for case in CASES.values())


async def namespace(api: Api, **labels: str) -> None:
    prefixed = {PREFIX + mode.replace("_", "-"): level for mode, level in labels.items()}
    await api.create(NAMESPACES, {"metadata": {"name": "mine", "labels": prefixed}})


async def test_a_pod_that_violates_the_level_of_its_namespace_is_refused() -> None:
    async with with_plugins() as api:
        await namespace(api, enforce="baseline")
        await api.create(PODS, pod(), "mine")
        reason = 'pods "b" is forbidden: violates PodSecurity "baseline:latest": host namespaces [(]hostPID=true[)]$'
        with pytest.raises(Forbidden, match=reason):
            await api.create(PODS, pod("b", hostPID=True), "mine")


async def test_a_pod_that_violates_the_level_of_warnings_is_created() -> None:
    async with with_plugins() as api:
        await namespace(api, warn="baseline", warn_version="v1.30")
        body = json.dumps(pod(hostPID=True)).encode()
        response = await api.registry.call(APIRequest(Verb.CREATE, PODS, namespace="mine", body=body))
        assert response.warnings == ('would violate PodSecurity "baseline:v1.30": host namespaces (hostPID=true)',)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"enforce": "bad"}, 'enforce]: Invalid value: "bad": must be one of privileged, baseline, restricted'),
        ({"warn_version": "v9x"}, 'warn-version]: Invalid value: "v9x": must be "latest" or "v1.x"'),
    ],
)
async def test_labels_of_namespaces_are_validated(labels: dict[str, str], message: str) -> None:
    async with with_plugins() as api:
        with pytest.raises(Invalid) as caught:
            await namespace(api, **labels)
        assert message in str(caught.value)


async def test_a_stricter_level_warns_of_the_pods_that_exist() -> None:
    async with with_plugins() as api:
        await namespace(api)
        for name in ("a", "b"):
            await api.create(PODS, pod(name, hostPID=True), "mine")
        patch = json.dumps({"metadata": {"labels": {PREFIX + "enforce": "baseline"}}}).encode()
        request = APIRequest(
            Verb.PATCH, NAMESPACES, name="mine", body=patch, content_type="application/merge-patch+json"
        )
        assert (await api.registry.call(request)).warnings == (
            'existing pods in namespace "mine" violate the new PodSecurity enforce level "baseline:latest"',
            "a (and 1 other pod): host namespaces",
        )
