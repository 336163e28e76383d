"""The command, on whole programs: which files it writes, leaves unchanged, and compares."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest

from pilotage import cli
from pilotage.cli.manifests import objects
from pilotage.cli.manifests.settings import InstallationSettings
from pilotage.cli.rbac.grants import Installation
from pilotage.manager.options import ManagerOptions
from pilotage.meta.text import yamltext
from pilotage.webhook.addresses import ServiceAddress
from pilotage.webhook.conversion.declaration import ConversionDeclaration
from pilotage.webhook.options import WebhookServerOptions

from ..programs import OPERATOR, WEBHOOKS, program

pytestmark = pytest.mark.usefixtures("own_imports")

NAME = ["--name", "greetings"]


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def documents(text: str) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["metadata"]["name"]): each for each in yamltext.read_all(text)}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[tuple[str, str], Any]:
    assert cli.main(["manifests", *arguments]) == 0
    return documents(capsys.readouterr().out)


def test_without_a_folder_the_plain_manifests_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, program(tmp_path), *NAME)
    assert list(found) == [
        ("Namespace", "greetings-system"),
        ("CustomResourceDefinition", "greetings.greetings.example.com"),
        ("ServiceAccount", "greetings"),
        ("ClusterRole", "greetings-manager"),
        ("ClusterRoleBinding", "greetings-manager"),
        ("Role", "greetings-leader-election"),
        ("RoleBinding", "greetings-leader-election"),
        ("Service", "greetings-metrics"),
        ("Deployment", "greetings"),
        ("NetworkPolicy", "greetings"),
    ]


def test_the_deployment_runs_the_program_with_the_flags_of_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = program(tmp_path)
    options = [*NAME, "--image", "registry.example/greetings:2", "--watch-namespace", "a", "--watch-namespace", "b"]
    pod = printed(capsys, target, *options)["Deployment", "greetings"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert (container["image"], container["command"]) == ("registry.example/greetings:2", ["pilotage", "run"])
    assert container["args"] == [
        target,
        "--leader-elect",
        "--leader-election-id=greetings-leader",
        "--namespace=a,b",
        "--metrics-bind-address=:8080",
        "--health-probe-bind-address=:8081",
        "--log-format=json",
    ]
    assert pod["serviceAccountName"] == "greetings"


def test_pilotage_run_understands_the_arguments_of_the_deployment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{program(tmp_path, OPERATOR + WEBHOOKS)}:with_webhooks"
    assert cli.main(["manifests", target, *NAME, "--watch-namespace", "a", "--output", "deploy"]) == 0
    plain = documents((tmp_path / "deploy" / "install.yaml").read_text())
    arguments = plain["Deployment", "greetings"]["spec"]["template"]["spec"]["containers"][0]["args"]
    template = (tmp_path / "deploy" / "chart" / "templates" / "deployment.yaml").read_text()
    flags = set(re.findall(r"- (--[a-z-]+)", template))
    assert {argument.partition("=")[0] for argument in arguments[1:]} <= flags
    known = {option for action in _actions("run") for option in action.option_strings}
    assert flags - known == set()
    parsed = cli.parser(["run"]).parse_args(["run", *arguments])
    assert (parsed.leader_elect, parsed.namespace, parsed.log_format) == (True, ["a"], "json")


def _actions(command: str) -> list[argparse.Action]:
    [subparsers] = [each for each in cli.parser([command])._actions if isinstance(each, argparse._SubParsersAction)]
    found: list[argparse.Action] = subparsers.choices[command]._actions
    return found


def test_a_namespace_of_every_cluster_is_not_generated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, program(tmp_path), *NAME, "--namespace", "default")
    assert "Namespace" not in {kind for kind, _ in found}
    assert found["Deployment", "greetings"]["metadata"]["namespace"] == "default"


def test_webhooks_have_a_service_and_configurations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, f"{program(tmp_path, OPERATOR + WEBHOOKS)}:with_webhooks", *NAME)
    configuration = found["MutatingWebhookConfiguration", "mutate-v1.greetings.greetings.example.com"]
    reference = configuration["webhooks"][0]["clientConfig"]["service"]
    assert (reference["name"], reference["namespace"]) == ("greetings-webhook-service", "greetings-system")
    service = found["Service", "greetings-webhook-service"]["spec"]
    pod = found["Deployment", "greetings"]["spec"]["template"]
    assert "--webhook-service=greetings-webhook-service" in pod["spec"]["containers"][0]["args"]
    secrets = [rule for rule in found["Role", "greetings-webhook"]["rules"] if "resourceNames" in rule]
    assert secrets[0]["resourceNames"] == ["greetings-webhook-service-certificate"]
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    assert service["ports"][0]["targetPort"] == ports["webhooks"] == 9443
    assert found["NetworkPolicy", "greetings"]["spec"]["ingress"][1] == {"ports": [{"port": 9443, "protocol": "TCP"}]}


PODS = """

