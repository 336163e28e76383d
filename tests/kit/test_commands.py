"""The commands on a tool's own storage. What they print is compared with kubectl in `test_kubectl`."""

from __future__ import annotations

import base64
import json
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from pilotage import kit
from pilotage.errors import Conflict, Forbidden
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import PatchType
from pilotage.types.apps.v1 import Deployment
from pilotage.types.core.v1 import Secret, Service
from tests.kit.tools import Console, todo_tool

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


UNKNOWN = "{apiVersion: nothing.example.com/v1, kind: Nothing, metadata: {name: bad}}\n---\n"


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("get", "-o", "name"), "todo.todo.example.com/milk\ntodo.todo.example.com/eggs\n"),
        (("label", "a=b"), "todo.todo.example.com/milk labeled\ntodo.todo.example.com/eggs labeled\n"),
        (
            ("delete",),
            'todo.todo.example.com "milk" deleted from default namespace\n'
            'todo.todo.example.com "eggs" deleted from default namespace\n',
        ),
    ],
)
def test_a_command_goes_on_after_an_object_of_an_unknown_kind(
    filled: Console, words: tuple[str, ...], output: str
) -> None:
    ran = filled.run(*words, "-f", "-", stdin=UNKNOWN + OBJECTS)
    assert (ran.code, ran.output) == (1, output)
    assert ran.errors.startswith('error: resource mapping not found for name: "bad"')
    both = filled.run(*words, "-f", "-", stdin=UNKNOWN + UNKNOWN.replace("bad", "worse") + OBJECTS)
    assert both.errors.count("error: resource mapping not found") == 2


MILK = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: milk%s}, spec: {text: %s}}"


def test_replace_removes_what_the_file_does_not_have(filled: Console) -> None:
    assert filled.output("replace", "-f", "-", stdin=MILK % ("", "new")) == "todo.todo.example.com/milk replaced\n"
    assert (
        filled.output("get", "todo", "milk", "-o", "jsonpath={.metadata.labels}{.spec.text}{.spec.priority}") == "new0"
    )
    stale = filled.run("replace", "-f", "-", stdin=MILK % (', resourceVersion: "1"', "newer"))
    assert stale.code == 4
    missing = filled.run("replace", "-f", "-", stdin=(MILK % ("", "new")).replace("milk", "none"))
    assert (missing.code, missing.output) == (3, "")
    assert filled.run("replace", "-f", "-", "--timeout=1s", stdin=MILK % ("", "new")).code == 2


def test_replace_by_force_makes_another_object_and_keeps_one_that_has_no_valid_replacement(filled: Console) -> None:
    uid = filled.output("get", "todo", "milk", "-o", "jsonpath={.metadata.uid}")
    refused = filled.run("replace", "--force", "-f", "-", stdin=MILK % ("", "[]"))
    assert (refused.code, refused.output) == (1, "")
    assert filled.output("get", "todo", "milk", "-o", "jsonpath={.metadata.uid}") == uid
    assert filled.output("replace", "--force", "-f", "-", stdin=MILK % ("", "new")) == (
        'todo.todo.example.com "milk" deleted from default namespace\ntodo.todo.example.com/milk replaced\n'
    )
    assert filled.output("get", "todo", "milk", "-o", "jsonpath={.metadata.uid}") != uid
    assert "none replaced" in filled.output(
        "replace", "--force", "-f", "-", stdin=(MILK % ("", "new")).replace("milk", "none")
    )


