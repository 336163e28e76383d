"""The command, on whole programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pilotage import cli
from pilotage.meta.text import yamltext
from pilotage.rest.permission import rule_line

from ..programs import OPERATOR, WEBHOOKS, program, reconciling

pytestmark = pytest.mark.usefixtures("own_imports")

RULES = """
{apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "patch"]}
{apiGroups: [""], resources: ["events"], verbs: ["create", "patch"]}
{apiGroups: ["greetings.example.com"], resources: ["greetings"], verbs: ["get", "list", "watch"]}
{apiGroups: ["greetings.example.com"], resources: ["greetings/finalizers"], verbs: ["update"]}
{apiGroups: ["greetings.example.com"], resources: ["greetings/status"], verbs: ["patch"]}
""".strip().splitlines()
LEASES = """
{apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"]}
{apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: ["operator--leader"], verbs: ["get", "watch", "update"]}
""".strip().splitlines()  # noqa: E501


def rules(text: str, kind: str) -> list[str]:
    return [rule_line(rule) for each in yamltext.read_all(text) if each["kind"] == kind for rule in each["rules"]]


def test_a_program_gets_the_least_roles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rbac", program(tmp_path), "--name", "greetings"]) == 0
    text = capsys.readouterr().out
    assert rules(text, "ClusterRole") == RULES
    assert rules(text, "Role") == [line.replace("operator-", "greetings") for line in LEASES]
    assert [each["metadata"] for each in yamltext.read_all(text)] == [
        {"name": "greetings-manager"},
        {"name": "greetings-leader-election", "namespace": "greetings-system"},
    ]


def test_each_permission_is_explained_with_the_line_that_needs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["rbac", program(tmp_path), "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    line = 1 + (tmp_path / "operator_.py").read_text().splitlines().index(
        '        await self.client.patch_status(greeting, {"status": {"seen": "yes"}})'
    )
    shown = [each for each in lines if each.startswith("patch greetings.greetings.example.com/status ")]
    assert [each.split(maxsplit=2)[2] for each in shown] == [f"operator_.py:{line} patch_status(Greeting)"]


def test_a_check_passes_for_what_was_written_and_shows_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, file = program(tmp_path), tmp_path / "role.yaml"
    assert cli.main(["rbac", target, "--output", str(file)]) == 0
    assert cli.main(["rbac", target, "--check", str(file)]) == 0
    file.write_text(file.read_text().replace("  - configmaps\n", "  - secrets\n"))
    capsys.readouterr()
    assert cli.main(["rbac", target, "--check", str(file)]) == 1
    shown = capsys.readouterr()
    assert {"-  - secrets", "+  - configmaps"} <= set(shown.out.splitlines())
    assert "is not what the program needs" in shown.err


def test_other_namespaces_and_no_election_are_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--watch-namespace", "a", "--watch-namespace", "b", "--no-leader-elect"]
    assert cli.main(["rbac", program(tmp_path), *options]) == 0
    documents = yamltext.read_all(capsys.readouterr().out)
    assert [(each["kind"], each["metadata"]["namespace"]) for each in documents] == [("Role", "a"), ("Role", "b")]


def test_webhooks_need_their_certificate_and_their_configurations_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = program(tmp_path, OPERATOR + WEBHOOKS)
    assert cli.main(["rbac", f"{target}:add_webhooks", "--no-leader-elect"]) == 0
    text = capsys.readouterr().out
    names = '["mutate-v1.greetings.greetings.example.com"]'
    assert rules(text, "ClusterRole") == [
        '{apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingwebhookconfigurations"], '
        f'resourceNames: {names}, verbs: ["get", "patch"]}}'
    ]
    assert rules(text, "Role") == [
        '{apiGroups: [""], resources: ["secrets"], verbs: ["create"]}',
        '{apiGroups: [""], resources: ["secrets"], resourceNames: ["pilotage-webhook-certificate"], '
        'verbs: ["get", "update"]}',
    ]


def test_events_are_written_to_the_api_of_their_recorder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = OPERATOR.replace(
        'event_recorder_for("greetings")', 'event_recorder_for("a", api_version="events.k8s.io/v1")'
    )
    assert cli.main(["rbac", program(tmp_path, text)]) == 0
    expected = '{apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"]}'
    assert [rule for rule in rules(capsys.readouterr().out, "ClusterRole") if '"events"' in rule] == [expected]


def test_a_further_cluster_has_a_role_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = """
async def on_two(manager: pt.Manager) -> None:
    member = await manager.add_cluster(pt.Cluster.embedded(), name="edge")
    builder = pt.ControllerBuilder(manager).for_(Greeting)
    builder.watches(Pod, pt.enqueue_request_for_object, cluster=member).complete(GreetingReconciler(manager))
"""
    target = f"{program(tmp_path, OPERATOR + more)}:on_two"
    assert cli.main(["rbac", target]) == 0
    shown = capsys.readouterr()
    assert "pods" not in shown.out
    assert "pilotage rbac --cluster edge" in shown.err
    assert cli.main(["rbac", target, "--cluster", "edge"]) == 0
    expected = ['{apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"]}']
    assert rules(capsys.readouterr().out, "ClusterRole") == expected


def test_kinds_of_the_device_api_are_not_in_the_roles_of_the_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = """
from pilotage.device.v1alpha1 import GPU

def on_a_node(manager: pt.Manager) -> None:
    manager.add_device_api("unix:///nowhere/device.sock")
    pt.ControllerBuilder(manager).for_(GPU).complete(GreetingReconciler(manager))
"""
    assert cli.main(["rbac", f"{program(tmp_path, OPERATOR + more)}:on_a_node"]) == 0
    found = rules(capsys.readouterr().out, "ClusterRole")
    assert found
    assert "gpus" not in str(found)


def test_a_selector_of_namespaces_and_a_coordinated_election_need_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = """
manager = pt.Manager(
    pt.Cluster.embedded(),
    pt.ManagerOptions(
        namespace_selector={"tenant": "yes"},
        leader_election=True,
        leader_election_id="operator",
        leader_election_namespace="home",
        leader_election_candidate=pt.manager.CandidateOptions("1.0.0"),
    ),
)
"""
    text = OPERATOR.partition("def config_map_of")[0] + more
    assert cli.main(["rbac", f"{program(tmp_path, text)}:manager", "--namespace", "home"]) == 0
    shown = capsys.readouterr().out
    assert '{apiGroups: [""], resources: ["namespaces"], verbs: ["list", "watch"]}' in rules(shown, "ClusterRole")
    candidates = '{apiGroups: ["coordination.k8s.io"], resources: ["leasecandidates"], '
    assert any(rule.startswith(candidates) for rule in rules(shown, "Role"))


def test_a_manager_of_the_program_has_its_own_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = """
manager = pt.Manager(
    pt.Cluster.embedded(),
    pt.ManagerOptions(
        cache=pt.CacheOptions(default_namespaces=["team"]),
        shards="greetings",
        leader_election_namespace="home",
        metrics_bind_address=":9090",
        metrics_filter=pt.with_authentication_and_authorization,
    ),
)

async def start() -> None:
    await manager.api_reader.list(Pod, namespace="team")

manager.add(start)
"""
    text = OPERATOR.partition("def config_map_of")[0] + more
    assert cli.main(["rbac", f"{program(tmp_path, text)}:manager", "--namespace", "home"]) == 0
    found = {
        (each["kind"], each["metadata"].get("namespace"), rule_line(rule))
        for each in yamltext.read_all(capsys.readouterr().out)
        for rule in each["rules"]
    }
    leases = '{apiGroups: ["coordination.k8s.io"], resources: ["leases"], '
    assert found == {
        ("Role", "team", '{apiGroups: [""], resources: ["pods"], verbs: ["list"]}'),
        ("Role", "home", leases + 'verbs: ["get", "list", "create", "update", "delete"]}'),
        ("ClusterRole", None, '{apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"]}'),
        (
            "ClusterRole",
            None,
            '{apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"]}',
        ),
    }


RUN = """
import asyncio
import pilotage as pt
from operator_ import Greeting, GreetingSpec, Secret, setup

async def test_run() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        await manager.cluster.install(Greeting)
        setup(manager)
        meta = pt.ObjectMeta(name="a", namespace="default")
        await manager.client.create(Greeting(metadata=meta, spec=GreetingSpec()))
        await manager.run_until_idle(timeout=30)
        await manager.client.find(Secret, "a", namespace="default")

asyncio.run(test_run())
"""


def test_a_recorded_run_adds_what_only_the_run_shows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = """
    greeting = await self.client.get(Greeting, request)
    for name in ("create",):
        meta = pt.ObjectMeta(generate_name="a-", namespace="default")
        await getattr(self.client, name)(ConfigMap(metadata=meta))
    await self.client.patch_status(greeting, {"status": {"seen": "yes"}})
    if request.name == "never":
        await self.client.delete(greeting)
    """
    target = program(tmp_path, reconciling(body))
    program(tmp_path, RUN, "run.py")
    command = ["rbac", target, "--record", "rules.json", "--", sys.executable, "run.py"]
    assert cli.main(command) == 0
    shown = capfd.readouterr()
    assert '{apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create"]}' in rules(
        shown.out, "ClusterRole"
    )
    assert "secrets" not in shown.out, "what the test reads is not what the program needs"
    assert "customresourcedefinitions" not in shown.out
    explained = {line.split("  ")[0]: line for line in shown.err.splitlines()}
    assert "seen in the run" in explained["create configmaps"]
    assert explained["delete greetings.greetings.example.com"].endswith("not seen")
    assert explained["list configmaps"].endswith("by the library")
    for permission in ("list greetings.greetings.example.com", "patch greetings.greetings.example.com/status"):
        assert "operator_.py:" in explained[permission].rpartition("  ")[2]
    seen = json.loads((tmp_path / "rules.json").read_text())
    assert {"verb": "create", "resource": "configmaps"}.items() <= {**seen[0]}.items()
    assert cli.main(["rbac", target, "--seen", "rules.json"]) == 0
    assert capfd.readouterr().out == shown.out, "the same from the file"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no TARGET is given, such as guestbook.operator"),
        (["operator_.py", "--record", "a.json"], "--record needs a command"),
        (["operator_.py", "--", "pytest"], "a command after -- needs --record FILE"),
        (["operator_.py", "--seen", "none.json"], "cannot read none.json"),
        (["operator_.py", "--record", "a.json", "--", "no-such-program"], "cannot run no-such-program"),
        (["operator_.py", "--record", "a.json", "--", "true"], "sent no request that could be recorded"),
        (["operator_.py", "--cluster", "edge"], "declares nothing for a cluster 'edge'"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    program(tmp_path)
    assert cli.main(["rbac", *arguments]) == 1
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


def test_the_target_of_the_project_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(tmp_path)
    settings = '[project]\nname = "greetings"\n[tool.pilotage]\ntarget = "operator_.py:setup"\nnamespace = "greet"\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    assert cli.main(["rbac"]) == 0
    text = capsys.readouterr().out
    assert rules(text, "ClusterRole") == RULES
    assert "namespace: greet\n" in text
