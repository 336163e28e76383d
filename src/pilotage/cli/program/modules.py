"""Imports a user's module to read its kinds, without running the module as a program.

A module whose program is not under `if __name__ == "__main__":` starts it on import. If that starts an event loop or
reads standard input, the import stops at that line, and the definitions above it are used.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pilotage
from pilotage.errors import PilotageError
from pilotage.kit.console.errors import CommandError

GUARD = 'move the program under `if __name__ == "__main__":`'


_importing: list[str] = []
"""What is being imported."""


class ProgramStarted(BaseException):
    """The module started a program. Not an Exception, so that the module's own handlers do not catch it."""


def load(name: str) -> ModuleType:
    """Import a module by name or from a file. Raises `CommandError` with the reason in one line."""
    module: ModuleType | None = None
    try:
        specification = _of_file(Path(name)) if name.endswith(".py") or "/" in name else _of_name(name)
        known = sys.modules.get(specification.name)
        if known is not None:
            return known
        module = importlib.util.module_from_spec(specification)
        _execute(specification, module)
    except PilotageError:
        raise
    except ProgramStarted as started:
        happened = f"{(user_places(started) or _places(started))[-1]} {started} when it is imported"
        if module is None:  # a package above it
            raise CommandError(f"{name} cannot be imported: {happened}; {GUARD}") from started
        _warn(f"{happened}: the import stopped there, and only the definitions above it are used; {GUARD}")
    except SyntaxError as error:
        raise CommandError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except SystemExit as error:
        code = 0 if error.code is None else error.code
        raise CommandError(
            f"{name} exited while it was imported (exit code {code}, {_places(error)[0]}); {GUARD}"
        ) from error
    except KeyboardInterrupt as interrupt:
        _warn(f"interrupted while {name} was imported ({_places(interrupt)[0]}); if it starts a program there, {GUARD}")
        raise
    except Exception as error:
        places = " from ".join(dict.fromkeys((_places(error)[-1], _places(error)[0])))
        raise CommandError(f"{name} cannot be imported: {type(error).__name__}: {error} ({places})") from error
    return module


def refuse_program() -> None:
    """Raise ProgramStarted while a module is imported by a command: `pt.run` calls it before it does anything."""
    if _importing:
        raise ProgramStarted("runs a program")


def is_resource(value: object) -> bool:
    """Whether a value is the class of a kind: one with `@pt.resource(…)`."""
    from pilotage.meta.models import Resource

    return isinstance(value, type) and issubclass(value, Resource) and "__resource__" in vars(value)


def is_of(cls: type, module: ModuleType) -> bool:
    """Whether a class is defined in the module, or in one of its package."""
    inside = hasattr(module, "__path__") and cls.__module__.startswith(f"{module.__name__}.")
    return cls.__module__ == module.__name__ or inside


def user_places(error: BaseException) -> list[str]:
    """The lines of an error's traceback that are the user's, outermost first, without Pilotage's lines."""
    own = f"{Path(pilotage.__file__).parent}{os.sep}"
    return [place for place in _places(error) if not place.startswith(own)]


def _of_name(name: str) -> ModuleSpec:
    if Path("src").is_dir():
        _make_importable(str(Path("src").resolve()))
    _make_importable("")  # as `python -m` finds modules in the current folder
    try:
        with _no_program(name):
            found = importlib.util.find_spec(name)  # which imports the packages above it
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing and (name == missing or name.startswith(f"{missing}.")):
            raise _no_module(missing) from error
        raise
    except ValueError as error:  # a module without a specification, such as __main__
        raise _no_module(name) from error
    if found is None:
        raise _no_module(name)
    return found


def _no_module(name: str) -> CommandError:
    return CommandError(f"module {name!r} not found; give a name that Python can import, or a file")


