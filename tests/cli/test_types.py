from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster import running
from hack.cluster.running import RealCluster
from pilotage import cli
from pilotage.cluster import Cluster
from pilotage.meta.objects import document_of
from pilotage.meta.text import yamltext
from pilotage.meta.unstructured import Unstructured
from pilotage.schema.generate.crd import crds
from pilotage.schema.source.module import module_of, versions_of
from tests.environments import over_there
from tests.schema import golden_files
from tests.schema.apis.database import Database
from tests.schema.source.loading import loaded, resources

GOLDEN = golden_files.FOLDER / "database.yaml"


def test_a_file_becomes_a_module_on_standard_output(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["types", str(GOLDEN)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith('"""Classes for databases.demo.pilotage.dev."""\n')
    assert printed.err == ""
    with loaded(printed.out, tmp_path) as module:
        assert [cls.__name__ for cls in resources(module)] == ["Database"]


def test_standard_input_and_lists_of_kubectl_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    items = {"kind": "List", "items": [yamltext.read(GOLDEN.read_text())]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(yamltext.write(items).encode())))
    assert cli.main(["types", "-"]) == 0
    assert "class Database(pt.Resource):" in capsys.readouterr().out


def test_a_folder_is_written_as_a_module_for_each_version(tmp_path: Path) -> None:
    assert cli.main(["types", str(golden_files.FOLDER), "--output-dir", str(tmp_path / "api")]) == 0
    names = sorted(path.name for path in (tmp_path / "api").iterdir())
    assert names == ["v1.py", "v1alpha1.py", "v1beta1.py"]
    assert "kind=" not in (tmp_path / "api" / "v1beta1.py").read_text()


def test_a_file_of_many_definitions_may_be_larger_than_a_server_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crd.yaml").write_text("---\n".join([GOLDEN.read_text()] * 800))
    assert cli.main(["types", str(tmp_path / "crd.yaml")]) == 0
    assert capsys.readouterr().out.count("class Database(") == 1
    (tmp_path / "crd.yaml").write_text(f"{GOLDEN.read_text()}---\na: b: c\n")
    assert cli.main(["types", str(tmp_path / "crd.yaml")]) == 1
    line = len(GOLDEN.read_text().splitlines()) + 2
    assert f"line {line}" in capsys.readouterr().err


def test_one_version_can_be_selected(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["types", str(golden_files.FOLDER), "--version", "v1alpha1"]) == 0
    assert "class Database(" in capsys.readouterr().out
    assert cli.main(["types", str(golden_files.FOLDER), "--version", "v9"]) == 1
    assert capsys.readouterr().err == "pilotage: no definition has the version v9\n"


def test_a_file_that_exists_is_overwritten_only_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "api.py"
    file.write_text("mine\n")
    assert cli.main(["types", str(GOLDEN), "-o", str(file)]) == 1
    assert capsys.readouterr().err == f"pilotage: {file} exists; nothing was written, overwrite it with --force\n"
    assert file.read_text() == "mine\n"
    assert cli.main(["types", str(GOLDEN), "-o", str(file), "--force"]) == 0
    assert "class Database(" in file.read_text()


def test_a_property_that_cannot_be_a_field_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = yamltext.read(GOLDEN.read_text())
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]['a"b'] = {"type": "string"}
    (tmp_path / "crd.yaml").write_text(yamltext.write(document))
    assert cli.main(["types", str(tmp_path / "crd.yaml")]) == 1
    assert capsys.readouterr().err == (
        "pilotage: cannot generate a module: the property 'a\"b' of Database.spec cannot be a field: it has a quote, a "
        "backslash or a control character\n"
    )


