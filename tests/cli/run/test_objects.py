from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.cli.errors import CommandError
from pilotage.cli.run.objects import Objects, read_objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.schema.generate.crd import crds
from pilotage.types.core.v1 import ConfigMap, Namespace
from tests.schema.apis.database import Database

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


@pytest.mark.virtual_time
async def test_objects_are_applied_to_the_default_namespace_unless_they_name_one(tmp_path: Path) -> None:
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "other"}},
    ]
    async with pt.Cluster.embedded() as cluster:
        objects = Objects(cluster.client, [(tmp_path, document) for document in documents], "default")
        assert not objects.idle(0)
        assert objects.busy(0) == ["3 objects of -f are not applied"]
        await objects.start()
        assert objects.idle(0)
        assert await cluster.client.find(Namespace, "other") is not None
        assert await cluster.client.find(ConfigMap, "a", namespace="default") is not None
        assert await cluster.client.find(ConfigMap, "b", namespace="other") is not None


@pytest.mark.virtual_time
async def test_an_object_may_follow_its_definition(tmp_path: Path) -> None:
    database = {
        "apiVersion": "demo.pilotage.dev/v1alpha1",
        "kind": "Database",
        "metadata": {"name": "main"},
        "spec": {"engine": "postgres"},
    }
    async with pt.Cluster.embedded() as cluster:
        await Objects(cluster.client, [(tmp_path, crds([Database])[0]), (tmp_path, database)], "default").start()
        gvk = GroupVersionKind("demo.pilotage.dev", "v1alpha1", "Database")
        assert await cluster.client.find(gvk, "main", namespace="default") is not None


@pytest.mark.virtual_time
async def test_a_refused_object_is_named_with_its_file(tmp_path: Path) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "A B"}}
    unknown = {"apiVersion": "nope.dev/v1", "kind": "Nope", "metadata": {"name": "a"}}
    async with pt.Cluster.embedded() as cluster:
        with pytest.raises(CommandError, match=r"objects.yaml: cannot apply ConfigMap A B: .*metadata.name"):
            await Objects(cluster.client, [(Path("objects.yaml"), document)], "default").start()
        with pytest.raises(CommandError, match=r"objects.yaml: cannot apply Nope a: "):
            await Objects(cluster.client, [(Path("objects.yaml"), unknown)], "default").start()
