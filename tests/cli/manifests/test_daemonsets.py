"""`pilotage manifests --device`: an API server accepts all of it, and it grants no more than needed."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster
from pilotage.cli import main
from pilotage.device.client.target import DEFAULT
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.objects import document_of
from pilotage.meta.text import yamltext
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import APIRequest, Verb

from ...environments import Environment, over_there
from ..programs import OPERATOR, WEBHOOKS, program

AGENT_MAY = {
    ("", "nodes", "get"),
    ("", "nodes", "list"),
    ("", "nodes", "watch"),
    ("", "nodes", "patch"),
    ("", "nodes/status", "patch"),
    ("", "events", "create"),
    ("", "events", "patch"),
}


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> list[Document]:
    """What is written to standard output, by default."""
    return manifests(capsys)


def manifests(capsys: pytest.CaptureFixture[str], *options: str) -> list[Document]:
    assert main(["manifests", "--device", *options]) == 0
    return yamltext.read_all(capsys.readouterr().out)


def one(documents: list[Document], kind: str, name: str) -> Document:
    (found,) = [each for each in documents if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def pod(documents: list[Document], component: str) -> Document:
    spec: Document = one(documents, "DaemonSet", f"device-api-{component}")["spec"]["template"]["spec"]
    return spec


def only_container(documents: list[Document], component: str) -> Document:
    (container,) = pod(documents, component)["containers"]
    return dict(container)


def variables(container: Document) -> Document:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


async def test_a_server_that_is_strict_takes_all_of_it_and_keeps_every_field(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace = f"device-{secrets.token_hex(4)}"
    strict = environment.client.with_field_validation("Strict")
    for document in manifests(capsys, "--namespace", namespace):
        stored = await strict.create(Unstructured(document))
        assert missing(document, document_of(stored)) == []
    assert environment.warnings == []


@pytest.mark.cluster
async def test_the_agent_gets_the_rights_it_needs_and_no_others(
    real_control_plane: RealCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace = f"device-{secrets.token_hex(4)}"
    async with over_there(real_control_plane) as environment:
        for document in manifests(capsys, "--namespace", namespace):
            await environment.client.create(Unstructured(document))
        for right in AGENT_MAY:
            assert await may(environment, f"{namespace}:device-api-agent", right), right
            assert not await may(environment, f"{namespace}:device-api-server", right), right
        for right in [("", "nodes", "delete"), ("", "nodes", "create"), ("", "secrets", "get"), ("", "pods", "list")]:
            assert not await may(environment, f"{namespace}:device-api-agent", right), right


async def may(environment: Environment, account: str, right: tuple[str, str, str]) -> bool:
    """Whether an account has a right, by the server's own authorizer."""
    group, resource, verb = right
    name, _, subresource = resource.partition("/")
    attributes = {"group": group, "resource": name, "subresource": subresource, "verb": verb}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": f"system:serviceaccount:{account}", "resourceAttributes": attributes},
    }
    reviews = GroupVersionResource("authorization.k8s.io", "v1", "subjectaccessreviews")
    answer = await environment.transport.call(APIRequest(Verb.CREATE, reviews, body=json.dumps(review).encode()))
    return bool(json.loads(answer.body)["status"]["allowed"])


