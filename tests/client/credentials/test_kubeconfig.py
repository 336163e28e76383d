"""Kubeconfig files: merged, checked, and used."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.running import RealCluster
from pilotage.client import config
from pilotage.client.config import Config, in_cluster
from pilotage.client.credentials.kubeconfig import Kubeconfig
from pilotage.cluster import Cluster
from pilotage.errors import InvalidDefinition, NoCredentials
from pilotage.meta.text import yamltext
from pilotage.types.core.v1 import Namespace


def written(path: Path, **parts: Any) -> str:
    path.write_text(yamltext.write({"apiVersion": "v1", "kind": "Config"} | parts))
    return str(path)


def named(singular: str, name: str, **content: Any) -> dict[str, Any]:
    return {"name": name, singular: {key.replace("_", "-"): value for key, value in content.items()}}


def whole(path: Path, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> str:
    return written(
        path,
        clusters=[{"name": "c", "cluster": {"server": "https://one:6443"} | (cluster or {})}],
        users=[{"name": "u", "user": user or {}}],
        contexts=[named("context", "x", cluster="c", user="u", namespace="shop")],
        **{"current-context": "x"},
    )


def loaded(path: Path, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> Config:
    return Kubeconfig.load(whole(path, cluster, user)).config()


async def test_a_token_and_a_ca_are_taken_from_the_current_context(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    found = loaded(tmp_path / "k", {"certificate-authority-data": data, "tls-server-name": "api"}, {"token": "secret"})
    assert (found.url, found.ca_data, found.tls_server_name) == ("https://one:6443", b"PEM", "api")
    assert found.namespace == "shop"
    assert (await found.credentials.material()).token == "secret"
    assert "secret" not in repr(found)


async def test_paths_are_those_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    user = {"tokenFile": "token", "client-certificate": "a/c.crt", "client-key": "/b/c.key"}
    found = loaded(tmp_path / "k", {"certificate-authority": "ca.crt"}, user)
    assert found.ca_file == str(tmp_path / "ca.crt")
    material = await found.credentials.material()
    assert material.token == "from-file"
    assert material.certificate is not None
    assert (material.certificate.cert_file, material.certificate.key_file) == (f"{tmp_path}/a/c.crt", "/b/c.key")


def test_the_first_file_that_has_an_entry_wins(tmp_path: Path) -> None:
    contexts = [named("context", "one", cluster="a"), named("context", "two", cluster="b")]
    first = written(tmp_path / "1", clusters=[named("cluster", "a", server="https://first")], contexts=contexts)
    clusters = [named("cluster", "a", server="https://second"), named("cluster", "b", server="https://b")]
    second = written(tmp_path / "2", clusters=clusters, **{"current-context": "two"})
    together = Kubeconfig.load(first, str(tmp_path / "missing"), second, optional=True)
    assert together.config().url == "https://b"
    assert together.config("one").url == "https://first"


def test_where_the_configuration_is_looked_for(tmp_path: Path) -> None:
    pod = tmp_path / "pod"
    pod.mkdir()
    for name, text in (("token", "t"), ("ca.crt", "PEM"), ("namespace", "mine\n")):
        (pod / name).write_text(text)
    service = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    whole(home / ".kube" / "config", {"server": "https://home"})
    listed = whole(tmp_path / "listed", {"server": "https://listed"})
    given = whole(tmp_path / "given", {"server": "https://given"})

    def url(kubeconfig: str = "", context: str = "", **environment: str) -> str:
        return config.load(kubeconfig, context, environment=environment, home=home, service_account=pod).url

    assert url(given, KUBECONFIG=listed, **service) == "https://given"
    assert url(KUBECONFIG=listed, **service) == "https://listed"
    assert url(**service) == "https://10.0.0.1:443"
    assert url(context="x", **service) == "https://home", "a Pod has no contexts"
    assert url() == "https://home"
    with pytest.raises(InvalidDefinition, match=r"no cluster is configured.*Cluster\.embedded"):
        config.load(environment={}, home=tmp_path, service_account=pod)
    with pytest.raises(InvalidDefinition, match=r"KUBECONFIG names .*missing.*unset"):
        url(KUBECONFIG=str(tmp_path / "missing"))
    with pytest.raises(InvalidDefinition, match=r"missing cannot be read"):
        url(str(tmp_path / "missing"))


async def test_a_pod_finds_its_own_cluster(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("ca.crt", "PEM"), ("namespace", "mine\n")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = in_cluster(environment, tmp_path)
    assert found is not None
    assert (found.url, found.ca_file, found.namespace) == ("https://[fd00::1]:6443", f"{tmp_path}/ca.crt", "mine")
    assert (await found.credentials.material()).token == "t"
    assert in_cluster({}, tmp_path) is None
    (tmp_path / "token").unlink()
    assert in_cluster(environment, tmp_path) is None


@pytest.mark.parametrize(
    ("cluster", "user", "complaint"),
    [
        ({"server": ""}, {}, r"cluster 'c': server: is missing"),
        ({"server": 5}, {}, r"cluster 'c': server: must be a text, not int"),
        ({"insecure-skip-tls-verify": "yes"}, {}, r"insecure-skip-tls-verify: must be true or false"),
        ({"certificate-authority-data": "%%%"}, {}, r"certificate-authority-data: it is not base64"),
        ({}, {"username": "me", "password": "hunter2"}, r"user 'u': username: .*use a token or a client certificate"),
        ({}, {"auth-provider": {"name": "gcp"}}, r"auth-provider: was removed.*exec plugin"),
        ({}, {"client-certificate": "a"}, r"client-certificate: and client-key must be set together"),
        ({}, {"exec": "aws"}, r"exec: must be a mapping"),
        ({}, {"exec": {"command": "aws"}, "token": "hunter2"}, r"exec: is set together with other credentials"),
        ({}, {"exec": {"command": "aws"}}, r"user 'u': exec has apiVersion ''; supported are .*/v1 and "),
        ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, r"user 'u': exec has no command"),
        ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "a", "args": "b"}}, "list of texts"),
        (
            {},
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "a", "interactiveMode": "Always"}},
            "use IfAvailable or Never",
        ),
        ({}, {"as-groups": "all"}, r"as-groups: must be a list of texts"),
    ],
)
def test_an_invalid_entry_is_reported_with_its_file(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidDefinition, match=complaint) as caught:
        loaded(tmp_path / "k", cluster, user)
    assert str(tmp_path / "k") in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no current-context, and none was named; its contexts are: none"),
        ("[1, 2]", "is not a kubeconfig: it must be a mapping with clusters, users and contexts"),
        ("a: [", "cannot be read"),
        ("clusters: 5", "clusters must be a list"),
        ("clusters: [{cluster: {}}]", r"clusters\[0\] has no name"),
        ("clusters: [{name: a}, {name: a}]", "two clusters are named 'a'"),
        ("users: [{name: a, user: text}]", "user 'a': user must be a mapping"),
        ("current-context: x", r"no context 'x' \(the current-context\); its contexts are: none"),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: other}}]",
            r"no cluster 'other' \(of context 'x'\)",
        ),
    ],
)
def test_a_file_that_is_not_a_kubeconfig_is_reported(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "k"
    path.write_text(text)
    with pytest.raises(InvalidDefinition, match=complaint) as caught:
        Kubeconfig.load(str(path)).config()
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "k"
    with pytest.raises(InvalidDefinition) as caught:
        Kubeconfig.load(str(path))
    assert str(caught.value) == f"the kubeconfig {path} cannot be read: No such file or directory"


def test_anchors_and_aliases_are_fine_in_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_text(
        "clusters: [{name: a, cluster: &c {server: 'https://a'}}, {name: b, cluster: *c}]\n"
        "contexts: [{name: x, context: {cluster: b}}]\ncurrent-context: x\n"
    )
    assert Kubeconfig.load(str(path)).config().url == "https://a"


def test_the_impersonated_user_is_sent_in_headers(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["dev", "ops"], "as-user-extra": {"Scopes": ["view"]}}
    assert loaded(tmp_path / "k", user=user).headers == (
        ("impersonate-user", "jane"),
        ("impersonate-uid", "7"),
        ("impersonate-group", "dev"),
        ("impersonate-group", "ops"),
        ("impersonate-extra-scopes", "view"),
    )


async def test_trusting_anybody_is_never_silent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = whole(tmp_path / "k", {"insecure-skip-tls-verify": True})
    with caplog.at_level(logging.WARNING, logger="pilotage.client"):
        async with Cluster.connect(kubeconfig=path):
            pass
    assert "certificate is not verified" in caplog.text


async def test_an_invalid_ca_is_reported_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("not PEM")
    path = whole(tmp_path / "k", {"certificate-authority": "ca.crt"})
    with pytest.raises(NoCredentials, match=rf"context 'x'.*{tmp_path}/ca.crt.*must be PEM"):
        async with Cluster.connect(kubeconfig=path):
            pass


def test_two_ways_to_say_where_the_server_is_are_one_too_many() -> None:
    with pytest.raises(InvalidDefinition, match="not both"):
        Cluster.connect("https://a", kubeconfig="k")
    with pytest.raises(InvalidDefinition, match="need a url"):
        Cluster.connect(token="t")


@pytest.mark.cluster
async def test_the_real_cluster_is_reached_by_its_kubeconfig(
    real_control_plane: RealCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(real_control_plane.kubeconfig))
    async with Cluster.connect() as cluster:
        assert "default" in (await cluster.client.list(Namespace)).names
    async with Cluster.connect(kubeconfig=str(real_control_plane.kubeconfig), context="real") as cluster:
        assert await cluster.client.find(Namespace, "kube-system") is not None
