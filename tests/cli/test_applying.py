from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from pilotage.cli.applying import read_objects
from pilotage.cli.errors import CommandError

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: value}\n"


def refusal(path: Path) -> str:
    with pytest.raises(CommandError) as raised:
        read_objects([path])
    return str(raised.value)


def test_files_folders_and_lists_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(f"{CONFIG_MAP}---\n---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: b}}\n")
    pod = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}'
    (tmp_path / "a.json").write_text(f'{{"apiVersion": "v1", "kind": "List", "items": [{pod}]}}')
    (tmp_path / "notes.txt").write_text("not YAML: [")
    kinds = [(file.name, document["kind"]) for file, document in read_objects([tmp_path])]
    assert kinds == [("a.json", "Pod"), ("b.yaml", "ConfigMap"), ("b.yaml", "Namespace")]


def test_standard_input_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONFIG_MAP.encode())))
    assert [document["kind"] for _, document in read_objects([Path("-")])] == ["ConfigMap"]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nope.yaml") == f"cannot read {tmp_path}/nope.yaml: No such file or directory"
    assert refusal(tmp_path) == f"-f {tmp_path}: the folder has no .yaml, .yml, .json file"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("a: [")
    assert refusal(wrong).startswith(f"{wrong}: ")
    wrong.write_text(f"{CONFIG_MAP}---\nkind: ConfigMap\n")
    assert refusal(wrong) == f"{wrong}: document 2 is not an object: it needs apiVersion, kind and metadata.name"
