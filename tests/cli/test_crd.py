from __future__ import annotations

from pathlib import Path

import pytest

from pilotage import cli
from pilotage.meta.text import yamltext
from tests.schema import golden_files

DATABASE = "tests.schema.apis.database"
PREAMBLE = "from pilotage.meta.models import Model, Resource, resource\n"
THING = """
class ThingSpec(Model):
    size: int = 1

@resource(group="example.com", version="v1")
class Thing(Resource):
    spec: ThingSpec
"""


pytestmark = pytest.mark.usefixtures("own_imports")


def file(folder: Path, text: str, name: str = "things.py") -> str:
    path = folder / name
    path.write_text(PREAMBLE + text)
    return str(path)


def test_a_module_is_written_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crd", DATABASE]) == 0
    assert capsys.readouterr().out == (golden_files.FOLDER / "database.yaml").read_text()


def test_several_documents_are_separated(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crd", "tests.schema.apis.backups"]) == 0
    kinds = [document["spec"]["names"]["kind"] for document in yamltext.read_all(capsys.readouterr().out)]
    assert kinds == ["Backup", "BackupPolicy"]


def test_one_class_of_a_module_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crd", "tests.schema.apis.backups:Policy"]) == 0
    assert yamltext.read(capsys.readouterr().out)["spec"]["names"]["kind"] == "BackupPolicy"


def test_a_file_may_import_its_neighbours_whose_kinds_are_not_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file(tmp_path, THING, "neighbour.py")
    more = "from neighbour import Thing, ThingSpec\n" + THING.replace("Thing(", "Other(").split("\n\n", 1)[1]
    assert cli.main(["crd", file(tmp_path, more, "others.py")]) == 0
    assert yamltext.read(capsys.readouterr().out)["spec"]["names"]["kind"] == "Other"


def test_a_package_has_the_kinds_of_its_modules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "thingapi").mkdir()
    file(tmp_path / "thingapi", THING, "v1.py")
    (tmp_path / "thingapi" / "__init__.py").write_text("from thingapi.v1 import Thing\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["crd", "thingapi"]) == 0
    assert "name: things.example.com" in capsys.readouterr().out


def test_a_folder_gets_one_file_for_each_kind(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "crd"
    assert cli.main(["crd", "tests.schema.apis.backups", DATABASE, "--output-dir", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "demo.pilotage.dev_databases.yaml",
        "test.pilotage.dev_backuppolicies.yaml",
        "test.pilotage.dev_backups.yaml",
    ]


def test_docs_are_a_page_in_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crd", "--docs", DATABASE]) == 0
    assert capsys.readouterr().out == (golden_files.FOLDER / "database.md").read_text()
    assert cli.main(["crd", "--docs", DATABASE, "--output-dir", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["demo.pilotage.dev_databases.md"]


def test_an_unchanged_definition_breaks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    golden = golden_files.FOLDER / "database.yaml"
    assert cli.main(["crd", DATABASE, "--against", str(golden)]) == 0
    assert capsys.readouterr().out == f"No change since {golden} breaks stored objects or clients.\n"


def test_a_change_that_breaks_is_named_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.yaml"
    old.write_text((golden_files.FOLDER / "database.yaml").read_text().replace("minimum: 1", "minimum: 0"))
    assert cli.main(["crd", DATABASE, "--against", str(old)]) == 1
    assert capsys.readouterr().out == (
        "breaks: databases.demo.pilotage.dev v1alpha1 .spec.replicas: "
        "the smallest value (minimum) changed from 0 to 1: "
        "stored objects and clients with other values are rejected\n"
        "1 change breaks stored objects or clients.\n"
    )


def test_a_kind_that_is_gone_counts_only_where_whole_modules_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = golden_files.FOLDER
    old = tmp_path / "old.yaml"
    old.write_text("---\n".join((golden / name).read_text() for name in ("backups.yaml", "database.yaml")))
    assert cli.main(["crd", DATABASE, "--against", str(old)]) == 1
    assert "backups.test.pilotage.dev metadata.name: the kind was removed" in capsys.readouterr().out
    assert cli.main(["crd", f"{DATABASE}:Database", "--against", str(old)]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Broken(:\n", "things.py, line 2: invalid syntax"),
        (
            "import nowhere_to_be_found\n",
            "cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero ("),
        (
            "raise SystemExit(3)\n",
            "exited while it was imported (exit code 3, {}/things.py, line 2); move the program under",
        ),
        ("", "things does not define a kind: it has no subclass of pt.Resource with @pt.resource(…)"),
        (
            THING.replace("int = 1", "int | bool = 1"),
            "things.ThingSpec.size: a CRD cannot express the union int | bool",
        ),
    ],
)
def test_a_module_that_cannot_be_used_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    assert cli.main(["crd", file(tmp_path, text)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message.format(tmp_path) in captured.err
    assert captured.err.startswith("pilotage: ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("program", "what"),
    [
        ("import asyncio\nasyncio.run(main())\n", "starts an event loop"),
        ("from asyncio import run\nrun(main(), debug=True)\n", "starts an event loop"),
        ("import asyncio\nwith asyncio.Runner() as runner: runner.run(main())\n", "starts an event loop"),
        (
            "import asyncio; loop = asyncio.new_event_loop()\n"
            "try: loop.run_until_complete(main())\nfinally: loop.close()\n",
            "starts an event loop",
        ),
        ("\nname = input()\n", "reads standard input"),
        ("import sys\nfor line in sys.stdin: print(line)\n", "reads standard input"),
    ],
)
def test_a_program_that_an_import_starts_is_not_run_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str, what: str
) -> None:
    main = "async def main():\n    raise AssertionError\n"
    things = file(tmp_path, THING + main + program)
    line = len((PREAMBLE + THING + main).splitlines()) + 2
    assert cli.main(["crd", things]) == 0
    captured = capsys.readouterr()
    assert "name: things.example.com" in captured.out
    assert f"pilotage: {things}, line {line} {what} when it is imported: the import stopped there" in captured.err
    assert captured.err.endswith('; move the program under `if __name__ == "__main__":`\n')


def test_a_program_that_an_import_starts_is_not_run_in_a_module_by_its_name_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "things_api").mkdir()
    file(tmp_path / "things_api", THING + "import asyncio\nasyncio.run(asyncio.sleep(60))\n", "v1.py")
    (tmp_path / "things_api" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["crd", "things_api.v1"]) == 0
    captured = capsys.readouterr()
    assert "name: things.example.com" in captured.out
    assert "v1.py, line 10 starts an event loop when it is imported" in captured.err


def test_an_interrupted_import_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crd", file(tmp_path, "raise KeyboardInterrupt\n")]) == 130
    assert (
        f"interrupted while {tmp_path}/things.py was imported ({tmp_path}/things.py, line 2)" in capsys.readouterr().err
    )


def test_the_operator_of_the_examples_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crd", str(Path(__file__).parents[2] / "examples" / "database.py")]) == 0
    captured = capsys.readouterr()
    assert "name: databases.demo.pilotage.dev" in captured.out
    assert "Running" not in captured.err  # what it prints when it runs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.at.all"], "module 'nowhere' not found"),
        (["tests.nowhere"], "module 'tests.nowhere' not found"),
        (["nowhere.py"], "file nowhere.py does not exist"),
        ([f"{DATABASE}:Nothing"], "tests.schema.apis.database has no class 'Nothing'"),
        ([f"{DATABASE}:DatabaseSpec"], "tests.schema.apis.database.DatabaseSpec is not a kind"),
        ([DATABASE, "--against", "nowhere.yaml"], "cannot read nowhere.yaml: No such file or directory"),
        ([DATABASE, "--output-dir", __file__], "cannot write to"),
    ],
)
def test_what_is_not_there_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.main(["crd", *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "kind: ConfigMap\n",
        "- 1\n",
        "kind: CustomResourceDefinition\n",
        "kind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {names: [], versions: 3}\n",
        "{",
        "\0",
    ],
)
def test_an_old_file_without_a_crd_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(text)
    assert cli.main(["crd", DATABASE, "--against", str(old)]) == 1
    error = capsys.readouterr().err
    assert str(old) in error
    assert error.count("\n") == 1


def test_what_a_module_prints_is_not_part_of_the_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crd", file(tmp_path, THING + "\nprint('hello')\n")]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("apiVersion: apiextensions.k8s.io/v1\n")
    assert printed.err == "hello\n"
