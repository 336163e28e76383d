"""The audit log of an embedded server: one line for each stage of each request of this program."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage.cluster.auditing import process_user
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.rest.users import acting_user
from pilotage.types.core.v1 import ConfigMap

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: RequestResponse, resources: [{group: "", resources: [configmaps]}], verbs: [create, list, delete]}
- {level: None}
"""


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_writes_and_reads_are_logged_with_the_user_of_the_process(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    async with pt.Cluster.embedded(audit_log_path=str(path)) as cluster:
        await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        with pytest.raises(pt.NotFound):
            await cluster.client.get(ConfigMap, "b", namespace="default")
    found = [each for each in events(path) if each.get("objectRef", {}).get("resource") == "configmaps"]
    assert [(each["verb"], each["stage"]) for each in found] == [
        ("create", "RequestReceived"),
        ("create", "ResponseComplete"),
        ("get", "RequestReceived"),
        ("get", "ResponseComplete"),
    ]
    created, missing = found[1], found[3]
    assert created["user"] == {"username": pwd.getpwuid(os.geteuid()).pw_name, "uid": str(os.geteuid())}
    assert created["requestURI"].startswith("/api/v1/namespaces/default/configmaps")
    assert created["objectRef"] == {"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"}
    assert created["userAgent"] == "pilotage"
    assert (created["responseStatus"]["code"], missing["responseStatus"]["code"]) == (201, 404)
    assert "requestObject" not in created
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_policy_selects_requests_and_their_objects(tmp_path: Path) -> None:
    path, policy = tmp_path / "audit.log", tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    async with pt.Cluster.embedded(audit_log_path=str(path), audit_policy_file=str(policy)) as cluster:
        await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default"), data={"x": "1"}))
        await cluster.client.get(ConfigMap, "a", namespace="default")
        await cluster.client.list(ConfigMap, namespace="default")
        await cluster.client.delete(ConfigMap, "a", namespace="default")
    created, listed, deleted = events(path)
    assert created["requestObject"]["data"] == created["responseObject"]["data"] == {"x": "1"}
    assert "a" in [item["metadata"]["name"] for item in listed["responseObject"]["items"]]
    assert (deleted["verb"], deleted["stage"], deleted["responseStatus"]["code"]) == ("delete", "ResponseComplete", 200)


async def test_a_watch_is_logged_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    async with pt.Cluster.embedded(audit_log_path=str(path)) as cluster, cluster.client.watch(ConfigMap):
        pass
    stages = [each["stage"] for each in events(path) if each["verb"] == "watch"]
    assert stages == ["RequestReceived", "ResponseStarted", "ResponseComplete"]


async def test_a_request_with_a_user_is_logged_with_that_user(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    async with pt.Cluster.embedded(audit_log_path=str(path)) as cluster:
        request = APIRequest(
            Verb.GET, GroupVersionResource("", "v1", "configmaps"), "default", "a", user=acting_user("jane")
        )
        with pytest.raises(pt.Forbidden):
            await cluster.transport.call(request)
    last = events(path)[-1]
    assert (last["user"]["username"], last["responseStatus"]["code"]) == ("jane", 403)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"audit_policy_file": "p.yaml"}, "audit_policy_file needs audit_log_path"),
        ({"audit_log_path": "-"}, "is a file here"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(pt.InvalidDefinition, match=complaint):
        pt.Cluster.embedded(**arguments)


@pytest.mark.parametrize(
    ("log", "policy", "complaint"),
    [
        ("folder", "", "cannot open the audit log .*folder: Is a directory"),
        ("a.log", "missing.yaml", "cannot read the audit policy .*missing.yaml"),
    ],
)
async def test_files_that_cannot_be_opened_are_named(tmp_path: Path, log: str, policy: str, complaint: str) -> None:
    (tmp_path / "folder").mkdir()
    file = str(tmp_path / policy) if policy else ""
    cluster = pt.Cluster.embedded(audit_log_path=str(tmp_path / log), audit_policy_file=file)
    with pytest.raises(pt.InvalidDefinition, match=complaint):
        await cluster.__aenter__()


@pt.resource(group="audit.pilotage.dev", version="v1")
class Note(pt.Resource):
    pass


def test_a_light_cluster_logs_reads_and_writes(tmp_path: Path) -> None:
    path, policy = tmp_path / "audit.log", tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
    url = f"sqlite:{tmp_path}/notes.db"
    with pt.LightCluster(url, kinds=[Note], audit_log_path=str(path), audit_policy_file=str(policy)) as cluster:
        client = cluster.client
        made = cluster.run(client.create(Note(metadata=pt.ObjectMeta(name="a", namespace="default"))))
        cluster.run(client.get(Note, "a", namespace="default"))
        cluster.run(client.list(Note, namespace="default"))
        cluster.run(client.delete(made))
        with pytest.raises(pt.NotFound):
            cluster.run(client.get(Note, "a", namespace="default"))
    logged = [(each["verb"], each["responseStatus"]["code"]) for each in events(path) if "responseStatus" in each]
    assert logged == [("create", 201), ("get", 200), ("list", 200), ("delete", 200), ("get", 404)]
    assert {each["user"]["username"] for each in events(path)} == {process_user().name}
    (listed,) = [each for each in events(path) if each["verb"] == "list" and "responseObject" in each]
    assert [item["metadata"]["name"] for item in listed["responseObject"]["items"]] == ["a"]


def test_a_light_cluster_refuses_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(pt.InvalidDefinition, match="Is a directory"):
        pt.LightCluster("memory:", audit_log_path=str(tmp_path))


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    assert process_user().name == "uid:4000000"