def test_the_name_of_a_version_cannot_lead_to_another_folder(tmp_path: Path) -> None:
    document = yamltext.read(GOLDEN.read_text())
    document["spec"]["versions"][0]["name"] = "../v1"
    (tmp_path / "crd.yaml").write_text(yamltext.write(document))
    assert cli.main(["types", str(tmp_path / "crd.yaml"), "--output-dir", str(tmp_path / "api")]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crd.yaml"]


def test_kinds_of_another_program_are_not_installed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["types", str(GOLDEN), "--external"]) == 0
    with loaded(capsys.readouterr().out, tmp_path) as module:
        assert crds(resources(module)) == []


def test_what_the_module_cannot_express_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = yamltext.read(GOLDEN.read_text())
    document["spec"]["names"]["listKind"] = "Databases"
    (tmp_path / "crd.yaml").write_text(yamltext.write(document))
    assert cli.main(["types", str(tmp_path / "crd.yaml")]) == 0
    assert capsys.readouterr().err == (
        "pilotage: the module cannot express databases.demo.pilotage.dev v1alpha1.names.listKind: 'Databases' becomes "
        "'DatabaseList'\n"
    )


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("missing.yaml", "missing.yaml does not exist; give a file, a folder, - or the name of a definition"),
        ("folder/missing", "folder/missing does not exist"),
        ("empty", "empty does not contain a CustomResourceDefinition"),
        ("broken.yaml", "broken.yaml has a CustomResourceDefinition without a name, a kind or versions"),
    ],
)
def test_a_wrong_argument_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argument: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.yaml").write_text("kind: CustomResourceDefinition\n")
    assert cli.main(["types", argument]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"pilotage: {message}")
    assert printed.count("\n") == 1


def test_definitions_are_read_from_a_cluster_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(*, kubeconfig: str, context: str) -> Cluster:
        assert (kubeconfig, context) == ("config", "there")
        return Cluster.embedded(f"sqlite:{tmp_path}/state.db")

    async def install() -> None:
        async with Cluster.embedded(f"sqlite:{tmp_path}/state.db") as cluster:
            await cluster.install(Database)

    asyncio.run(install())
    monkeypatch.setattr(Cluster, "connect", connect)
    monkeypatch.chdir(tmp_path)
    options = ["--kubeconfig", "config", "--context", "there"]
    assert cli.main(["types", "databases.demo.pilotage.dev", *options]) == 0
    printed = capsys.readouterr()
    assert ("class Database(pt.Resource):" in printed.out, printed.err) == (True, "")
    assert cli.main(["types", "nothing.demo.pilotage.dev", *options]) == 1
    assert capsys.readouterr().err.endswith("it is neither a file nor a folder, and the cluster has no such name\n")


@pytest.mark.cluster
async def test_definitions_are_read_from_a_real_cluster(real_control_plane: RealCluster, tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(json.dumps(running.kubeconfig(real_control_plane)))
    async with over_there(real_control_plane) as environment:
        async with environment.cluster() as cluster:
            await cluster.install(Database)
        command = [sys.executable, "-m", "pilotage.cli", "types", "databases.demo.pilotage.dev"]
        ran = await asyncio.create_subprocess_exec(*command, "--kubeconfig", str(config), stdout=subprocess.PIPE)
        printed, _ = await ran.communicate()
    assert ran.returncode == 0
    assert b"class Database(pt.Resource):" in printed


@pytest.mark.cluster
async def test_a_real_cluster_accepts_a_scale_whose_paths_are_no_fields(real_control_plane: RealCluster) -> None:
    definition = yamltext.read(GOLDEN.read_text())
    scale = {"specReplicasPath": ".spec.nowhere", "statusReplicasPath": ".status.no.where"}
    definition["metadata"]["name"] = f"scaled.{definition['spec']['group']}"
    definition["spec"]["names"] = {"kind": "Scaled", "plural": "scaled"}
    definition["spec"]["versions"][0]["subresources"] = {"scale": scale}
    async with over_there(real_control_plane) as environment:
        created = await environment.client.create(Unstructured(definition), dry_run=True)
    assert document_of(created)["spec"]["versions"][0]["subresources"]["scale"] == scale
    module = module_of(versions_of(definition), "Text.")
    assert "checked=False" in module
