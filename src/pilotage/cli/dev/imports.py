"""The modules of the program: imported again after a change, and put back where that fails."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from pathlib import Path
from types import ModuleType

from pilotage.cli.program.target import Target, load_target
from pilotage.cli.run.reloaded import program_files


class ProgramImports:
    """Imports a target again and again. Modules that were loaded before it was made stay as they are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._kept = frozenset(sys.modules)
        self._kept_files = program_files()
        self.files: frozenset[str] = frozenset()
        """The files of the program, also those of an import that has failed."""

    def load(self) -> Target:
        """Import the program with the files as they are now. Raises CommandError with the reason in one line; the
        modules are then those of the last success."""
        old = self._take_out()
        path, writes = [*sys.path], sys.dont_write_bytecode
        sys.dont_write_bytecode = True  # two saves within a second would be one to the cache of bytecode
        try:
            target = load_target(self._text)
        except BaseException as error:
            self.files |= self._program_files(error)
            self._take_out()
            sys.modules.update(old)
            sys.path[:] = path
            raise
        finally:
            sys.dont_write_bytecode = writes
        sys.path[:] = dict.fromkeys(sys.path)
        self.files = self._program_files()
        return target

    def put_back(self, modules: dict[str, ModuleType]) -> None:
        """Make the modules of an earlier version the current ones again."""
        self._take_out()
        sys.modules.update(modules)

    def current(self) -> dict[str, ModuleType]:
        """The modules of the program."""
        files = program_files()
        return {name: each for name, each in [*sys.modules.items()] if name not in self._kept and _is_own(each, files)}

    def _program_files(self, failed: BaseException | None = None) -> frozenset[str]:
        return frozenset(program_files(failed) - self._kept_files)

    def _take_out(self) -> dict[str, ModuleType]:
        """Remove the modules of the program, so that the next import runs their files again."""
        found = self.current()
        for name in found:
            del sys.modules[name]
        importlib.invalidate_caches()
        linecache.checkcache()
        return found


def _is_own(module: ModuleType, files: set[str]) -> bool:
    """Whether a module is of the program; a file that was deleted is, too."""
    file = getattr(module, "__file__", None) or ""
    return str(Path(file).absolute()) in files or (file.endswith(".py") and not os.path.isfile(file))
