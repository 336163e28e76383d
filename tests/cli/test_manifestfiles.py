from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from pilotage.cli.errors import CommandError
from pilotage.cli.manifestfiles import read_manifests

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
