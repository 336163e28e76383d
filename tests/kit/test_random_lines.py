"""Command lines of random words: whatever they are, the answer is text and an exit code, and never a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.kit.tools import Console

OBJECT = """
apiVersion: todo.example.com/v1
kind: Todo
metadata: {name: milk, labels: {a: b}}
spec: {text: x, tags: [q]}
"""
FILES = {
    "good.yaml": OBJECT,
    "open.yaml": "a: [\n",
    "list.json": '{"kind": "List", "apiVersion": "v1", "items": [1, null, {"kind": "Todo"}]}',
    "text.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: hello\n---\n- 1\n",
    "types.yaml": "apiVersion: todo.example.com/v1\nkind: Todo\nmetadata: {name: 5, labels: [1]}\nspec: 3\n",
}
COMMANDS = (
    *("get", "describe", "create", "apply", "diff", "patch", "delete", "label", "annotate"),
    *("wait", "explain", "api-resources", "events", "logs", "completion"),
)
WORDS = (
    *("todo", "todos", "milk", "todo/milk", "td", "ns", "events", "work", "", "/", "a/b/c", "todo,ns", "todo,", "x=1"),
    *("a-", "-", "--", "=", "todos.spec.tags", "todos..", "bash", "caf\u00e9", "a" * 300, "{.x}", "*"),
)
VALUES = {
    "-o": (
        *("yaml", "json", "name", "wide", "jsonpath={.items[*]}", "jsonpath={", "jsonpath={range .items[*]}", "="),
        *("jsonpath={.items[0:x]}", "custom-columns=A:.spec", "custom-columns=:", "custom-columns=A:.spec[", "yml"),
    ),
    "-l": ("a=b", "!a", "(", "a in (", "=", ",", "a==b,,c"),
    "-f": (*FILES, ".", "none", "-"),
    "-n": ("default", "none", "", "A B", "a/b"),
    "-p": ("{}", "[]", "1", "null", "{", '[{"op": "add"}]', '{"metadata": null}', '{"spec": null}'),
    "--field-selector": ("metadata.name=milk", "x", "=", "spec.text=x"),
    "--sort-by": (".spec.text", "{.spec", "x[", "..", ".spec.tags", ".metadata", "[0]"),
    "--set": (
        *("spec.text=a", "spec", "=", "spec.tags[0]=x", "spec.tags[=x", "spec.tags[99]=x", "metadata.labels.a=1"),
        *("spec.priority=x", "a..b=1", ".=1", "spec.tags={a: b}", "spec=1", "spec.text={"),
    ),
    "--unset": ("spec.tags", "spec.text", "", "[", "metadata"),
    "--type": ("json", "merge", "strategic", "q"),
    "--for": ("delete", "condition=Ready", "condition=", "jsonpath={.spec.text}=x", "jsonpath={.a", "x", "todo/milk"),
    "--dry-run": ("client", "server", "x"),
    "--api-version": ("v1", "/", "a/b/c"),
    "--tenant": ("x", "../x"),
}
SWITCHES = ("-A", "--all", "--no-headers", "--show-labels", "--ignore-not-found", "--list", "--prune", "--wait=no")


def command_line(source: random.Random) -> list[str]:
    parts = [[source.choice(WORDS)] for _ in range(source.choice((0, 1, 1, 2, 2, 3)))]
    for _ in range(source.choice((0, 1, 1, 2, 3))):
        flag = source.choice((*VALUES, *SWITCHES))
        parts.append([flag, source.choice(VALUES[flag])] if flag in VALUES else [flag])
    source.shuffle(parts)
    command = source.choice(COMMANDS)
    return [command, *(word for part in parts for word in part), *(["--timeout=0"] if command == "wait" else [])]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_every_command_line_has_an_answer(
    todo: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    todo.tool.setup = None
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    source = random.Random(seed)
    for _ in range(40):
        todo.run("apply", "-f", "-", stdin=OBJECT)
        line = command_line(source)
        ran = todo.run(*line, stdin=OBJECT)
        assert ran.code in (0, 1, 2, 3, 4), line
        assert ran.errors or ran.code == 0, line
        assert "Traceback" not in ran.errors, line