class Labels:
    async def default(self, pod: Pod) -> None: ...


async def review(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    return pt.allowed()


def with_pods(manager: pt.Manager) -> None:
    add_webhooks(manager)
    pt.WebhookBuilder(manager).for_(Pod).with_defaulter(Labels()).complete()


def with_certificates(manager: pt.Manager) -> None:
    add_webhooks(manager)
    kind = pt.GroupVersionKind("cert-manager.io", "v1", "Certificate")
    pt.WebhookBuilder(manager).for_(kind).with_mutating_handler(review).complete()


def with_named_certificates(manager: pt.Manager) -> None:
    add_webhooks(manager)
    kind = pt.GroupVersionKind("cert-manager.io", "v1", "Certificate")
    builder = pt.WebhookBuilder(manager).for_(kind).with_mutating_handler(review)
    builder.named("certificates.greetings.example.com").complete()
"""


def test_a_configuration_for_a_built_in_kind_has_the_name_of_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = program(tmp_path, OPERATOR + WEBHOOKS + PODS)
    assert cli.main(["manifests", f"{target}:with_pods", *NAME]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("name: operator-mutate-v1.pods.core\n") == 2
    assert "has this name" not in printed.err


def test_a_configuration_whose_name_another_program_has_too_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = program(tmp_path, OPERATOR + WEBHOOKS + PODS)
    note = (
        "pilotage: the configuration mutate-v1.certificates.cert-manager.io has this name in every program with such a "
        'webhook for certificates, which replace each other\'s: call named("certificates.YOUR.GROUP") of its '
        "WebhookBuilder\n"
    )
    assert cli.main(["manifests", f"{target}:with_certificates", *NAME]) == 0
    assert note in capsys.readouterr().err
    assert cli.main(["manifests", f"{target}:with_named_certificates", *NAME]) == 0
    printed = capsys.readouterr()
    assert "name: mutate.certificates.greetings.example.com" in printed.out
    assert "has this name" not in printed.err


def test_all_names_carry_the_prefix_of_the_program(tmp_path: Path) -> None:
    target = f"{program(tmp_path, OPERATOR + WEBHOOKS)}:with_webhooks"
    assert cli.main(["manifests", target, *NAME, "--output", str(tmp_path / "deploy")]) == 0
    files = [path for path in (tmp_path / "deploy").rglob("*.yaml") if path.name not in ("values.yaml", "Chart.yaml")]
    found = {
        (path.name, name)
        for path in files
        for name in re.findall(r"^(?:metadata:\n)?  (?:name|secretName): (\S+)$", path.read_text(), re.MULTILINE)
    }
    assert len(found) > 10
    assert {(file, name) for file, name in found if "greetings" not in name} == set()
    assert "webhook-service.greetings-system" not in "".join(path.read_text() for path in files).replace(
        "greetings-webhook-service", ""
    )


@pytest.mark.parametrize(
    ("options", "own_manager", "name"),
    [
        (WebhookServerOptions(), False, "a-webhook-service"),
        (WebhookServerOptions(), True, "webhook-service"),
        (WebhookServerOptions(service_name="mine"), True, "mine"),
        (WebhookServerOptions(service=ServiceAddress("theirs", "b")), False, "theirs"),
    ],
)
def test_a_manager_of_the_program_takes_no_flag_so_its_service_has_the_name_of_its_options(
    options: WebhookServerOptions, own_manager: bool, name: str
) -> None:
    class Declared:
        webhook_options = options
        webhooks = ()

    declared: Any = Declared()
    declared.options = ManagerOptions() if own_manager else None
    settings = InstallationSettings(Installation("a", "b"), "image", "target", declared, ())
    assert objects.webhook_options(settings).service == name
    flags = [word for word in settings.arguments if word.startswith("--webhook-service")]
    assert flags == (["--webhook-service=a-webhook-service"] if name.startswith("a-") else [])


def test_a_further_cluster_has_no_part_in_the_roles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = """
async def on_two(manager: pt.Manager) -> None:
    member = await manager.add_cluster(pt.Cluster.embedded(), name="edge")
    builder = pt.ControllerBuilder(manager).for_(Greeting)
    builder.watches(Pod, pt.enqueue_request_for_object, cluster=member).complete(GreetingReconciler(manager))
"""
    assert cli.main(["manifests", f"{program(tmp_path, OPERATOR + more)}:on_two", *NAME]) == 0
    shown = capsys.readouterr()
    assert "pods" not in str(documents(shown.out)["ClusterRole", "greetings-manager"]["rules"])
    assert "pilotage rbac --cluster edge" in shown.err


def test_a_second_run_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["manifests", f"{program(tmp_path, OPERATOR + WEBHOOKS)}:with_webhooks", "--output", "deploy"]
    assert cli.main(command) == 0
    first = tree(tmp_path / "deploy")
    assert {name.partition("/")[0] for name in first} == {"install.yaml", "base", "components", "overlays", "chart"}
    capsys.readouterr()
    assert cli.main(command) == 0
    assert tree(tmp_path / "deploy") == first
    assert capsys.readouterr().out == "deploy is up to date\n"
    assert cli.main([*command, "--check"]) == 0


def test_a_check_shows_what_a_change_of_the_program_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["manifests", program(tmp_path), "--output", "deploy"]
    assert cli.main(command) == 0
    assert cli.main([*command, "--check", "--image", "other:1"]) == 1
    shown = capsys.readouterr()
    assert "+        image: other:1" in shown.out.splitlines()
    assert "deploy is outdated" in shown.err
    assert cli.main([*command, "--check"]) == 0, "nothing was written"


def test_files_of_the_user_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["manifests", program(tmp_path), "--output", "deploy"]
    assert cli.main(command) == 0
    folder = tmp_path / "deploy"
    (folder / "samples.yaml").write_text("kind: Greeting\n")
    overlay = folder / "overlays" / "production" / "kustomization.yaml"
    overlay.write_text("# mine\n")
    assert cli.main([*command, "--image", "other:1"]) == 0
    assert (folder / "samples.yaml").read_text() == "kind: Greeting\n"
    assert overlay.read_text() == "# mine\n"
    assert "image: other:1" in (folder / "install.yaml").read_text()


def test_a_generated_file_that_was_changed_is_overwritten_only_by_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["manifests", program(tmp_path), "--output", "deploy"]
    assert cli.main(command) == 0
    before = tree(tmp_path / "deploy")
    changed = tmp_path / "deploy" / "base" / "deployment.yaml"
    changed.write_text(changed.read_text().replace("replicas: 1", "replicas: 5"))
    capsys.readouterr()
    assert cli.main([*command, "--image", "other:1"]) == 1
    assert "deploy/base/deployment.yaml; move your changes" in capsys.readouterr().err
    assert {**tree(tmp_path / "deploy"), "base/deployment.yaml": before["base/deployment.yaml"]} == before
    assert cli.main([*command, "--force"]) == 0
    assert tree(tmp_path / "deploy") == before


def test_a_generated_file_that_is_no_longer_needed_is_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = program(tmp_path, OPERATOR + WEBHOOKS)
    assert cli.main(["manifests", f"{target}:with_webhooks", "--output", "deploy"]) == 0
    assert (tmp_path / "deploy" / "base" / "webhooks.yaml").exists()
    without = ["manifests", f"{target}:setup", "--output", "deploy"]
    assert cli.main([*without, "--check"]) == 1
    assert cli.main(without) == 0
    assert not (tmp_path / "deploy" / "base" / "webhooks.yaml").exists()
    assert cli.main([*without, "--check"]) == 0


def test_in_a_project_its_settings_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(tmp_path)
    settings = '[project]\nname = "greet"\n[tool.pilotage]\ntarget = "operator_.py:setup"\nimage = "greet:7"\n'
    (tmp_path / "pyproject.toml").write_text(f'{settings}deploy = "config"\n')
    assert cli.main(["manifests"]) == 0
    found = documents((tmp_path / "config" / "install.yaml").read_text())
    container = found["Deployment", "greet"]["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["args"][0]) == ("greet:7", "operator_.py:setup")
    assert cli.main(["manifests", "--check"]) == 0


def test_a_conversion_webhook_is_part_of_the_crd() -> None:
    class Declared:
        webhook_options = WebhookServerOptions()
        webhooks = (ConversionDeclaration("greetings.example.com"),)
        options = None

    definition = {"metadata": {"name": "greetings.example.com"}, "spec": {"group": "example.com"}}
    declared: Any = Declared()
    settings = InstallationSettings(Installation("a", "b"), "image", "target", declared, (), (definition,))
    [made] = objects.definitions(settings)
    assert made["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["namespace"] == "b"
    assert objects.webhooks(settings) == []
