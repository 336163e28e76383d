"""The commands of the kit and the real kubectl on the same server: they must print the same."""

from __future__ import annotations

import difflib
import json
import re
import secrets
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster
from pilotage import cli
from tests.environments import WITHIN
from tests.kit.tools import Result, captured
from tests.kubectl.transcripts import _MASKS as MASKS
from tests.kubectl.transcripts import Command, parse

pytestmark = pytest.mark.cluster
TRANSCRIPTS = ("transcript.txt", "mistakes.txt")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "kits.kit.example.com"},
    "spec": {
        "group": "kit.example.com",
        "names": {"kind": "Kit", "plural": "kits", "singular": "kit", "shortNames": ["kt"], "categories": ["tools"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Text", "type": "string", "jsonPath": ".spec.text"},
                    {"name": "Tags", "type": "string", "jsonPath": ".spec.tags", "priority": 1},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": ("A kit of parts. " * 8).strip(),
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0, "description": "How many parts."},
                                    "text": {"type": "string"},
                                    "mode": {"type": "string", "enum": ["", "a", "b", "c", "d"]},
                                    "tags": {"type": "array", "items": {"type": "string"}},
                                    "inner": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}
CODES = {2: 1, 3: 1, 4: 1}
"""Exit codes of ours for which kubectl has one."""


class Kubectl:
    """The real one."""

    def __init__(self, program: Path, kubeconfig: Path, cache: Path) -> None:
        self._words = [str(program), "--kubeconfig", str(kubeconfig), "--cache-dir", str(cache)]

    def run(self, words: list[str], stdin: str = "") -> Result:
        ran = subprocess.run([*self._words, *words], input=stdin, capture_output=True, text=True, check=False)
        return Result(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def kubectl(own_control_plane: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    found = Kubectl(own_control_plane.kubectl, own_control_plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))
    applied = found.run(["apply", "-f", "-"], json.dumps(DEFINITION))
    assert applied.code == 0, applied
    for words in (
        ["wait", "crd/kits.kit.example.com", "--for=condition=Established"],
        ["get", "kits"],
        ["explain", "kits"],
    ):
        deadline = (
            time.monotonic() + WITHIN
        )  # discovery and OpenAPI follow a moment after the definition is established
        while (ran := found.run(words)).code:
            assert time.monotonic() < deadline, ran
    yield found
    found.run(["delete", "crd", "kits.kit.example.com"])


def masked(text: str, namespace: str) -> str:
    text = re.sub(r"^[IWEF]\d{4} .*\n", "", text, flags=re.MULTILINE)  # of the log of kubectl
    text = text.replace(namespace, "<ns>")
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    text = re.sub(r"^Error from server \(\w+\): error when (\w+) .*?: ", r"Error when \1: ", text, flags=re.MULTILINE)
    text = re.sub(r" +$", "", text, flags=re.MULTILINE)
    return re.sub(r'"STDIN"|"-"', "<stdin>", text)


def ours(kubeconfig: Path, words: list[str], stdin: str) -> Result:
    result = captured(lambda: cli.main([*words, "--kubeconfig", str(kubeconfig)]), stdin)
    return Result(CODES.get(result.code, result.code), result.output, result.errors)


def report(command: Command, expected: Result, found: Result) -> str:
    lines = [f"line {command.line}: {command.text} (exit code {found.code}, kubectl {expected.code})"]
    for one, other in ((expected.output, found.output), (expected.errors, found.errors)):
        lines += list(difflib.unified_diff(one.splitlines(), other.splitlines(), "kubectl", "ours", n=1, lineterm=""))[
            :30
        ]
    return "\n    ".join(lines)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_kit_prints_what_kubectl_prints(name: str, kubectl: Kubectl, own_control_plane: RealCluster) -> None:
    commands = list(parse((Path(__file__).parent / name).read_text()))
    different = compare(commands, kubectl, own_control_plane.kubeconfig)
    assert not different, f"{len(different)} command lines differ\n" + "\n".join(different)


def compare(commands: list[Command], kubectl: Kubectl, kubeconfig: Path) -> list[str]:
    """The command lines that print something else; both programs run at the same time."""
    theirs, own = (f"kit-{secrets.token_hex(4)}" for _ in range(2))
    for namespace in (theirs, own):
        assert kubectl.run(["create", "namespace", namespace]).code == 0
    with ThreadPoolExecutor(1) as pool:
        expected = pool.submit(lambda: [in_namespace(kubectl.run, command, theirs) for command in commands])
        found = [in_namespace(partial(ours, kubeconfig), command, own) for command in commands]
        different = [
            report(command, one, other)
            for command, one, other in zip(commands, expected.result(), found, strict=True)
            if one != other
        ]
    for namespace in (theirs, own):
        kubectl.run(["delete", "namespace", namespace, "--wait=false"])
    return different


def in_namespace(run: Callable[[list[str], str], Result], command: Command, namespace: str) -> Result:
    words = shlex.split(command.text)
    words += [] if words[0] in ("api-resources", "explain") else ["-n", namespace]
    ran = run(words, command.stdin or "")
    return Result(ran.code, masked(ran.output, namespace), masked(ran.errors, namespace))