def test_replace_by_force_creates_the_object_also_for_a_user_that_may_not_list(
    filled: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forbidden(*arguments: object) -> None:
        raise Forbidden("you may not list todos")

    monkeypatch.setattr(CommandSession, "list", forbidden)
    assert "milk replaced\n" in filled.output("replace", "--force", "-f", "-", stdin=MILK % ("", "new"))


SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {a: %s}, ports: [{port: 80, nodePort: %s}]}
"""


def test_replace_by_force_takes_over_the_addresses_and_ports_of_the_service(tmp_path: Path) -> None:
    tool = Console(kit.Tool("net", kinds=[Service], storage=f"sqlite:{tmp_path}/net.db"))
    tool.output("create", "-f", "-", stdin=SERVICE % ("b", 30080))
    stored = tool.output("get", "service", "web", "-o", "yaml")
    address = tool.output("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    assert "service/web replaced\n" in tool.output("replace", "--force", "-f", "-", stdin=stored)
    assert tool.output("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}") == address
    assert "service/web replaced\n" in tool.output("replace", "--force", "-f", "-", stdin=SERVICE % ("c", 30080))
    tool.output("patch", "service", "web", "--set", "metadata.finalizers=[example.com/wait]")
    waited = tool.run("replace", "--force", "-f", "-", "--timeout=100ms", stdin=SERVICE % ("c", 30080))
    assert (waited.code, waited.errors) == (1, "error: timed out waiting for the condition on services/web\n")
    tool.output("patch", "service", "web", "--unset", "metadata.finalizers")
    assert "service/web replaced\n" in tool.output("replace", "--force", "-f", "-", stdin=SERVICE % ("c", 30080))
    other = (SERVICE % ("b", 30081)).replace("name: web", "name: other")
    tool.output("create", "-f", "-", stdin=other)
    taken = tool.run("replace", "--force", "-f", "-", stdin=SERVICE % ("d", 30081))
    assert (taken.code, taken.output) == (1, "")
    assert "provided port is already allocated" in taken.errors
    wrong = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: [], ports: [1, {nodePort: {}}]}}"
    assert (refused := tool.run("replace", "--force", "-f", "-", stdin=wrong)).code == 1, refused.errors
    assert tool.output("get", "service", "web", "-o", "jsonpath={.spec.selector.a}") == "c"


def test_scale_sets_the_replicas_of_a_type_that_has_them(filled: Console, tmp_path: Path) -> None:
    fleet = Console(kit.Tool("fleet", kinds=[Deployment], storage=f"sqlite:{tmp_path}/fleet.db"))
    template = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: d}]}}"
    pods = f"selector: {{matchLabels: {{a: b}}}}, template: {template}"
    web = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{{pods}}}}}"
    fleet.output("apply", "-f", "-", stdin=web)
    assert fleet.output("scale", "deployment", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    assert fleet.run("scale", "deploy/web", "--replicas=5", "--current-replicas=1").errors == (
        "error: Expected replicas to be 1, was 3\n"
    )
    assert (
        "Expected resource version" in fleet.run("scale", "deploy/web", "--replicas=5", "--resource-version=1").errors
    )
    assert fleet.output("scale", "-f", "-", "--replicas=4", "--dry-run=client", stdin=web).endswith("(dry run)\n")
    assert (
        fleet.output(
            "scale", "deploy", "--all", "--replicas=5", "--current-replicas=3", "-o", "jsonpath={.spec.replicas}"
        )
        == "5"
    )
    refused = filled.run("scale", "todo", "milk", "--replicas=2")
    assert refused.code == 1
    assert 'todo.todo.example.com "milk" cannot be scaled: its type has no scale subresource' in refused.errors
    assert filled.run("scale", "todo", "none", "--replicas=2").code == 3


def test_scale_checks_its_conditions_again_after_a_write_of_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Console(kit.Tool("fleet", kinds=[Deployment], storage=f"sqlite:{tmp_path}/fleet.db"))
    template = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: d}]}}"
    pods = f"selector: {{matchLabels: {{a: b}}}}, template: {template}"
    web = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{{pods}}}}}"
    fleet.output("apply", "-f", "-", stdin=web)
    patch, tries = CommandSession.patch, []

    async def raced(session: CommandSession, mapping: RESTMapping, *more: Any) -> tuple[Document, int]:
        tries.append(more)
        if len(tries) == 1:
            await patch(session, mapping, ("", "web"), {"metadata": {"labels": {"a": "b"}}}, PatchType.MERGE, more[3])
        return await patch(session, mapping, *more)

    async def refused(*arguments: object) -> None:
        tries.append(())
        assert len(tries) < 5
        raise Conflict("a webhook refuses this")

    monkeypatch.setattr(CommandSession, "patch", raced)
    assert fleet.output("scale", "deploy/web", "--replicas=3", "--current-replicas=1") == "deployment.apps/web scaled\n"
    assert len(tries) == 2
    monkeypatch.setattr(CommandSession, "patch", refused)
    tries.clear()
    ran = fleet.run("scale", "deploy/web", "--replicas=1", "--current-replicas=3")
    assert (ran.code, len(tries)) == (4, 1)
    assert "a webhook refuses this" in ran.errors


def test_label_lists_what_a_change_would_leave_and_writes_nothing(filled: Console) -> None:
    assert filled.output("label", "todo", "milk", "--list", "a=1", "shop-") == "a=1\n"
    assert (
        filled.output("label", "todo", "milk", "a=1", "--dry-run=client", "-o", "jsonpath={.metadata.labels.a}") == "1"
    )
    assert filled.output("label", "todo", "milk", "--list") == "shop=corner\n"


def test_wait_for_create_with_a_selector_waits_for_the_first_object(filled: Console) -> None:
    words = ("wait", "todos", "-l", "shop=new", "--for=create")
    assert filled.run(*words, "--timeout=0").errors == "error: condition not met for todos\n"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(filled.tool.run, (*words, "--timeout=60s"))
        filled.tool.run(("create", "todo", "late", "--set", "spec.text=a", "--set", "metadata.labels.shop=new"))
        assert waiting.result() == 0


def test_wait_for_a_value_refuses_a_path_that_has_none(filled: Console) -> None:
    assert "nested object or list" in filled.run("wait", "todo/eggs", "--for=jsonpath={.spec.tags}=a").errors
    assert "more than one value" in filled.run("wait", "todo/eggs", "--for=jsonpath={.spec.tags[*]}=a").errors


def test_delete_reports_errors_also_if_the_wait_for_another_object_times_out(filled: Console) -> None:
    filled.output("patch", "todo", "milk", "--set", "metadata.finalizers=[example.com/wait]")
    ran = filled.run("delete", "todo", "none", "milk", "--timeout=100ms")
    assert (ran.code, ran.output) == (1, 'todo.todo.example.com "milk" deleted from default namespace\n')
    assert 'todos.todo.example.com "none" not found' in ran.errors
    assert "error: timed out waiting for the condition on todos/milk" in ran.errors


@pytest.mark.parametrize(
    "words", [("create",), ("apply",), ("diff",), ("replace",), ("scale", "--replicas=1"), ("get",)]
)
def test_an_empty_file_is_an_error_of_the_command(filled: Console, words: tuple[str, ...]) -> None:
    ran = filled.run(*words, "-f", "-", stdin="")
    assert (ran.output, ran.errors) == ("", f"error: no objects passed to {words[0]}\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("todo", "milk", "-f", "-"), "when paths, URLs, or stdin is provided as input, you may not specify resource"),
        (("todo", "milk", "-l", "shop=market"), "name cannot be provided when a selector is specified"),
        (("todo", "milk", "--all"), "name cannot be provided when a selector is specified"),
        (("todo", "milk", "-A"), "a resource cannot be retrieved by name across all namespaces"),
    ],
)
def test_label_refuses_names_beside_what_selects_other_objects(
    filled: Console, words: tuple[str, ...], error: str
) -> None:
    ran = filled.run("label", *words, "a=1", stdin=OBJECTS)
    assert (ran.code, ran.output) == (2, "")
    assert error in ran.errors
    assert filled.output("get", "todos", "-l", "a", "-o", "name") == ""


@pytest.fixture
def owning(todo: Console) -> str:
    """What `get -o yaml` prints of a Todo and of another one that it owns, in another storage."""
    todo.tool.setup = None
    todo.output("create", "todo", "parent", "--set", "spec.text=parent")
    uid = todo.output("get", "todo", "parent", "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": "todo.example.com/v1", "kind": "Todo", "name": "parent", "uid": uid}
    child = {"apiVersion": owner["apiVersion"], "kind": "Todo", "metadata": {"name": "child"}, "spec": {"text": "c"}}
    child["metadata"] = {"name": "child", "ownerReferences": [owner]}
    todo.output("create", "-f", "-", stdin=json.dumps(child))
    return todo.output("get", "todo", "-o", "yaml")


def test_exported_objects_that_are_applied_elsewhere_keep_their_owners(owning: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Console(todo_tool(tmp_path / "other"))
    other.tool.setup = None
    assert other.output("apply", "-f", "-", stdin=owning) == (
        "todo.todo.example.com/parent created\ntodo.todo.example.com/child created\n"
    )
    uid = other.output("get", "todo", "parent", "-o", "jsonpath={.metadata.uid}")
    assert uid not in owning
    owner = "jsonpath={.metadata.ownerReferences[*].uid}"
    assert other.output("get", "todo", "child", "-o", owner) == uid
    assert other.output("apply", "-f", "-", stdin=owning).count("unchanged") == 2
    without_uids = re.sub(r"\n    uid: .*", "", owning)
    assert "child replaced" in other.output("replace", "-f", "-", stdin=without_uids)
    assert other.output("get", "todo", "child", "-o", owner) == uid


def test_a_dependent_that_is_applied_without_its_owner_is_written_with_a_warning(owning: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Console(todo_tool(tmp_path / "other"))
    other.tool.setup = None
    alone = json.dumps(next(each for each in yaml.safe_load(owning)["items"] if each["metadata"]["name"] == "child"))
    applied = other.run("apply", "-f", "-", stdin=alone)
    assert applied.code == 0
    assert applied.errors.startswith('Warning: Todo default/child: its owner Todo "parent" with the uid ')
    assert other.run("apply", "-f", "-", "--dry-run=client", stdin=alone).errors == ""
