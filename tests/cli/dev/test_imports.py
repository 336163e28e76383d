from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pilotage.cli.dev.imports import ProgramImports
from pilotage.kit.console.errors import CommandError

pytestmark = pytest.mark.usefixtures("own_imports")
SETUP = "from parts import VALUE\n\ndef setup(manager):\n    return VALUE\n"


@pytest.fixture
def imports() -> ProgramImports:
    Path("program.py").write_text(SETUP)
    Path("parts.py").write_text("VALUE = 1\n")
    return ProgramImports("program.py")


def value(imports: ProgramImports) -> object:
    return imports.load().parts[0](None)


def test_a_change_in_any_module_of_the_program_is_seen(imports: ProgramImports) -> None:
    assert value(imports) == 1
    Path("parts.py").write_text("VALUE = 2\n")
    assert value(imports) == 2, "though it has the same size, and perhaps the same time"
    assert imports.files == {str(Path(name).absolute()) for name in ("program.py", "parts.py")}


def test_the_modules_of_an_import_that_fails_are_put_back(imports: ProgramImports) -> None:
    imports.load()
    old, path = sys.modules["parts"], [*sys.path]
    Path("parts.py").write_text("VALUE = 2\nraise ValueError('no')\n")
    with pytest.raises(CommandError, match=r"ValueError: no \(.*parts\.py, line 2"):
        imports.load()
    assert sys.modules["parts"] is old
    assert sys.path == path


def test_a_module_that_is_new_in_a_failed_import_is_watched(imports: ProgramImports) -> None:
    imports.load()
    Path("parts.py").write_text("import later\n")
    Path("later.py").write_text("1 / 0\n")
    with pytest.raises(CommandError):
        imports.load()
    assert str(Path("later.py").absolute()) in imports.files


def test_a_module_whose_file_is_gone_cannot_be_imported(imports: ProgramImports) -> None:
    imports.load()
    Path("parts.py").unlink()
    with pytest.raises(CommandError, match="No module named 'parts'"):
        imports.load()


def test_modules_that_were_loaded_before_stay(imports: ProgramImports) -> None:
    Path("before.py").write_text("")
    sys.path.insert(0, str(Path.cwd()))
    import before  # type: ignore[import-not-found]  # written by the test

    imports = ProgramImports("program.py")
    imports.load()
    imports.load()
    assert sys.modules["before"] is before
