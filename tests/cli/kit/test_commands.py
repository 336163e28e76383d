"""The commands on a tool's own storage. What they print is compared with kubectl in `test_kubectl`."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest

from pilotage.cli import kit
from pilotage.types.core.v1 import Secret
from tests.cli.kit.tools import Console

OBJECTS = """
apiVersion: todo.example.com/v1
kind: Todo
metadata: {name: milk, labels: {shop: corner}}
spec: {text: buy milk, priority: 2}
---
apiVersion: todo.example.com/v1
kind: Todo
metadata: {name: eggs, labels: {shop: market}}
spec: {text: buy eggs, priority: 10, tags: [food, fresh]}
"""


@pytest.fixture
def filled(todo: Console) -> Console:
    assert todo.output("apply", "-f", "-", "--no-reconcile", stdin=OBJECTS) == (
        "todo.todo.example.com/milk created\ntodo.todo.example.com/eggs created\n"
    )
    todo.tool.setup = None  # most of these tests are about what is stored
    return todo


def test_get_prints_the_columns_of_the_kind(filled: Console) -> None:
    assert filled.output("get", "td", "-o", "wide", "--sort-by=.spec.priority") == (
        "NAME   TEXT       PHASE   PRIORITY\nmilk   buy milk           2\neggs   buy eggs           10\n"
    )
    assert filled.output("get", "work", "-l", "shop!=market", "-o", "name") == "todo.todo.example.com/milk\n"
    assert json.loads(filled.output("get", "todo", "eggs", "-o", "json"))["spec"]["tags"] == ["food", "fresh"]


def test_get_takes_templates_and_columns_from_files(filled: Console, tmp_path: Path) -> None:
    (tmp_path / "template").write_text('{range .items[*]}{.metadata.name}{"\\n"}{end}')
    (tmp_path / "columns").write_text("TODO PRIORITY\n.metadata.name .spec.priority\n")
    assert filled.output("get", "td", "-o", f"jsonpath-file={tmp_path}/template") == "eggs\nmilk\n"
    assert filled.output("get", "td", "-o", f"custom-columns-file={tmp_path}/columns") == (
        "TODO   PRIORITY\neggs   10\nmilk   2\n"
    )
    assert json.loads(filled.output("get", "td", "-o", "jsonpath-as-json={.items[*].spec.priority}")) == [10, 2]


def test_an_unknown_output_format_is_an_error(filled: Console) -> None:
    refused = filled.run("get", "td", "-o", "tabel")
    assert (refused.code, refused.output) == (1, "")
    assert 'unable to match a printer suitable for the output format "tabel"' in refused.errors


def test_apply_reports_what_it_did(filled: Console) -> None:
    changed = OBJECTS.replace("buy milk", "buy more milk")
    assert filled.output("apply", "-f", "-", stdin=changed) == (
        "todo.todo.example.com/milk configured\ntodo.todo.example.com/eggs unchanged\n"
    )
    assert "(dry run)" in filled.output("apply", "-f", "-", "--dry-run=client", stdin=OBJECTS)
    assert filled.output("get", "todo/milk", "-o", "jsonpath={.spec.text}") == "buy more milk"


def test_apply_takes_over_what_the_tool_itself_has_set_and_nothing_else(filled: Console) -> None:
    filled.output("patch", "todo", "milk", "--set", "spec.priority=7")
    assert "milk configured" in filled.output("apply", "-f", "-", stdin=OBJECTS)
    filled.tool.name = "other"
    changed = OBJECTS.replace("buy eggs", "buy six eggs")
    refused = filled.run("apply", "-f", "-", stdin=changed)
    assert (refused.code, refused.output) == (4, "todo.todo.example.com/milk unchanged\n")
    assert 'conflict with "todo"' in refused.errors
    assert "eggs configured" in filled.output("apply", "-f", "-", "--force-conflicts", stdin=changed)


def test_apply_prunes_what_the_files_no_longer_have(filled: Console) -> None:
    filled.output("create", "todo", "other", "--set", "spec.text=by hand")
    only_eggs = OBJECTS.partition("---")[2]
    assert filled.run("apply", "-f", "-", "--prune", stdin=only_eggs).code == 2
    pruned = filled.output("apply", "-f", "-", "--prune", "--all", stdin=only_eggs)
    assert pruned == "todo.todo.example.com/eggs unchanged\ntodo.todo.example.com/milk pruned\n"
    assert filled.output("get", "td", "-o", "jsonpath={.items[*].metadata.name}") == "eggs other"


def test_files_are_read_from_folders(filled: Console, tmp_path: Path) -> None:
    inner = tmp_path / "objects" / "inner"
    inner.mkdir(parents=True)
    (inner / "todos.yaml").write_text(OBJECTS)
    assert "recognized file extensions" in filled.run("apply", "-f", str(tmp_path / "objects")).errors
    assert filled.output("get", "-f", str(tmp_path / "objects"), "-R", "-o", "name").count("todo.example.com/") == 2
    assert filled.run("apply", "-f", "nothing.yaml").errors == 'error: the path "nothing.yaml" does not exist\n'


def test_values_have_the_types_of_the_schema(filled: Console) -> None:
    filled.output(
        *(
            "create",
            "todo",
            "typed",
            "--set",
            "spec.text=12",
            "--set",
            "spec.priority=3",
            "--set",
            'spec.tags=["a","b"]',
        ),
        *("--set", r"metadata.labels.example\.com/size=1"),
    )
    document = json.loads(filled.output("get", "todo/typed", "-o", "json"))
    assert document["spec"] == {"text": "12", "priority": 3, "tags": ["a", "b"], "done": False}
    assert document["metadata"]["labels"] == {"example.com/size": "1"}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("spec.priority=high", "--set spec.priority=high: must be a whole number"),
        ("spec.done=1", "--set spec.done=1: must be true or false"),
        ("spec.tags=a", '--set spec.tags=a: must be a list, such as ["a", "b"]'),
        ("spec.tag=a", "--set spec.tag: unknown field 'spec.tag'; its fields are done, priority, tags, text"),
    ],
)
def test_a_wrong_value_names_its_path(filled: Console, setting: str, message: str) -> None:
    refused = filled.run("create", "todo", "wrong", "--set", setting)
    assert (refused.code, refused.errors) == (1, f"error: {message}\n")


def test_patch_removes_fields(filled: Console) -> None:
    filled.output("patch", "todo/eggs", "--unset", "spec.tags", "--set", "spec.done=true")
    assert filled.output("get", "todo/eggs", "-o", "jsonpath={.spec.done} {.spec.tags}") in ("true ", "true []")


def test_diff_prints_what_apply_would_change_and_writes_nothing(filled: Console) -> None:
    changed = (
        "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: %s}, spec: {text: buy oat milk, priority: 2}}"
    )
    before = filled.output("get", "todos", "-o", "yaml")
    shown = filled.run("diff", "-f", "-", "--force-conflicts", stdin=changed % "milk")
    assert (shown.code, shown.errors) == (1, "")
    assert shown.output.startswith("--- LIVE/todo.example.com.v1.Todo.default.milk\n+++ MERGED/todo.example.com")
    assert "\n-  text: buy milk\n+  text: buy oat milk\n" in shown.output
    assert "managedFields" not in shown.output
    new = filled.run("diff", "-f", "-", stdin=changed % "new")
    assert (new.code, new.errors) == (1, "")
    assert "\n+kind: Todo\n" in new.output
    assert filled.output("get", "todos", "-o", "yaml") == before
    filled.output("apply", "-f", "-", "--force-conflicts", stdin=changed % "milk")
    assert filled.output("diff", "-f", "-", stdin=changed % "milk") == ""


def test_a_failure_of_diff_is_not_taken_for_a_difference(filled: Console, tmp_path: Path) -> None:
    mistakes = (["-f", "nothing.yaml"], ["-f", "-", "--storage", f"sqlite:{tmp_path}/"], ["-f", "-", "-n", "other"])
    todo = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: milk, namespace: default}, spec: {text: a}}"
    for words in mistakes:
        assert filled.run("diff", *words, stdin=todo).code == 2


def test_diff_does_not_show_the_values_of_secrets(tmp_path: Path) -> None:
    vault = Console(kit.Tool("vault", kinds=[Secret], storage=f"sqlite:{tmp_path}/vault.db"))
    secret = "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: %s, same: x}}"
    vault.output("apply", "-f", "-", stdin=secret % "first")
    shown = vault.run("diff", "-f", "-", stdin=secret % "second")
    assert shown.code == 1
    assert "\n-  password: '*** (before)'\n+  password: '*** (after)'\n   same: '***'\n" in shown.output


def test_diff_does_not_show_the_annotation_that_has_the_values_of_a_secret(tmp_path: Path) -> None:
    vault = Console(kit.Tool("vault", kinds=[Secret], storage=f"sqlite:{tmp_path}/vault.db"))
    secret = (
        "{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {note: %s, "
        'kubectl.kubernetes.io/last-applied-configuration: \'{"data": "hidden"}\'}}}'
    )
    for note in ("first", "second"):
        shown = vault.run("diff", "-f", "-", stdin=secret % note)
        assert shown.code == 1
        assert f"note: {note}" in shown.output
        assert "hidden" not in shown.output
        vault.output("apply", "-f", "-", stdin=secret % note)


def test_exit_codes_distinguish_errors(filled: Console) -> None:
    assert filled.run("get", "todo", "none").code == 3
    assert filled.run("create", "todo", "milk", "--set", "spec.text=x").code == 4
    assert filled.run("create", "todo", "wrong", "--set", "spec.priority=1").code == 1
    assert filled.run("get", "nothing").code == 1
    assert filled.run("get", "--nothing").code == 2


def test_describe_shows_all_of_an_object(filled: Console) -> None:
    text = filled.output("describe", "todo", "egg")
    assert text.startswith("Name:         eggs\nNamespace:    default\nLabels:       shop=market\n")
    assert "Spec:\n  Done:      false\n  Priority:  10\n  Tags:\n    food\n    fresh\n  Text:  buy eggs\n" in text
    assert text.endswith("Events:  <none>\n")


def test_describe_shows_the_sizes_of_the_values_of_a_secret(tmp_path: Path) -> None:
    console = Console(kit.Tool("keys", kinds=[Secret], storage=f"sqlite:{tmp_path}/keys.db"))
    for name, value in (("password", "hunter2hunter2"), ("one", "x"), ("two", "xy"), ("empty", "")):
        console.output("apply", "-f", "-", stdin=_secret(name, value))
        described = console.output("describe", "secret", name)
        assert f"{len(value)} bytes" in described
        assert base64.b64encode(b"hunter2").decode()[:8] not in described
    assert base64.b64encode(b"hunter2hunter2").decode() in console.output("get", "secret", "password", "-o", "yaml")


def _secret(name: str, value: str) -> str:
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"key": value}}
    return json.dumps(document)


def test_describe_escapes_what_controls_a_terminal(filled: Console) -> None:
    filled.output("patch", "todo/milk", "-p", json.dumps({"spec": {"text": "\x1b[31mred\rover"}}))
    described = filled.output("describe", "todo", "milk")
    assert "^[[31mred\\rover" in described
    assert "\x1b" not in described


def test_label_and_annotate(filled: Console) -> None:
    assert filled.output("label", "td", "--all", "a=1") == (
        "todo.todo.example.com/eggs labeled\ntodo.todo.example.com/milk labeled\n"
    )
    refused = filled.run("label", "todo", "milk", "a=2")
    assert refused.errors == "error: 'a' already has a value (1), and --overwrite is false\n"
    assert filled.output("label", "todo", "milk", "a-") == "todo.todo.example.com/milk unlabeled\n"
    assert filled.output("label", "todo", "milk", "--list") == "shop=corner\n"
    assert filled.output("annotate", "todo", "milk", "note=x y") == "todo.todo.example.com/milk annotated\n"


def test_delete_selects_by_name_label_and_file(filled: Console) -> None:
    assert filled.run("delete", "td").code == 2
    assert filled.output("delete", "td", "-l", "shop=corner") == (
        'todo.todo.example.com "milk" deleted from default namespace\n'
    )
    left = filled.run("delete", "-f", "-", stdin=OBJECTS)
    assert (left.code, left.output) == (3, 'todo.todo.example.com "eggs" deleted from default namespace\n')
    assert filled.output("delete", "-f", "-", "--ignore-not-found", stdin=OBJECTS) == ""


def test_words_and_options_stand_in_any_order_and_switches_have_values(filled: Console) -> None:
    assert filled.output("get", "--no-headers", "todo", "-o", "name", "milk") == "todo.todo.example.com/milk\n"
    assert filled.output("get", "--no-headers=false", "td", "-l", "shop=corner").startswith("NAME ")
    assert "Events:" not in filled.output("describe", "--show-events=false", "todo/milk")
    assert filled.run("get", "td", "--nothing=true").code == 2


def test_wait_ends_with_the_value_or_the_timeout(filled: Console) -> None:
    waited = filled.output("wait", "todo/milk", "--for=jsonpath={.spec.priority}=2")
    assert waited == "todo.todo.example.com/milk condition met\n"
    late = filled.run("wait", "todo/milk", "--for=condition=Ready", "--timeout=10ms")
    assert (late.code, late.errors) == (1, "error: timed out waiting for the condition on todos/milk\n")
    assert filled.run("wait", "todo/none", "--for=condition=Ready").code == 3
    assert filled.output("wait", "todo/none", "--for=delete") == ""


def test_explain_has_the_docstrings_of_the_classes(filled: Console) -> None:
    text = filled.output("explain", "todos.spec")
    assert (
        "GROUP:      todo.example.com\nKIND:       Todo\nVERSION:    v1\n\nFIELD: spec <Object> -required-" not in text
    )
    assert "  priority\t<integer>\n    How soon it is due.\n" in text
    assert "  text\t<string> -required-\n" in text
    assert filled.run("explain", "todos.spec.nothing").errors == 'error: field "nothing" does not exist\n'


@pytest.mark.parametrize("name", ["todos.todo.example.com", "todos.v1.todo.example.com", "td.todo.example.com", "Todo"])
def test_explain_takes_a_type_with_its_group(filled: Console, name: str) -> None:
    assert filled.output("explain", f"{name}.spec.text") == filled.output("explain", "todos.spec.text")
    assert filled.output("explain", name) == filled.output("explain", "todos")


def test_explain_names_the_field_that_does_not_exist(filled: Console) -> None:
    refused = filled.run("explain", "todos.todo.example.com.spec.colour")
    assert (refused.code, refused.errors) == (1, 'error: field "colour" does not exist\n')


def test_an_error_lists_only_the_formats_that_the_command_has(filled: Console) -> None:
    for words in (("create", "todo", "x", "--set", "spec.text=a"), ("events",)):
        refused = filled.run(*words, "-o", "wide")
        assert (refused.code, "wide," in refused.errors) == (1, False)
    assert "name,wide,jsonpath" in filled.run("get", "todos", "-o", "foo").errors


def test_api_resources_are_those_of_the_tool(filled: Console) -> None:
    assert filled.output("api-resources", "--no-headers", "-o", "name").split() == [
        "events",
        "namespaces",
        "todos.todo.example.com",
    ]


def editor(tmp_path: Path, *scripts: str) -> str:
    """An editor whose n-th run executes the n-th script of sed."""
    program = tmp_path / "editor"
    cases = "\n".join(f"{number}) sed -i '{script}' \"$1\" ;;" for number, script in enumerate(scripts, 1))
    count = f"{tmp_path}/count"
    lines = ["#!/bin/sh", f'cp "$1" {tmp_path}/seen', f"echo >> {count}", f"case $(wc -l < {count}) in", cases, "esac"]
    program.write_text("\n".join(lines))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_edit_saves_what_is_changed(filled: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, "s/buy milk/buy cheese/"))
    assert filled.output("edit", "todo", "milk") == "todo.todo.example.com/milk edited\n"
    assert filled.output("get", "todo/milk", "-o", "jsonpath={.spec.text}") == "buy cheese"
    assert filled.run("edit", "todo", "milk").errors == "Edit cancelled, no changes made.\n"


def test_an_edit_that_is_refused_is_opened_again_with_the_reason(
    filled: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "KUBE_EDITOR", editor(tmp_path, "s/priority: 2/priority: high/", "s/priority: high/priority: 5/")
    )
    assert filled.output("edit", "todo", "milk") == "todo.todo.example.com/milk edited\n"
    seen = (tmp_path / "seen").read_text()
    assert '# todos "milk" was not valid:\n# * spec.priority: Invalid value' in seen
    assert filled.output("get", "todo/milk", "-o", "jsonpath={.spec.priority}") == "5"


def test_logs_are_those_of_the_object(todo: Console) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=one")
    todo.output("create", "todo", "eggs", "--set", "spec.text=two")
    lines = todo.output("logs", "todo/eggs").splitlines()
    assert lines
    assert all("Reconciled text=two" in line for line in lines)
    assert len(todo.output("logs", "todo", "eggs", "--tail", "1").splitlines()) == 1
    assert todo.output("logs", "todo", "eggs", "--tail", "0") == ""
    assert todo.output("logs", "todo", "eggs", "--tail", "1000").splitlines() == lines


def test_logs_in_an_unknown_format_or_that_cannot_be_read_are_errors(todo: Console, tmp_path: Path) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=one")
    refused = todo.run("logs", "todo/milk", "-o", "foo")
    assert (refused.code, refused.errors) == (
        1,
        'error: unable to match a printer suitable for the output format "foo", allowed formats are: text,json\n',
    )
    log = tmp_path / "todo.db.log"
    log.unlink()
    log.mkdir()
    refused = todo.run("logs", "todo/milk")
    assert (refused.code, refused.errors) == (1, f"error: cannot read the log {log}: Is a directory\n")
