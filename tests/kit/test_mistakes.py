"""Mistakes on a command line: they are found before anything is written, and the error says what was probably meant."""

from __future__ import annotations

import asyncio
import io
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import pilotage as pt
from pilotage import kit
from pilotage.meta.text import yamltext
from tests.kit.tools import Console

TWO = """
apiVersion: todo.example.com/v1
kind: Todo
metadata: {name: milk, labels: {shop: corner}}
spec: {text: buy milk}
---
apiVersion: todo.example.com/v1
kind: Todo
metadata: {name: eggs}
spec: {text: buy eggs}
"""


@pytest.fixture
def todo(todo: Console) -> Console:
    todo.tool.setup = None  # these tests are about what is stored
    return todo


@pytest.mark.parametrize("words", [("create",), ("apply",)])
def test_an_unknown_format_is_an_error_before_anything_is_written(todo: Console, words: tuple[str, ...]) -> None:
    refused = todo.run(*words, "-f", "-", "-o", "yml", stdin=TWO)
    assert refused.code == 1
    assert 'the output format "yml"' in refused.errors
    assert todo.run("get", "todos").errors == "No resources found in default namespace.\n"


def test_several_written_objects_are_several_yaml_documents(todo: Console) -> None:
    written = todo.output("create", "-f", "-", "-o", "yaml", stdin=TWO)
    assert [one["metadata"]["name"] for one in yamltext.read_all(written)] == ["milk", "eggs"]
    columns = todo.output("apply", "-f", "-", "-o", "custom-columns=N:.metadata.name", stdin=TWO)
    assert columns == "N\nmilk\neggs\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--all", "-l", "shop=corner"), "setting 'all' parameter but found a non empty selector."),
        (("--all", "--now", "--grace-period=5"), "--now and --grace-period cannot be specified together"),
        (("--all", "--force", "--grace-period=5"), "--force and --grace-period greater than 0 cannot be specified"),
        (("--all", "-o", "yaml"), "unexpected -o output mode: yaml"),
        (("-f", "objects.yaml"), "you may not specify resource arguments as well"),
    ],
)
def test_options_of_delete_that_contradict_one_another_delete_nothing(
    todo: Console, options: tuple[str, ...], message: str
) -> None:
    todo.output("create", "-f", "-", stdin=TWO)
    refused = todo.run("delete", "todos", *options)
    assert refused.code == (1 if "-o" in options else 2)
    assert message in refused.errors
    assert todo.output("get", "todos", "-o", "jsonpath={.items[*].metadata.name}") == "eggs milk"


