"""Completion of a tool: its commands, its types, and the names in its storage."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pilotage import cli, kit
from pilotage.types.core.v1 import Secret
from tests.kit.console.shells.shells import interactive, needs, read_until
from tests.kit.tools import Console, captured, todo_tool

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("filled")


@pytest.fixture(scope="module")
def filled(folder: Path) -> Console:
    """A tool whose storage has objects, for all tests that only read them."""
    todo = Console(todo_tool(folder))
    todo.output("create", "todo", "milk", "--set", "spec.text=x", "--no-reconcile")
    todo.output("create", "todo", "mustard", "--set", "spec.text=x", "--no-reconcile")
    todo.output("label", "todo", "milk", "shop=market", "urgent=yes", "--no-reconcile")
    todo.output("label", "todo", "mustard", "shop=deli", "--no-reconcile")
    todo.output("create", "namespace", "work", "--no-reconcile")
    todo.output("create", "todo", "report", "-n", "work", "--set", "spec.text=x", "--no-reconcile")
    todo.output("create", "todo", "plan", "--tenant", "team-a", "--set", "spec.text=x", "--no-reconcile")
    return todo


LINES = {
    ("get", ""): "events namespaces todos",
    ("explain", "t"): "events namespaces todos",
    ("get", "td", ""): "milk mustard",
    ("delete", "todos", "milk", ""): "mustard",
    ("get", "todos/"): "todos/milk todos/mustard",
    ("get", "todos/milk", "todos/"): "todos/milk todos/mustard",
    ("get", "-n", "work", "todos", ""): "report",
    ("get", "--namespace=work", "todos", ""): "report",
    ("get", "--namespace", "=", "work", "todos", ""): "report",  # as bash divides words
    ("get", "-A", "todos", ""): "milk mustard report",
    ("get", "todos", "-n", "w"): "default kube-node-lease kube-public kube-system work",
    ("get", "todos", "--namespace=w"): "default kube-node-lease kube-public kube-system work",
    ("get", "todos", "--tenant", ""): "default team-a",
    ("get", "todos", "--tenant=t"): "default team-a",
    ("--tenant", ""): "default team-a",
    ("--tenant", "team-a", "get", "todos", ""): "plan",
    ("get", "todos", "-l", ""): "shop=deli shop=market urgent=yes",
    ("get", "todos", "-l", "shop", "=", "m"): "shop=market",  # as bash divides words
    ("get", "todos", "-l", "urgent=yes,shop=d"): "urgent=yes,shop=deli",
    ("get", "todos", "-n", "work", "-l", ""): "",
    ("delete", "todos", "--selector=u"): "urgent=yes",
    ("get", "-l", ""): "",
    ("get", "todos", "-L", ""): "shop urgent",
    ("get", "todos", "--field-selector", ""): "metadata.name= metadata.namespace=",
    ("get", "todos", "--field-selector=metadata.namespace=work,metadata.na"): (
        "metadata.namespace=work,metadata.name= metadata.namespace=work,metadata.namespace="
    ),
    ("get", "namespaces", "--field-selector", "s"): "status.phase=",
    ("get", "--field-selector", ""): "",
    ("get", "todos", "--sort-by", ""): ".metadata. .spec. .status.",
    ("get", "todos", "--sort-by", ".spec."): ".spec.text .spec.done .spec.priority .spec.tags",
    ("get", "todos", "--sort-by=.spec.p"): ".spec.priority",
    ("get", "todos", "--sort-by", "nothing."): "",
    ("create", "todo", "egg", "--set", ""): "metadata. spec. status.",
    ("create", "todo", "egg", "--set", "spec."): "spec.text= spec.done= spec.priority= spec.tags=",
    ("create", "todo", "egg", "--set", "spec.done", "=", ""): "spec.done=true spec.done=false",
    ("create", "todo", "egg", "--set", "spec.text=a", "--set=metadata.l"): "metadata.labels.",
    ("patch", "todo", "milk", "--unset", "spec.t"): "spec.text spec.tags",
    ("wait", "todo", "milk", "--for", ""): "create delete jsonpath=",
    ("wait", "configmaps", "--for=c"): "",
    ("events", "--for", ""): "events namespaces todos",
    ("events", "--for", "todos/"): "todos/milk todos/mustard",
    ("get", "todos", "--unknown", ""): "milk mustard",
    ("create", "todo", ""): "",
    ("get", "nothing", ""): "",
    ("-n", "work", "get", "todos", ""): "report",
    ("-nwork", "get", "todos", ""): "report",
    ("--namespace", "=", "work", "get", "todos", ""): "report",  # as bash divides words
    ("-n", "work", "get", ""): "events namespaces todos",
    ("-n", ""): "default kube-node-lease kube-public kube-system work",
    ("--namespace=w",): "default kube-node-lease kube-public kube-system work",
    ("-n", "work", ""): "",
    ("nothing", ""): "",
    (): "",
}


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_the_words_of_types_names_and_namespaces_come_from_the_storage(filled: Console, words: tuple[str, ...]) -> None:
    assert filled.output("completion", "objects", "--", *words).split() == LINES[words].split()


def test_the_conditions_that_objects_have_can_be_waited_for(filled: Console) -> None:
    line = ("--storage", filled.tool.storage, "wait", "crds", "--for", "condition")
    found = captured(lambda: cli.main(["completion", "objects", "--", *line])).output.split()
    assert found == ["condition=Established", "condition=NamesAccepted"]


def test_the_words_come_from_the_storage_and_the_tenant_of_the_line(filled: Console, tmp_path: Path) -> None:
    other = f"sqlite:{tmp_path}/other.db"
    place = ("--storage", other, "--tenant", "team-a")
    filled.output("create", "todo", "elsewhere", "--set", "spec.text=x", "--no-reconcile", *place)
    for words in (place, ("--storage", "=", "sqlite", ":", f"{tmp_path}/other.db", "--tenant", "=", "team-a")):
        for line in (("get", *words, "todos", ""), (*words, "get", "todos", "")):
            assert filled.output("completion", "objects", "--", *line).split() == ["elsewhere"]


def test_the_keys_of_the_line_open_its_storage(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"key1:{base64.b64encode(bytes(32)).decode()}\n")
    keys = ("--encryption-keys", str(tmp_path / "keys"))
    vault = Console(kit.Tool("vault", kinds=[Secret], storage=f"sqlite:{tmp_path}/vault.db"))
    vault.output("create", "secret", "door", "--set", "data.code=c2VjcmV0", *keys)
    assert vault.output("completion", "objects", "--", *keys, "get", "secrets", "") == "door\n"
    assert "nowhere" in vault.run("completion", "objects", "--", keys[0], "nowhere", "get", "secrets", "").errors


PROGRAM = """#!/bin/sh
# Completion is the tool's own; any other command line is printed.
if [ "$1" = completion ]; then exec {python} -W ignore -c "{code}" "$@"; fi
echo "<$*>"
"""
CODE = "import sys, pathlib; from tests.kit.tools import todo_tool; todo_tool(pathlib.Path('{folder}')).main()"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(todo completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -u -D; eval "$(todo completion zsh)"'),
}
TYPED = {
    "todo get tod\tmi\t\n": "<get todos milk>",
    "todo get todos/mi\t\n": "<get todos/milk>",
    "todo get -n wo\ttodos rep\t\n": "<get -n work todos report>",
    "todo get todos -o js\t\n": "<get todos -o json>",
    "todo expl\ttod\t\n": "<explain todos>",
    "todo -n work ge\ttodos rep\t\n": "<-n work get todos report>",
    "todo --namespace=work get todos rep\t\n": "<--namespace=work get todos report>",
    "todo -nwork get todos rep\t\n": "<-nwork get todos report>",
    "todo -n wo\tget todos rep\t\n": "<-n work get todos report>",
    "todo --tenant get desc\t\n": "<--tenant get describe>",
    "todo --tenant te\tget todos pl\t\n": "<--tenant team-a get todos plan>",
    "todo get todos -l shop=m\t\n": "<get todos -l shop=market>",
    "todo get todos --selector=urgent=yes,shop=d\t\n": "<get todos --selector=urgent=yes,shop=deli>",
    "todo get todos --output=ya\t\n": "<get todos --output=yaml>",
    "todo get todos --sort-by .sp\tpri\t\n": "<get todos --sort-by .spec.priority>",
    "todo patch todo milk --set sp\tdo\ttr\t\n": "<patch todo milk --set spec.done=true>",
    "todo patch todo milk --unset=sp\tpri\t\n": "<patch todo milk --unset=spec.priority>",
}


@pytest.fixture
def environment(filled: Console, folder: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of a shell that has the tool as the command `todo`."""
    program = tmp_path / "bin" / "todo"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable, code=CODE.format(folder=folder)))
    program.chmod(0o755)
    return os.environ | {
        "HOME": str(tmp_path),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "TERM": "dumb",
    }


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_types_names_namespaces_and_formats(
    shell: str, environment: dict[str, str], tmp_path: Path
) -> None:
    command, load = SHELLS[shell]
    needs(shell)
    with interactive(command, tmp_path, environment) as terminal:
        os.write(terminal, f"{load}\n".encode())
        for typed, expected in TYPED.items():
            os.write(terminal, typed.encode())
            read_until(terminal, expected)


def test_fish_completes_types_names_namespaces_and_formats(environment: dict[str, str], tmp_path: Path) -> None:
    lines = (
        *("todo get todos mi", "todo get todos/mi", "todo get -n work todos ", "todo get todos -n wo"),
        *("todo get todos -o js", "todo explain tod"),
        *("todo -n work get todos ", "todo --namespace=work get todos ", "todo -n wo", "todo --tenant get desc"),
        *("todo --tenant te", "todo get todos -l shop=m", "todo get todos --selector=urgent=yes,shop=d"),
    )
    program = "; ".join(["todo completion fish | source", *(f"complete -C '{line}'" for line in lines)])
    command = [needs("fish"), "--no-config", "-c", program]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert [line.partition("\t")[0] for line in ran.stdout.splitlines()] == [
        *("milk", "todos/milk", "report", "work", "json", "todos"),
        *("report", "report", "work", "describe"),
        *("team-a", "shop=market", "--selector=urgent=yes,shop=deli"),
    ]


def test_a_wrong_shell_is_refused(todo: Console) -> None:
    refused = todo.run("completion", "tcsh")
    assert refused.code == 2
    assert "choose from" in refused.errors
    assert "objects" not in refused.errors