def missing(wanted: object, found: object, path: str = "") -> list[str]:
    """Where the stored object lacks what was written; fields that the server added are ignored."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [place for key in wanted for place in missing(wanted[key], found.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [place for index, (a, b) in pairs for place in missing(a, b, f"{path}[{index}]")]
    return [] if wanted == found else [f"{path}: {wanted!r} became {found!r}"]


def test_the_agents_role_lists_single_rights_and_no_wildcards(written: list[Document]) -> None:
    rules = one(written, "ClusterRole", "device-api-device-api-agent")["rules"]
    assert {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    } == AGENT_MAY


@pytest.mark.parametrize("component", ["server", "agent"])
def test_a_container_is_confined(written: list[Document], component: str) -> None:
    context = pod(written, component)["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] not in (0, 65534)
    assert context["supplementalGroups"] == [5000]
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert only_container(written, component)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_root_does_nothing_but_hand_over_the_directory(written: list[Document]) -> None:
    (directory,) = pod(written, "server")["initContainers"]
    assert directory["command"] == [
        "sh",
        "-c",
        "install -d -m 0750 -o 65532 -g 5000 /var/run/nvidia-device-api"
        " && install -d -m 0700 -o 65532 -g 5000 /var/lib/nvidia-device-api",
    ]
    assert directory["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN", "FOWNER"]}
    assert "initContainers" not in pod(written, "agent")


def test_the_server_sees_all_gpus_and_asks_the_scheduler_for_none(written: list[Document]) -> None:
    spec, container = pod(written, "server"), only_container(written, "server")
    assert spec["runtimeClassName"] == "nvidia"
    assert spec["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    assert spec["automountServiceAccountToken"] is False
    assert variables(container)["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert variables(container)["NVIDIA_DRIVER_CAPABILITIES"] == "utility"
    assert "nvidia.com/gpu" not in str(container["resources"])


@pytest.mark.parametrize("component", ["server", "agent"])
def test_both_meet_at_the_same_socket_and_know_their_node(written: list[Document], component: str) -> None:
    container = only_container(written, component)
    assert variables(container)["NVIDIA_DEVICE_API_TARGET"] == DEFAULT
    assert variables(container)["NODE_NAME"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    volume, mount = pod(written, component)["volumes"][0], container["volumeMounts"][0]
    assert volume["hostPath"] == {"path": "/var/run/nvidia-device-api", "type": "DirectoryOrCreate"}
    assert (mount["mountPath"], mount.get("readOnly", False)) == ("/var/run/nvidia-device-api", component == "agent")


def test_the_server_keeps_its_objects_where_only_it_can_read(written: list[Document]) -> None:
    container = only_container(written, "server")
    assert "--storage=sqlite:/var/lib/nvidia-device-api/gpus.db" in container["args"]
    state = {"mountPath": "/var/lib/nvidia-device-api", "name": "state"}
    (prepared,) = pod(written, "server")["initContainers"]
    assert state in container["volumeMounts"]
    assert state in prepared["volumeMounts"]
    host_path = {"path": "/var/lib/nvidia-device-api", "type": "DirectoryOrCreate"}
    assert {"hostPath": host_path, "name": "state"} in pod(written, "server")["volumes"]
    assert "/var/lib" not in str(pod(written, "agent"))


def test_the_arguments_of_the_server_are_a_command_that_exists(written: list[Document]) -> None:
    from pilotage.cli import parser

    container = only_container(written, "server")
    assert container["command"] == ["pilotage"]
    options = parser().parse_args(container["args"])
    assert (options.provider, options.group, options.shutdown_grace_period) == (["nvml"], 5000, 25)


def test_names_images_and_command_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--name", "gpus", "--namespace", "kube-system", "--image", "one:1", "--agent-image", "two:2"]
    documents = manifests(capsys, *options, "--agent-command", "python -m 'my agent'")
    assert "Namespace" not in {document["kind"] for document in documents}
    assert {document["metadata"].get("namespace", "kube-system") for document in documents} == {"kube-system"}
    assert all("gpus-" in document["metadata"]["name"] for document in documents)
    server = one(documents, "DaemonSet", "gpus-server")["spec"]["template"]["spec"]
    agent = one(documents, "DaemonSet", "gpus-agent")["spec"]["template"]["spec"]["containers"][0]
    assert {each["image"] for each in server["containers"] + server["initContainers"]} == {"one:1"}
    assert (agent["image"], agent["command"]) == ("two:2", ["python", "-m", "my agent"])


def test_files_come_in_an_order_in_which_they_can_be_applied(tmp_path: Path) -> None:
    assert main(["manifests", "--device", "-o", str(tmp_path / "new")]) == 0
    kinds = {
        file.name: [document["kind"] for document in yamltext.read_all(file.read_text())]
        for file in sorted((tmp_path / "new").iterdir())
    }
    assert kinds == {
        "00-namespace.yaml": ["Namespace"],
        "10-server.yaml": ["ServiceAccount", "DaemonSet"],
        "20-agent.yaml": ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "DaemonSet"],
    }


@pytest.mark.parametrize("option", ["--name", "--namespace"])
def test_a_wrong_name_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["manifests", "--device", option, "Device"])
    assert raised.value.code == 2
    assert f"argument {option}: 'Device' " in capsys.readouterr().err
    assert main(["manifests", "--device", option, "a" * 41]) == 1
    assert "must be no more than 40 characters" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", "'"])
def test_a_command_that_is_none_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--device", "--agent-command", command]) == 1
    assert capsys.readouterr().err.startswith("pilotage: --agent-command ")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["manifests", "--device", "-o", str(tmp_path / "file" / "x")]) == 1
    assert capsys.readouterr().err.startswith(f"pilotage: cannot write to {tmp_path}/file/x: ")


def test_neither_grpc_nor_a_cluster_is_needed_to_write_them() -> None:
    program = (
        "import sys; sys.modules['grpclib'] = sys.modules['google.protobuf'] = None\n"
        "from pilotage.cli import main; sys.exit(main(['manifests', '--device']))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


AGENT = """
import pilotage as pt
from pilotage.device.v1alpha1 import GPU
from pilotage.types.core.v1 import ConfigMap, Node


