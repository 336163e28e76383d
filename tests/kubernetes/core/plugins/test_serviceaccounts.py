from __future__ import annotations

import pytest

from pilotage.errors import Forbidden

from ...environments import PODS, SERVICE_ACCOUNTS, pod, with_plugins


async def test_a_pod_runs_as_a_service_account_and_mounts_its_token() -> None:
    async with with_plugins(disable=[]) as api:
        await api.create(
            SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}, "imagePullSecrets": [{"name": "pull"}]}, "default"
        )
        spec = (await api.create(PODS, pod(serviceAccountName="robot"), "default"))["spec"]
        assert spec["serviceAccount"] == "robot"
        assert spec["imagePullSecrets"] == [{"name": "pull"}]
        [mount] = spec["containers"][0]["volumeMounts"]
        assert mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
        [volume] = spec["volumes"]
        assert volume["name"] == mount["name"]
        assert volume["name"].startswith("kube-api-access-")
        assert volume["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3607


async def test_a_pod_may_do_without_the_token() -> None:
    async with with_plugins(disable=[]) as api:
        await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
        made = await api.create(PODS, pod(serviceAccountName="robot", automountServiceAccountToken=False), "default")
        assert "volumes" not in made["spec"]


async def test_the_service_account_must_exist() -> None:
    async with with_plugins(disable=[]) as api:
        reason = 'pods "a" is forbidden: error looking up service account default/none: serviceaccount "none" not found'
        with pytest.raises(Forbidden, match=reason):
            await api.create(PODS, pod(serviceAccountName="none"), "default")


async def test_a_service_account_may_limit_the_secrets_of_its_pods() -> None:
    async with with_plugins(disable=[]) as api:
        metadata = {"name": "robot", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
        await api.create(SERVICE_ACCOUNTS, {"metadata": metadata, "secrets": [{"name": "mine"}]}, "default")
        mine = [{"name": "v", "secret": {"secretName": "mine"}}]
        await api.create(PODS, pod("b", serviceAccountName="robot", volumes=mine), "default")
        other = [{"name": "v", "secret": {"secretName": "other"}}]
        with pytest.raises(Forbidden, match='"other" is not allowed because service account robot does not'):
            await api.create(PODS, pod(serviceAccountName="robot", volumes=other), "default")


async def test_a_mirror_pod_may_not_have_a_service_account() -> None:
    async with with_plugins(disable=[]) as api:
        mirror = pod(serviceAccountName="robot", nodeName="n")
        mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
        with pytest.raises(Forbidden, match="a mirror pod may not reference service accounts"):
            await api.create(PODS, mirror, "default")
