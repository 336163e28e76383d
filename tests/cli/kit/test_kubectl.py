"""The commands of the kit and the real kubectl on the same server: they must print the same."""

from __future__ import annotations

import difflib
import json
import re
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster
from pilotage import cli
from tests.cli.kit.tools import Result, captured
from tests.kubectl.transcripts import _MASKS as MASKS
from tests.kubectl.transcripts import Command, parse

pytestmark = pytest.mark.cluster
TRANSCRIPT = Path(__file__).parent / "transcript.txt"
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
CODES = {3: 1, 4: 1}
"""Exit codes of ours for which kubectl has one."""


class Kubectl:
    """The real one."""

    def __init__(self, program: Path, kubeconfig: Path, cache: Path) -> None:
        self._words = [str(program), "--kubeconfig", str(kubeconfig), "--cache-dir", str(cache)]

    def run(self, words: list[str], stdin: str = "") -> Result:
        ran = subprocess.run([*self._words, *words], input=stdin, capture_output=True, text=True, check=False)
        return Result(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def kubectl(real_control_plane: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    found = Kubectl(real_control_plane.kubectl, real_control_plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))
    applied = found.run(["apply", "-f", "-"], json.dumps(DEFINITION))
    assert applied.code == 0, applied
    found.run(["wait", "crd/kits.kit.example.com", "--for=condition=Established"])
    yield found
    found.run(["delete", "crd", "kits.kit.example.com"])


def masked(text: str, namespace: str) -> str:
    text = text.replace(namespace, "<ns>")
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    text = re.sub(r"^Error from server \(\w+\): error when (\w+) .*?: ", r"Error when \1: ", text, flags=re.MULTILINE)
    return re.sub(r'"STDIN"|"-"', "<stdin>", text)


def ours(words: list[str], stdin: str, kubeconfig: Path) -> Result:
    result = captured(lambda: cli.main([*words, "--kubeconfig", str(kubeconfig)]), stdin)
    return Result(CODES.get(result.code, result.code), result.output, result.errors)


def report(command: Command, expected: Result, found: Result) -> str:
    lines = [f"line {command.line}: {command.text} (exit code {found.code}, kubectl {expected.code})"]
    for one, other in ((expected.output, found.output), (expected.errors, found.errors)):
        lines += list(difflib.unified_diff(one.splitlines(), other.splitlines(), "kubectl", "ours", n=1, lineterm=""))[
            :30
        ]
    return "\n    ".join(lines)


def test_the_kit_prints_what_kubectl_prints(kubectl: Kubectl, real_control_plane: RealCluster) -> None:
    different = compare(kubectl, real_control_plane.kubeconfig)
    assert not different, f"{len(different)} command lines differ\n" + "\n".join(different)


def compare(kubectl: Kubectl, kubeconfig: Path) -> list[str]:
    theirs, own = (f"kit-{secrets.token_hex(4)}" for _ in range(2))
    for namespace in (theirs, own):
        assert kubectl.run(["create", "namespace", namespace]).code == 0
    different = []
    for command in parse(TRANSCRIPT.read_text()):
        words, stdin = shlex.split(command.text), command.stdin or ""
        is_namespaced = words[0] not in ("api-resources", "explain")
        expected = kubectl.run([*words, *(["-n", theirs] if is_namespaced else [])], stdin)
        found = ours([*words, *(["-n", own] if is_namespaced else [])], stdin, kubeconfig)
        expected = Result(expected.code, masked(expected.output, theirs), masked(expected.errors, theirs))
        found = Result(found.code, masked(found.output, own), masked(found.errors, own))
        if expected != found:
            different.append(report(command, expected, found))
    for namespace in (theirs, own):
        kubectl.run(["delete", "namespace", namespace, "--wait=false"])
    return different
