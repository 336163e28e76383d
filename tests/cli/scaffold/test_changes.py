from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pilotage.cli.scaffold.changes import ProjectChanges
from pilotage.kit.console.errors import CommandError


def contents(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in files}


@pytest.fixture
def changes(tmp_path: Path) -> ProjectChanges:
    """Two new files, one of them in a new folder, and an edit."""
    (tmp_path / "old.py").write_text("old\n")
    made = ProjectChanges(tmp_path)
    made.create("new.py", "new\n")
    made.create("folder/inner/new.py", "inner\n")
    made.edit("old.py", "edited\n")
    return made


def test_all_changes_are_written(changes: ProjectChanges) -> None:
    changes.write()
    assert contents(changes.root) == {"new.py": "new\n", "folder/inner/new.py": "inner\n", "old.py": "edited\n"}
    assert changes.lines() == ["create new.py", "create folder/inner/new.py", "edit   old.py"]


def test_a_file_that_exists_is_not_created(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("old\n")
    changes = ProjectChanges(tmp_path)
    changes.create("old.py", "new\n")
    changes.write()
    assert contents(tmp_path) == {"old.py": "old\n"}
    assert (changes.lines(), changes.there) == ([], ["old.py"])


def test_a_file_that_was_created_meanwhile_stays_and_nothing_else_is_written(changes: ProjectChanges) -> None:
    (changes.root / "folder" / "inner").mkdir(parents=True)
    (changes.root / "folder" / "inner" / "new.py").write_text("written meanwhile\n")
    with pytest.raises(CommandError, match=r"new.py has been created meanwhile; nothing was changed"):
        changes.write()
    assert contents(changes.root) == {"folder/inner/new.py": "written meanwhile\n", "old.py": "old\n"}


def test_a_file_that_was_changed_meanwhile_stays_and_nothing_else_is_written(changes: ProjectChanges) -> None:
    (changes.root / "old.py").write_text("changed\n")
    with pytest.raises(CommandError, match=r"old.py has been changed meanwhile; nothing was changed"):
        changes.write()
    assert contents(changes.root) == {"old.py": "changed\n"}
    assert not (changes.root / "folder").exists()


def test_an_error_of_the_file_system_undoes_all_that_was_written(
    changes: ProjectChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def fail_second(source: Path, target: Path) -> None:
        if target.parent != changes.root:
            raise OSError(28, "No space left on device", str(target))
        link(source, target)

    monkeypatch.setattr(os, "link", fail_second)
    with pytest.raises(CommandError, match=r"cannot write .*new.py: No space left on device; nothing was changed"):
        changes.write()
    assert contents(changes.root) == {"old.py": "old\n"}
    assert not (changes.root / "folder").exists()


def test_an_edited_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("old\n")
    (tmp_path / "real.py").chmod(0o640)
    (tmp_path / "link.py").symlink_to("real.py")
    changes = ProjectChanges(tmp_path)
    changes.edit("link.py", "new\n")
    changes.write()
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "new\n"
    assert (tmp_path / "real.py").stat().st_mode & 0o777 == 0o640


def test_the_difference_can_be_applied_by_git(changes: ProjectChanges) -> None:
    (changes.root / "old.py").write_text("old")  # without a newline at its end
    changes.edits["old.py"] = ("old", "edited\n")
    subprocess.run(["git", "apply", "-"], input=changes.difference(), text=True, cwd=changes.root, check=True)
    assert contents(changes.root) == {"new.py": "new\n", "folder/inner/new.py": "inner\n", "old.py": "edited\n"}