class Agent:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        gpus = await self.client.list(GPU)
        await self.client.patch(ConfigMap, {"data": {"gpus": str(len(gpus))}}, name=request.name, namespace="gpus")


def setup(manager: pt.Manager) -> None:
    manager.add_device_api()
    here = pt.enqueue_requests_from(lambda gpu: [pt.Request("here")])
    pt.ControllerBuilder(manager).for_(Node).watches(GPU, here).complete(Agent(manager))
"""


@pytest.mark.usefixtures("own_imports")
def test_a_target_is_the_agent_with_its_roles_its_command_and_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gpu_counter.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    written = manifests(capsys, "gpu_counter.py", "--image", "registry.example/counter:1")
    spec = one(written, "DaemonSet", "gpu-counter-agent")["spec"]["template"]["spec"]
    [container] = spec["containers"]
    assert container["image"] == "registry.example/counter:1"
    assert (container["command"], container["args"][0]) == (["pilotage", "run"], "gpu_counter.py")
    assert "--leader-elect" not in container["args"]
    assert container["livenessProbe"]["httpGet"]["port"] == "health"
    assert {(each["kind"], each["metadata"]["name"]) for each in written if "Role" in each["kind"]} == {
        ("ClusterRole", "gpu-counter-agent-manager"),
        ("ClusterRoleBinding", "gpu-counter-agent-manager"),
    }
    assert one(written, "ClusterRole", "gpu-counter-agent-manager")["rules"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
    ]
    [subject] = one(written, "ClusterRoleBinding", "gpu-counter-agent-manager")["subjects"]
    assert one(written, "ServiceAccount", subject["name"])["metadata"]["namespace"] == subject["namespace"]
    assert all("gpu-counter" in each["metadata"]["name"] for each in written)


@pytest.mark.usefixtures("own_imports")
def test_in_a_project_its_program_is_the_agent_and_a_command_can_replace_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gpu_counter.py").write_text(AGENT)
    project = (
        '[project]\nname = "counter"\n[tool.pilotage]\ntarget = "gpu_counter:setup"\nimage = "registry.example/c:2"\n'
    )
    (tmp_path / "pyproject.toml").write_text(project)
    monkeypatch.chdir(tmp_path)
    written = manifests(capsys, "--agent-command", "python -m gpu_counter")
    [container] = one(written, "DaemonSet", "counter-agent")["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "-m", "gpu_counter"]
    assert "args" not in container
    assert container["image"] == "registry.example/c:2"
    assert one(written, "ClusterRole", "counter-agent-manager")["rules"][0]["resources"] == ["configmaps"]


@pytest.mark.usefixtures("own_imports")
def test_an_agent_with_webhooks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{program(tmp_path, OPERATOR + WEBHOOKS)}:with_webhooks"
    assert main(["manifests", "--device", target]) == 1
    assert "has webhooks, which an agent on each node cannot serve" in capsys.readouterr().err