def test_a_dry_run_in_the_client_shows_the_object_with_the_patch(todo: Console) -> None:
    todo.output("create", "-f", "-", stdin=TWO)
    words = ("patch", "todo", "milk", "--dry-run=client", "-o", "jsonpath={.spec.text}")
    assert todo.output(*words, "--set", "spec.text=buy more") == "buy more"
    assert todo.output(*words, "--type=json", "-p", '[{"op":"replace","path":"/spec/text","value":"x"}]') == "x"
    assert todo.output("get", "todo", "milk", "-o", "jsonpath={.spec.text}") == "buy milk"


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("gte", "todos"), 2, 'todo: error: unknown command "gte"; did you mean "get"?'),
        (
            ("get", "todos", "--sortby=.x"),
            2,
            'todo get: error: unrecognized arguments: --sortby=.x; did you mean "--sort-by"?',
        ),
        (
            ("get", "nothing"),
            1,
            'error: the server doesn\'t have a resource type "nothing"; there are: events, namespaces, todos\n',
        ),
        (("events", "--for", "milk"), 1, "error: --for must be in resource/name form"),
        (("apply",), 2, "error: must specify -f: a file, a folder, or - for standard input"),
        (("create",), 2, "error: give TYPE NAME, with fields as in --set spec.size=3, or -f FILE"),
        (("create", "todo"), 2, "error: give TYPE NAME, with fields as in --set spec.size=3, or -f FILE"),
        (("get", "tods"), 1, 'error: the server doesn\'t have a resource type "tods"; did you mean "todos"?'),
        (("get", "tdoo/milk"), 1, 'error: the server doesn\'t have a resource type "tdoo"; did you mean "todo"?'),
        (("wait", "todo/milk"), 2, "error: specify --for: condition=NAME"),
        (("patch", "todo", "milk", "--set", "x"), 2, "error: --set x: write PATH=VALUE, as in --set spec.text=VALUE"),
        (("patch", "todo", "milk"), 2, "error: must specify one of -p, --patch-file, --set and --unset"),
        (("label", "todo", "milk"), 2, "error: at least one label update is required"),
        (("get", "todos", ""), 2, "error: resource name may not be empty"),
        (("get", "todos", "milk", ""), 2, "error: resource name may not be empty"),
        (("delete", "todos", ""), 2, "error: resource name may not be empty"),
        (
            ("create", "todo", "a", "--set", "metadata.name=b", "--set", "spec.text=x"),
            2,
            "error: --set metadata.name=b: the name is the argument after the type: a; give one of them",
        ),
        (
            ("patch", "todo", "milk", "--unset", "spec.typo"),
            1,
            "error: --unset spec.typo: unknown field 'spec.typo'; its fields are done, priority, tags, text",
        ),
        (("patch", "todo", "milk", "--unset", "["), 2, "error: --unset [: cannot read the path at '['"),
        (("patch", "todo", "milk", "--unset", ""), 2, "error: --unset : the path is missing; write --unset spec.text"),
        (("create", "tod", "a"), 1, 'error: the server doesn\'t have a resource type "tod"; did you mean "todo"?'),
        (("delete",), 2, "error: Required resource not specified: give TYPE, TYPE NAME or TYPE/NAME. "),
        (("explain", "todos", "--api-version=a/b/c"), 1, "error: --api-version: unexpected GroupVersion string: a/b/c"),
        (("wait", "todo/a", "--for=condition="), 1, "error: the name of the condition is missing, as in --for="),
        (("get", "todos", "--sort-by={.spec.a"), 1, "error: unexpected path string '{.spec.a', expected a 'name1."),
        (("api-resources", "-o", "csv"), 1, 'error: unable to match a printer suitable for the output format "csv"'),
    ],
)
def test_what_was_probably_meant_is_in_the_error(todo: Console, words: tuple[str, ...], code: int, line: str) -> None:
    todo.output("create", "-f", "-", stdin=TWO)
    refused = todo.run(*words)
    assert (refused.code, refused.output) == (code, "")
    assert refused.errors.startswith(line)


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        ("apiVersion: todo.example.com/v1, kind: Todos", 'did you mean kind "Todo"?'),
        ("apiVersion: todo.example.com/v2, kind: Todo", 'did you mean apiVersion "todo.example.com/v1"?'),
        ("apiVersion: v1, kind: Todo", 'did you mean apiVersion "todo.example.com/v1"?'),
        ("apiVersion: todo.example.com/v1, kind: Namespaces", "ensure CRDs are installed first"),
        ("apiVersion: todos.example.com/v1, kind: Todo", "ensure CRDs are installed first"),
    ],
)
def test_a_kind_of_a_file_that_is_not_served_has_what_was_meant_in_its_group(
    todo: Console, written: str, remedy: str
) -> None:
    refused = todo.run("create", "-f", "-", stdin=f"{{{written}, metadata: {{name: a}}}}")
    assert refused.code == 1
    assert refused.errors.endswith(f"\n{remedy}\n")


def test_an_error_that_is_about_no_field_has_none(todo: Console) -> None:
    class Whole(pt.Resource):
        spec: dict[str, int] = {}

    rule = pt.Rule("size(self.spec) < 2", message="at most one entry")
    kind = pt.resource(group="rules.example.com", version="v1", rules=[rule])(Whole)
    rules = Console(kit.Tool("rules", kinds=[kind], storage=todo.tool.storage))
    refused = rules.run("create", "whole", "a", "--set", "spec.a=1", "--set", "spec.b=2")
    assert refused.errors == 'The Whole "a" is invalid: Invalid value: at most one entry\n'


def test_a_kind_that_is_not_of_the_tool_is_not_stored(todo: Console) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}"
    refused = todo.run("apply", "-f", "-", stdin=pod)
    assert (refused.code, refused.output) == (1, "")
    assert 'no matches for kind "Pod" in version "v1"' in refused.errors


@pytest.mark.parametrize("command", ["apply", "create"])
def test_the_objects_after_a_mistake_are_written_and_every_mistake_is_reported(todo: Console, command: str) -> None:
    bad = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: bad}, spec: {text: a, typo: 1}}"
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"
    refused = todo.run(command, "-f", "-", stdin=f"{bad}\n---\n{pod}\n---\n{TWO}")
    assert refused.code == 1
    assert "typo" in refused.errors
    assert 'no matches for kind "Pod" in version "v1"' in refused.errors
    assert len(todo.output("get", "todos", "-o", "name").splitlines()) == len(refused.output.splitlines()) == 2


