"""Changes of a project: new files and edits, written all or not at all. An existing file is never overwritten."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.terminal import BOLD, DIM, GREEN, YELLOW, standard_output


@dataclass(slots=True)
class ProjectChanges:
    """The files to create, the files to edit, and what exists already. Paths are relative to `root`."""

    root: Path
    new: dict[str, str] = field(default_factory=dict)
    edits: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The text that was read and the text to write."""
    there: list[str] = field(default_factory=list)
    """What needs no change, for the report."""

    def create(self, path: str, text: str) -> None:
        """Create a file, unless it exists."""
        if (self.root / path).exists():
            self.there.append(path)
        else:
            self.new[path] = text

    def text(self, path: str) -> str | None:
        """The text of a file as it will be, None if it does not exist."""
        if path in self.new:
            return self.new[path]
        return self.edits[path][1] if path in self.edits else self._read(path)

    def edit(self, path: str, text: str) -> None:
        """Replace the text of a file, new or existing, by one that was made from it."""
        if path in self.new:
            self.new[path] = text
            return
        before = self.edits[path][0] if path in self.edits else self._read(path)
        assert before is not None
        if before != text:
            self.edits[path] = (before, text)

    def lines(self) -> list[str]:
        """The report: one line for each file that changes."""
        return [f"create {path}" for path in self.new] + [f"edit   {path}" for path in self.edits]

    def difference(self) -> str:
        """A unified diff of all changes, as `git apply` takes it."""
        parts = [_diff("/dev/null", f"b/{path}", "", text) for path, text in self.new.items()]
        parts += [_diff(f"a/{path}", f"b/{path}", *texts) for path, texts in self.edits.items()]
        return "".join(parts)

    def write(self) -> None:
        """Write everything, or nothing: if a step fails, the steps before it are undone. Raises CommandError."""
        with ExitStack() as undo:
            try:
                for path, temporary in self._staged(undo):
                    self._commit(path, temporary, undo)
            except OSError as error:
                undo.close()
                raise CommandError(f"cannot write {error.filename}: {error.strerror}; nothing was changed") from error
            except CommandError:
                undo.close()
                raise
            undo.pop_all()

    def _staged(self, undo: ExitStack) -> list[tuple[str, Path]]:
        """All texts in temporary files beside their places, so that only renames are left to do."""
        staged = []
        for path, text in [*self.new.items(), *((path, after) for path, (_, after) in self.edits.items())]:
            folder = self._file_of(path).parent
            for made in _make_folders(folder):
                undo.callback(_remove_folder, made)
            descriptor, name = tempfile.mkstemp(dir=folder, prefix=".pilotage-")
            undo.callback(Path(name).unlink, missing_ok=True)
            with open(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            staged.append((path, Path(name)))
        return staged

    def _commit(self, path: str, temporary: Path, undo: ExitStack) -> None:
        file = self._file_of(path)
        if path in self.new:
            temporary.chmod(0o666 & ~_umask())
            try:
                os.link(temporary, file)  # unlike a rename, this fails if the file has been created meanwhile
            except FileExistsError as error:
                raise CommandError(f"{file} has been created meanwhile; nothing was changed") from error
            undo.callback(file.unlink, missing_ok=True)
            temporary.unlink()
            return
        before = self.edits[path][0]
        if self._read(path) != before:
            raise CommandError(f"{file} has been changed meanwhile; nothing was changed")
        shutil.copymode(file, temporary)
        temporary.replace(file)
        undo.callback(file.write_bytes, before.encode())

    def _file_of(self, path: str) -> Path:
        file = self.root / path
        return file.resolve() if file.is_symlink() else file

    def _read(self, path: str) -> str | None:
        try:
            return (self.root / path).read_bytes().decode()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CommandError(f"cannot read {self.root / path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise CommandError(f"{self.root / path} is not UTF-8; convert it first") from error


def _diff(before_name: str, after_name: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), before_name, after_name
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and those above it, and return what was created, outermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir()
    return missing[::-1]


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def finish(changes: ProjectChanges, dry_run: bool, next_steps: Sequence[str] = ()) -> int:
    """Write the changes, or with `dry_run` print them as a diff. Returns the exit code."""
    output = standard_output()
    if dry_run:
        output.write(output.difference(changes.difference()))
        return 0
    changes.write()
    for path in changes.there:
        output.line(output.styled(f"there already: {path}", DIM))
    for line in changes.lines():
        output.line(output.accented(line, GREEN if line.startswith("create") else YELLOW))
    if not changes.lines():
        output.line("nothing to do")
    elif next_steps:
        output.line(output.styled("next:", BOLD))
        for step in next_steps:
            output.line(f"  {step}")
    return 0