def _make_importable(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _of_file(path: Path) -> ModuleSpec:
    if path.is_dir():
        path = path / "__init__.py"
        if not path.is_file():
            raise CommandError(f"{path.parent} is a folder and not a package: it has no __init__.py; give a file in it")
    if not path.is_file():
        raise CommandError(f"file {path} does not exist")
    if (found := _in_package(path.resolve())) is not None:
        return found
    sys.path.insert(0, str(path.resolve().parent))  # as `python FILE` does
    known = sys.modules.get(path.stem)
    taken = known is not None and Path(getattr(known, "__file__", None) or "").resolve() != path.resolve()
    found = importlib.util.spec_from_file_location(f"{path.stem}_file" if taken else path.stem, path)
    if found is None:
        raise CommandError(f"{path} is not a Python file")
    return found


def _in_package(path: Path) -> ModuleSpec | None:
    """A file of a package is the module of the package, so that its relative imports work."""
    names = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    if len(names) < 2 and path.name != "__init__.py":
        return None
    _make_importable(str(folder))
    found = _of_name(".".join(names))
    return found if found.origin is not None and Path(found.origin).resolve() == path else None


def _execute(specification: ModuleSpec, module: ModuleType) -> None:
    """Run the code of the module. If an exception ends it, the definitions so far stay in `module`."""
    assert specification.loader is not None
    sys.modules[specification.name] = module  # so that the hints of its classes can be read
    with _no_program(specification.origin or specification.name):
        specification.loader.exec_module(module)
    parent, _, name = specification.name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], name, module)


@contextmanager
def _no_program(name: str) -> Iterator[None]:
    """During an import: redirect the module's output to standard error, and raise ProgramStarted for a program."""
    with ExitStack() as exits:
        _importing.append(name)
        exits.callback(_importing.remove, name)
        exits.enter_context(redirect_stdout(sys.stderr))  # the module's output must not mix with the YAML
        _replace(exits, sys, "stdin", _NoInput())
        _replace(exits, sys, "argv", [name])
        if "asyncio" in sys.modules:
            _stop_loops(exits, sys.modules["asyncio"])
        else:
            finder = _AsyncioFinder(exits)
            sys.meta_path.insert(0, finder)
            exits.callback(sys.meta_path.remove, finder)
        yield


def _replace(exits: ExitStack, owner: object, attribute: str, replacement: object) -> None:
    exits.callback(setattr, owner, attribute, getattr(owner, attribute))
    setattr(owner, attribute, replacement)


def _stop_loops(exits: ExitStack, asyncio: Any) -> None:
    _replace(exits, asyncio, "run", _refuse_run)
    _replace(exits, asyncio.Runner, "run", _refuse_method)
    _replace(exits, asyncio.BaseEventLoop, "run_until_complete", _refuse_method)
    _replace(exits, asyncio.BaseEventLoop, "run_forever", _refuse_method)


class _AsyncioFinder(MetaPathFinder):
    """Patches asyncio when the module imports it; importing asyncio for every module would be slow."""

    def __init__(self, exits: ExitStack) -> None:
        self._exits = exits

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name != "asyncio" or (found := PathFinder.find_spec(name)) is None or found.loader is None:
            return None
        found.loader = _Stopped(found.loader, self._exits)
        return found


class _Stopped(Loader):
    """The loader of asyncio; the loaded module cannot start an event loop."""

    def __init__(self, loader: Loader, exits: ExitStack) -> None:
        self._loader = loader
        self._exits = exits

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _stop_loops(self._exits, module)


def _refuse_run(main: object, **_: object) -> NoReturn:
    close = getattr(main, "close", None)
    if close is not None:
        close()  # else Python warns about a coroutine that was never awaited
    raise ProgramStarted("starts an event loop")


def _refuse_method(_: object, main: object = None, **__: object) -> NoReturn:
    _refuse_run(main)


class _NoInput(io.TextIOBase):
    """Standard input that refuses to be read."""

    def read(self, size: int | None = -1, /) -> str:
        raise ProgramStarted("reads standard input")

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # typeshed: of bytes or text
        raise ProgramStarted("reads standard input")


def _places(error: BaseException) -> list[str]:
    """The lines of an error's traceback, outermost first, without this module, the import system and asyncio."""
    left_out = ("<frozen ", __file__, str(Path(traceback.__file__).parent / "asyncio"))
    frames = traceback.extract_tb(error.__traceback__)
    found = [frame for frame in frames if not frame.filename.startswith(left_out)]
    return [f"{frame.filename}, line {frame.lineno}" for frame in found or frames]


def _warn(line: str) -> None:
    print(f"pilotage: {line}", file=sys.stderr)
