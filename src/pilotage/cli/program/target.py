"""TARGET of a command: the program of a user, as a module or a file, with or without a name in it.

guestbook.operator          the function `setup(manager)` of the module, else its reconciler classes
operator.py:start           a function that is given a manager, reconcilers, or a manager
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pilotage.cli.program.modules import is_of, is_resource, load, user_places
from pilotage.kit.console.errors import CommandError
from pilotage.signatures import signature_of

if TYPE_CHECKING:
    from pilotage.manager.manager import Manager
    from pilotage.meta.models import Resource

SETUP = "setup"
"""The function that is used if the target has no name."""
_MOST = 8
"""Names in a message."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a user wants to run: functions, reconciler classes and reconcilers, or a manager."""

    name: str
    """How the user wrote it."""
    module: ModuleType
    kinds: tuple[type[Resource], ...]
    """The kinds that the program defines: its CRDs."""
    parts: tuple[Any, ...] = ()
    """Functions, reconciler classes and reconcilers, in order."""
    manager: Manager | None = None
    """The manager of the program, with a cluster and options of its own; it has been set up."""

    async def setup(self, manager: Manager) -> None:
        """Add the program to a manager. Raises CommandError with the reason and the place in one line."""
        if self.manager is not None and self.manager is not manager:
            raise CommandError(f"{self.name} is a manager, which cannot be added to another one; name a function")
        for part in self.parts:
            try:
                await _add(part, manager)
            except Exception as error:
                raise CommandError(f"{self.name} cannot be set up: {_reason(error)}") from error


def load_target(text: str) -> Target:
    """Import the module of a target and find what it names. Raises CommandError with the reason in one line."""
    module_name, name = _divided(text)
    module = load(module_name)
    if not name:
        return Target(text, module, kinds_of(module), parts=_unnamed(text, module))
    return target_of(text, module, _named(module, name))


def target_of(text: str, module: ModuleType, value: Any) -> Target:
    """The target that a value of a module is; `text` names it in messages."""
    if _is_manager(value):
        return Target(text, module, kinds_of(module), manager=value)
    return Target(text, module, kinds_of(module), parts=_parts(text, value))


def kinds_of(module: ModuleType) -> tuple[type[Resource], ...]:
    """The kinds of a module and of the modules that it is written with, in the order of their definition.

    These are the modules of its package that are loaded, or, of a file without a package, the files beside it.
    """
    found: dict[type[Resource], None] = {}
    for other in [*companions(module), module]:
        own = [value for value in vars(other).values() if is_resource(value)]
        found |= dict.fromkeys(value for value in own if value.__module__ == other.__name__)
    return tuple(found)


def companions(module: ModuleType) -> list[ModuleType]:
    """The other modules that the program of a module is written in."""
    loaded = [other for other in list(sys.modules.values()) if isinstance(other, ModuleType) and other is not module]
    package = (getattr(module, "__package__", None) or module.__name__).partition(".")[0]  # of __main__, too
    if hasattr(sys.modules.get(package), "__path__"):
        return [other for other in loaded if other.__name__ == package or other.__name__.startswith(f"{package}.")]
    folder = _folder(module)
    return [other for other in loaded if folder is not None and "." not in other.__name__ and _folder(other) == folder]


def _folder(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return _folder_of(file) if file else None


@cache
def _folder_of(file: str) -> Path:
    return Path(file).resolve().parent


def _divided(text: str) -> tuple[str, str]:
    module, colon, name = text.rpartition(":")
    if not colon:
        return text, ""
    if not module or not name or not all(part.isidentifier() for part in name.split(".")):
        raise CommandError(f"{text!r} is not a target: write MODULE, FILE.py, MODULE:NAME or FILE.py:NAME")
    return module, name


def _unnamed(text: str, module: ModuleType) -> tuple[Any, ...]:
    setup = vars(module).get(SETUP)
    if callable(setup):
        return _parts(f"{text}:{SETUP}", setup)
    found = tuple(value for value in vars(module).values() if _is_reconciler_class(value) and is_of(value, module))
    if not found:
        raise CommandError(
            f"{text} has neither a function {SETUP}(manager) nor a reconciler class (one with reconcile and "
            f"setup_with_manager); {_found_in(module, text)}{_other_file(text, module)}"
        )
    return found


def _named(module: ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise CommandError(f"{module.__name__} has no {name!r}; {_found_in(module)}")
        value = getattr(value, part)
    return value


def _parts(text: str, value: Any) -> tuple[Any, ...]:
    parts = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else (value,)
    if not parts:
        raise CommandError(f"{text} is empty: it must have reconcilers")
    for part in parts:
        if _is_reconciler_class(part) or _is_reconciler(part):
            continue
        if not inspect.isroutine(part):
            raise CommandError(
                f"{text} is {_description(part)}: it must be a function that is given a manager, a reconciler class "
                "(with reconcile and setup_with_manager), a sequence of these, or a manager"
            )
        if not _accepts(part, 1):
            raise CommandError(
                f"{text} cannot be called with a manager: {_signature(part)}; write {part.__name__}(manager)"
            )
    return parts


async def _add(part: Any, manager: Manager) -> None:
    if inspect.isclass(part):
        part = _built(part, manager)
    added = part(manager) if inspect.isroutine(part) else part.setup_with_manager(manager)
    if inspect.isawaitable(added):
        await added


def _built(cls: type, manager: Manager) -> Any:
    """An instance of a reconciler class, whose `__init__` has one parameter for the manager, or none."""
    if _accepts(cls, 1):
        return cls(manager)
    if _accepts(cls, 0):
        return cls()
    raise CommandError(
        f"{cls.__name__} cannot be built with a manager: {_signature(cls)}; write a function {SETUP}(manager) that "
        "builds it"
    )


def _accepts(function: Any, count: int) -> bool:
    try:
        signature_of(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a function in C without a signature
        return True
    return True


def _signature(function: Any) -> str:
    return f"its parameters are {signature_of(function)}"


def _reason(error: Exception) -> str:
    if isinstance(error, CommandError):
        return str(error)
    places = user_places(error)
    return f"{type(error).__name__}: {error}" + (f" ({places[-1]})" if places else "")


def _is_reconciler(value: object) -> bool:
    return callable(getattr(value, "reconcile", None)) and callable(getattr(value, "setup_with_manager", None))


def _is_reconciler_class(value: object) -> bool:
    return inspect.isclass(value) and _is_reconciler(value)


def _is_manager(value: object) -> bool:
    from pilotage.manager.manager import Manager

    return isinstance(value, Manager)


def _description(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def _found_in(module: ModuleType, text: str = "") -> str:
    """The functions and classes that the module defines, and how to name one, for the message about a wrong target."""
    values = vars(module).items()
    own = [name for name, value in values if getattr(value, "__module__", None) == module.__name__]
    names = [name for name in own if not name.startswith("_")]
    if not names:
        return "it defines no function and no class"
    return f"it defines {_listed(names)}" + (f"; {text}:NAME runs another function" if text else "")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")


def _other_file(text: str, module: ModuleType) -> str:
    """A hint where the name of a file was meant: `operator` is a module of the standard library."""
    file = Path(f"{text.replace('.', '/')}.py")
    if not file.is_file() or Path(getattr(module, "__file__", None) or "").resolve() == file.resolve():
        return ""
    return f"; Python found another module than the file, give {file}"
