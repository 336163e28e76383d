"""Kinds that a tool names by import path: loaded when they are needed, and remembered until the program changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pilotage as pt
from pilotage import kit
from pilotage.types.core.v1 import ConfigMap
from tests import forked
from tests.kit.tools import Console

KINDS = """
import pilotage as pt
from .columns import COLUMNS

class NoteSpec(pt.Model):
    text: str = ""

@pt.resource(group="notes.example.com", version="v1", columns=COLUMNS)
class Note(pt.Resource):
    spec: NoteSpec
"""
COLUMNS = "import pilotage as pt\nCOLUMNS = [pt.Column('{}', '.spec.text')]\n"
MAIN = """
import sys
from pilotage import kit
tool = kit.Tool("notes", kinds="notes.kinds:Note", storage="sqlite:" + sys.argv.pop(1))
"""
PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from notes import tool
code = tool.run()
print("notes.kinds" in sys.modules)
sys.exit(code)
"""


class Notes:
    """A program in a folder, run as processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "notes"
        self.package.mkdir()
        for name, text in (("kinds", KINDS), ("columns", COLUMNS.format("Text")), ("__init__", MAIN)):
            (self.package / f"{name}.py").write_text(text)
        self.cache = folder / "cache"

    def run(self, *words: str) -> tuple[str, bool]:
        """What a command prints, and whether it has imported the kinds."""
        command = ("-c", PROGRAM, str(self.folder), str(self.folder / "notes.db"), *words)
        ran = forked.run(*command, environment=os.environ | {"XDG_CACHE_HOME": str(self.cache)})
        assert (ran.returncode, ran.stderr) == (0, "")
        output, _, loaded = ran.stdout.rstrip("\n").rpartition("\n")
        return output, loaded == "True"


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    found = Notes(tmp_path)
    found.run("create", "note", "a", "--set", "spec.text=x")
    return found


def test_a_read_imports_the_kinds_again_only_after_a_source_file_has_changed(notes: Notes) -> None:
    assert notes.run("get", "notes") == ("NAME   TEXT\na      x", False)
    (notes.package / "columns.py").write_text(COLUMNS.format("Contents"))
    assert notes.run("get", "notes") == ("NAME   CONTENTS\na      x", True)
    assert notes.run("get", "note", "a")[1] is True  # it was written under the old definition: the server checks it
    notes.run("patch", "note", "a", "--set", "spec.text=y")
    assert notes.run("get", "notes") == ("NAME   CONTENTS\na      y", False)


def test_what_is_remembered_may_be_lost_damaged_or_impossible_to_write(notes: Notes) -> None:
    (file,) = notes.cache.glob("pilotage/kinds/notes-*.json")
    for damage in ("", "{}", file.read_text().replace("notes.kinds:Note", "notes.kinds:Other"), "[1"):
        file.write_text(damage)
        assert notes.run("get", "notes") == ("NAME   TEXT\na      x", True)
        assert notes.run("get", "notes")[1] is False
    file.unlink()
    assert notes.run("get", "notes")[1] is True
    notes.cache = notes.package / "kinds.py"  # a folder cannot be created there
    assert notes.run("get", "notes") == ("NAME   TEXT\na      x", True)


def test_a_copy_of_the_program_elsewhere_has_its_own_memory(notes: Notes, tmp_path: Path) -> None:
    other = Notes(tmp_path / "cache")
    other.cache = notes.cache
    (other.package / "columns.py").write_text(COLUMNS.format("Other"))
    other.run("create", "note", "a", "--set", "spec.text=x")
    assert other.run("get", "notes") == ("NAME   OTHER\na      x", False)
    assert notes.run("get", "notes") == ("NAME   TEXT\na      x", False)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ("tests.kit.tools", "'tests.kit.tools' is not MODULE:NAME"),
        (["tests.kit.tools:"], "'tests.kit.tools:' is not MODULE:NAME"),
        (".tools:Todo", "'.tools:Todo' is not MODULE:NAME"),
    ],
)
def test_a_reference_that_is_none_is_refused_at_once(kinds: str | list[str], message: str) -> None:
    with pytest.raises(pt.InvalidDefinition, match=message):
        kit.Tool("todo", kinds=kinds, storage="memory:")


def test_a_name_that_a_module_does_not_have_is_an_error_with_its_file(tmp_path: Path) -> None:
    tool = kit.Tool("todo", kinds="tests.kit.tools:Todo,Tudu", storage=f"sqlite:{tmp_path}/todo.db")
    failed = Console(tool).run("get", "todos")
    assert failed.code == 1
    assert failed.errors.startswith("error: 'tests.kit.tools:Todo,Tudu': the module tests.kit.tools (")
    assert failed.errors.endswith("tools.py) has no Tudu\n")


def test_classes_and_references_may_be_mixed_and_setup_may_be_a_reference(tmp_path: Path) -> None:
    tool = kit.Tool(
        "todo",
        kinds=["tests.kit.tools:Todo", ConfigMap],
        setup="tests.kit.tools:setup",
        storage=f"sqlite:{tmp_path}/todo.db",
    )
    todo = Console(tool)
    todo.output("create", "todo", "milk", "--set", "spec.text=x")
    assert todo.output("get", "todos") == "NAME   TEXT   PHASE\nmilk   x      Open\n"
    assert todo.output("get", "cm", "-o", "name").startswith("configmap/")
    assert [kind.__name__ for kind in tool.kinds] == ["Todo", "ConfigMap"]


def test_kinds_that_cannot_be_imported_are_one_line_and_help_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "brokenkinds.py").write_text("import nosuchmodule\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    tool = kit.Tool("notes", kinds="brokenkinds:Note", storage=f"sqlite:{tmp_path}/n.db")
    assert tool.run(["get", "notes"]) == 1
    assert capsys.readouterr().err == (
        "error: the module brokenkinds of 'brokenkinds:Note' cannot be imported: ModuleNotFoundError: No module named "
        "'nosuchmodule' (brokenkinds.py:1 in <module>)\n"
    )
    assert tool.run(["--help"]) == 0
    assert "usage: notes" in capsys.readouterr().out
    (tmp_path / "brokensyntax.py").write_text("def f(:\n")
    tool = kit.Tool("notes", kinds="brokensyntax:Note", storage=f"sqlite:{tmp_path}/n.db")
    assert tool.run(["get", "notes"]) == 1
    assert capsys.readouterr().err == (
        "error: the module brokensyntax of 'brokensyntax:Note' cannot be imported: SyntaxError: invalid syntax "
        "(brokensyntax.py, line 1)\n"
    )