def test_the_error_of_a_conflict_shows_how_to_take_the_fields_over(todo: Console) -> None:
    todo.output("apply", "-f", "-", "--field-manager=other", stdin=TWO)
    changed = TWO.replace("buy milk", "buy more milk")
    refused = todo.run("apply", "-f", "-", stdin=changed)
    assert refused.code == 4
    assert 'conflict with "other": .spec.text' in refused.errors
    assert "take them over with --force-conflicts" in refused.errors
    assert todo.run("apply", "-f", "-", "--force-conflicts", stdin=changed).code == 0


def test_labels_of_several_objects_are_listed_under_their_names(todo: Console) -> None:
    todo.output("create", "-f", "-", stdin=TWO)
    assert todo.output("label", "todos", "--all", "--list") == (
        "Listing labels for Todo.todo.example.com/eggs:\nListing labels for Todo.todo.example.com/milk:\n shop=corner\n"
    )


def test_an_argument_that_is_not_text_is_named(todo: Console) -> None:
    refused = todo.run("create", "todo", "milk", "--set", os.fsdecode(b"spec.text=K\xe4se"))
    assert (refused.code, refused.output) == (2, "")
    assert refused.errors.startswith("todo create: error: the argument 'spec.text=K\\xe4se' is not utf-8")


def test_a_command_that_reads_creates_neither_a_file_nor_a_folder(todo: Console, tmp_path: Path) -> None:
    storage = ("--storage", f"sqlite:{tmp_path}/misspelt/todo.db")
    for words in (("get", "todos"), ("explain", "todos"), ("api-resources",)):
        assert todo.run(*words, *storage).code == 0
    assert todo.run("get", "todo", "milk", *storage).code == 3
    assert list(tmp_path.iterdir()) == []


def test_a_storage_without_a_path_is_an_error(todo: Console) -> None:
    refused = todo.run("get", "todos", "--storage", "sqlite:")
    assert (refused.code, refused.output) == (1, "")
    assert "sqlite:PATH" in refused.errors
    assert "event loop" not in refused.errors


def test_a_field_that_exists_can_be_removed(todo: Console) -> None:
    todo.output("create", "-f", "-", stdin=TWO)
    for path in ("metadata.labels.shop", "metadata.labels", "metadata.ownerReferences", "spec.tags", "status"):
        assert todo.run("patch", "todo", "milk", "--unset", path).code == 0


def test_an_api_version_with_two_slashes_is_an_error(todo: Console) -> None:
    refused = todo.run("apply", "-f", "-", stdin=TWO.replace("todo.example.com/v1", "a/v1/x"))
    assert (refused.code, refused.output) == (1, "")
    assert refused.errors == (
        'error: error validating "STDIN": error validating data: unexpected GroupVersion string: a/v1/x; '
        "write VERSION or GROUP/VERSION, as in apps/v1\n"
    )


def test_a_name_that_the_server_would_generate_is_unknown_in_a_dry_run(todo: Console) -> None:
    text = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {generateName: a-}, spec: {text: a}}"
    words = ("create", "-f", "-", "--dry-run=client")
    assert todo.output(*words, stdin=text) == "todo.todo.example.com/<unknown> created (dry run)\n"
    assert todo.output(*words, "-o", "name", stdin=text) == "todo.todo.example.com/<unknown>\n"


def test_a_patch_file_that_is_not_text_is_named(todo: Console, tmp_path: Path) -> None:
    todo.output("create", "-f", "-", stdin=TWO)
    file = tmp_path / "patch.yaml"
    file.write_bytes(b"spec: {text: K\xe4se}")
    refused = todo.run("patch", "todo", "milk", "--patch-file", str(file))
    assert (refused.code, refused.output) == (1, "")
    assert refused.errors == (
        f"error: unable to read patch file: {file} is not UTF-8: byte 14 is wrong; save it as UTF-8\n"
    )


def test_run_returns_the_code_of_wrong_usage_and_of_help(todo: Console) -> None:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert todo.tool.run(["nope"]) == 2
        assert todo.tool.run(["get", "--nope"]) == 2
        assert todo.tool.run(["get", "--help"]) == 0


async def test_a_write_in_a_coroutine_is_refused_with_what_to_do(todo: Console) -> None:
    words = ("create", "todo", "milk", "--set", "spec.text=a")
    refused = todo.run(*words)
    assert (refused.code, refused.output) == (1, "")
    assert "run it in a thread, with `await asyncio.to_thread(tool.run, words)`" in refused.errors
    written = await asyncio.to_thread(todo.run, *words)
    assert (written.code, written.output) == (0, "todo.todo.example.com/milk created\n")
