from __future__ import annotations

import os
from pathlib import Path

from pilotage.cli.dev.files import Saved, WatchedFiles
from pilotage.cli.dev.options import samples


def save(path: Path, at: int) -> str:
    path.write_text("x")
    os.utime(path, ns=(at, at))
    return str(path)


def test_a_file_counts_as_saved_when_it_no_longer_changes(tmp_path: Path) -> None:
    program = save(tmp_path / "a.py", 1)
    files = WatchedFiles(())
    files.begin([program])
    assert not files.saved()
    save(tmp_path / "a.py", 2)
    assert not files.saved(), "it may still be written"
    save(tmp_path / "a.py", 3)
    assert not files.saved()
    assert files.saved() == Saved((program,), at_ns=3)
    assert not files.saved(), "it is reported once"


def test_a_new_file_in_a_folder_of_samples_is_a_sample(tmp_path: Path) -> None:
    files = WatchedFiles((tmp_path,))
    files.begin(())
    sample = save(tmp_path / "a.yaml", 1)
    assert not files.saved()
    assert files.saved() == Saved(samples=(sample,), at_ns=1)


def test_files_of_a_new_version_are_as_they_are_when_it_begins(tmp_path: Path) -> None:
    files = WatchedFiles(())
    files.begin([save(tmp_path / "a.py", 1)])
    files.begin([str(tmp_path / "a.py"), save(tmp_path / "b.py", 5)])
    assert not files.saved()


def test_a_file_that_was_saved_while_a_version_began_is_seen(tmp_path: Path) -> None:
    files = WatchedFiles(())
    program = save(tmp_path / "a.py", 1)
    files.begin([program])
    save(tmp_path / "a.py", 2)
    files.begin([program])
    assert files.differ()
    assert not files.saved()
    assert files.saved().program == (program,)
    assert not files.differ()


def test_the_samples_of_a_project_are_found(tmp_path: Path) -> None:
    assert samples(tmp_path) == ()
    for folder in ("samples", "config/samples"):
        (tmp_path / folder).mkdir(parents=True)
        save(tmp_path / folder / "a.yaml", 1)
    assert samples(tmp_path) == (tmp_path / "config" / "samples",)
