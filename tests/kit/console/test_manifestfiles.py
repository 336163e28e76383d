from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.manifestfiles import read_manifests
from pilotage.meta.text import yamltext

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: value}\n"


def refusal(path: Path) -> str:
    with pytest.raises(CommandError) as raised:
        read_manifests([path])
    return str(raised.value)


def test_files_folders_and_lists_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(f"{CONFIG_MAP}---\n---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: b}}\n")
    pod = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}'
    (tmp_path / "a.json").write_text(f'{{"apiVersion": "v1", "kind": "List", "items": [{pod}]}}')
    (tmp_path / "notes.txt").write_text("not YAML: [")
    kinds = [(Path(each.source).name, each.document["kind"]) for each in read_manifests([tmp_path])]
    assert kinds == [("a.json", "Pod"), ("b.yaml", "ConfigMap"), ("b.yaml", "Namespace")]


def test_standard_input_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONFIG_MAP.encode())))
    assert [each.document["kind"] for each in read_manifests([Path("-")])] == ["ConfigMap"]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nope.yaml") == f'the path "{tmp_path}/nope.yaml" does not exist'
    assert refusal(tmp_path) == f"error reading [{tmp_path}]: recognized file extensions are [.json .yaml .yml]"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("a: [")
    assert refusal(wrong).startswith(f"error parsing {wrong}: ")
    wrong.write_text(f"{CONFIG_MAP}---\nkind: ConfigMap\n")
    assert refusal(wrong) == f'error validating "{wrong}": error validating data: apiVersion not set'


def test_files_without_objects_are_an_error_where_one_is_required(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("---\n")
    assert read_manifests([tmp_path], required=False) == []
    assert refusal(tmp_path) == "no objects passed to apply"


def many(count: int, size: int = 0) -> list[dict[str, Any]]:
    """ConfigMaps with 24 values each, and a text of this size."""
    labels = {f"label{number}": "value" for number in range(6)}
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    return [
        {**head, "metadata": {"name": f"a{number}", "labels": labels}, "data": {"text": "x" * size}}
        for number in range(count)
    ]


@pytest.mark.parametrize("objects", [many(5000), many(4, 1024 * 1024)], ids=["values", "bytes"])
@pytest.mark.parametrize("form", ["documents", "list", "json", "stream"])
def test_the_limits_are_those_of_one_object_and_not_of_the_file(
    objects: list[dict[str, Any]], form: str, tmp_path: Path
) -> None:
    whole = {"apiVersion": "v1", "items": objects, "kind": "List"}
    first = yamltext.write(objects[0])  # to write all of them this way takes as long as to read them
    documents = [first.replace("name: a0", f"name: {each['metadata']['name']}") for each in objects]
    text = {
        "documents": lambda: "---\n".join(documents),
        "list": lambda: (
            "apiVersion: v1\nkind: List\nitems:\n" + "".join("- " + indent(each, "  ")[2:] for each in documents)
        ),
        "json": lambda: json.dumps(whole),
        "stream": lambda: "\n".join(map(json.dumps, objects)),
    }[form]()
    file = tmp_path / "all.yaml"
    file.write_text(text)
    assert [each.document for each in read_manifests([file])] == objects


@pytest.mark.parametrize("form", [yamltext.write, json.dumps])
def test_an_object_that_no_server_reads_is_refused(form: Callable[[Any], str], tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_text(form(many(1, 4 * 1024 * 1024)[0]))
    assert "at most 3145728 are read" in refusal(file)


def test_json_objects_may_follow_one_another_as_jq_prints_them(tmp_path: Path) -> None:
    file = tmp_path / "stream.json"
    one, other = (json.dumps(each, indent=2) for each in many(2))
    for text in (one + other, f"{one}\n{other}\n", f"{one}\n---\n{other}"):
        file.write_text(text)
        assert [each.document for each in read_manifests([file])] == many(2)
    file.write_text(one + other[:-1])
    assert refusal(file).startswith(f"error parsing {file}: the document is not JSON: ")


def test_what_looks_like_json_may_be_yaml(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}} # a comment\n")
    assert [each.document["metadata"]["name"] for each in read_manifests([file])] == ["a"]


def test_a_folder_is_read_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(CONFIG_MAP)
    (tmp_path / "sub.yaml").mkdir()
    (tmp_path / "sub.yaml" / "b.yaml").write_text(CONFIG_MAP)
    assert len(read_manifests([tmp_path])) == 1
    assert len(read_manifests([tmp_path], recursive=True)) == 2

    def scan(path: str) -> Any:
        if path.endswith("sub.yaml"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", scan)  # root may read every folder
    with pytest.raises(CommandError) as raised:
        read_manifests([tmp_path], recursive=True)
    reason = f"open {tmp_path}/sub.yaml: permission denied; make it readable for this user, or leave it out"
    assert str(raised.value) == f'error reading "{tmp_path}": {reason}'


def test_a_link_to_nothing_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CONFIG_MAP)
    (tmp_path / "broken.yaml").symlink_to(tmp_path / "moved.yaml")
    assert refusal(tmp_path) == (
        f"cannot read {tmp_path}/broken.yaml: No such file or directory; it is a link to {tmp_path}/moved.yaml: "
        "create that file, or remove the link"
    )


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert refusal(tmp_path / "a.yaml").startswith(
        f"cannot read {tmp_path}/a.yaml: Permission denied; make it readable"
    )


def test_a_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal(Path("-")).startswith("cannot read standard input: it is closed; ")
