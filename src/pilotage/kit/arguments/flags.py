"""Flags that several commands have, under kubectl's names, and their types."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable

from pilotage.errors import Record
from pilotage.kit.console.flags import add_switch, add_value, add_values
from pilotage.kit.console.flags.storages import suggest
from pilotage.kit.console.help import add_command
from pilotage.kit.console.parsing import unrecognized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.kit.console.manifestfiles import Manifest

CHUNK = 500
"""The number of objects in a request for a list."""
EXAMPLE = "namespaces"
"""The type of the examples in help, which a tool replaces by a type of its own."""

Add = Callable[[argparse.ArgumentParser], None]


class Arguments:
    """The arguments of a command, each a field. A command that has no such flag has the value that is given here."""

    object_command: str
    """The name of the command."""
    namespace: str = ""
    output: str = ""
    field_manager: str = ""
    dry_run: str = "none"
    list: bool = False
    """Whether a command that may write only lists something."""
    no_reconcile: bool = False
    reconcile_timeout: float
    log_level: str
    every_object: bool = False
    storage: str | None = None
    kubeconfig: str | None = None
    context: str | None = None

    def __init__(self, **given: object) -> None:
        vars(self).update(given)


class Files(Arguments):
    """The arguments of a command that reads files."""

    filename: list[str]
    recursive: bool
    manifests: list[Manifest]
    """The objects of the files, once they are read."""


class Selection(Files):
    """The arguments of a command that selects objects."""

    resources: list[str]
    selector: str = ""
    field_selector: str = ""
    all_namespaces: bool = False
    all: bool = False
    chunk_size: int = CHUNK


class Command(Record):
    """A command: its help, its flags, and the facts that decide where it runs."""

    __slots__ = __match_args__ = (
        *("name", "summary", "description", "examples", "add", "arguments", "writes", "creates", "previews", "waits"),
        *("reads_stored", "loops", "loops_with", "watched_with", "module", "least_failure"),
    )

    name: str
    summary: str
    description: str
    examples: tuple[str, ...]
    """Command lines without the name of the program."""
    add: Add
    arguments: type[Arguments]
    writes: bool
    creates: bool
    """Whether it creates its tenant and its namespace."""
    previews: bool
    """Whether it works as if its namespace existed."""
    waits: bool
    """Whether it is for objects that another program may create later."""
    reads_stored: bool
    """Whether it may be answered from the bytes of a file."""
    loops: bool
    """Whether it always needs an event loop."""
    loops_with: tuple[str, ...]
    """The options with which it needs one."""
    watched_with: tuple[str, ...]
    """The options with which it prints changes until it is ended."""
    module: str
    """The module of `kit.commands`."""
    least_failure: int
    """The exit code of a failure, unless the failure has a higher one."""

    def __init__(
        self,
        name: str,
        summary: str = "",
        description: str = "",
        examples: tuple[str, ...] = (),
        add: Add = lambda parser: None,
        arguments: type[Arguments] = Arguments,
        *,
        writes: bool = False,
        creates: bool = False,
        previews: bool = False,
        waits: bool = False,
        reads_stored: bool = False,
        loops: bool = False,
        loops_with: tuple[str, ...] = (),
        watched_with: tuple[str, ...] = (),
        module: str = "",
        least_failure: int = 1,
    ) -> None:
        facts = (writes, creates, previews, waits, reads_stored, loops, loops_with, watched_with)
        module = module or name.replace("-", "")
        self._set(name, summary, description, examples, add, arguments, *facts, module, least_failure)

    def watches(self, options: Arguments) -> bool:
        """Whether it prints changes until it is ended."""
        return any(getattr(options, name) for name in self.watched_with)

    def needs_loop(self, options: Arguments) -> bool:
        """Whether it needs an event loop, also if no reconciler runs."""
        return self.loops or any(getattr(options, name) for name in (*self.watched_with, *self.loops_with))

    def typed(self, parsed: argparse.Namespace) -> Arguments:
        """What was parsed as the arguments of this command."""
        return self.arguments(**{**vars(parsed), "object_command": self.name})

    def add_parser(
        self,
        subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
        plural: Callable[[], str] = lambda: EXAMPLE,
    ) -> argparse.ArgumentParser:
        """Add the command to a command line. `plural` returns the type that the examples of its help have; it is called
        when that is printed."""
        program = subparsers._prog_prefix
        lines = [f"{program} {self.name} {each}".strip() for each in self.examples]
        parser = add_command(subparsers, self.name, self.summary, self.description, *lines, parser_class=_ObjectsParser)
        assert isinstance(parser, _ObjectsParser)
        parser.plural = plural
        self.add(parser)
        return parser


def command(
    name: str, arguments: type[Arguments], summary: str, description: str, *examples: str, **facts: Any
) -> Callable[[Add], Command]:
    """Declare a command at the function that adds its flags, which are fields of its arguments."""
    return lambda add: Command(name, summary, description, examples, add, arguments, **facts)


class _ObjectsParser(argparse.ArgumentParser):
    """Parses as kubectl does: arguments may stand before, between and after options, and a boolean flag may have a
    value, as in `--wait=false`. argparse accepts only one sequence of arguments, and no value."""

    plural: Callable[[], str]

    def format_help(self) -> str:
        if self.epilog and EXAMPLE in self.epilog:
            self.epilog = self.epilog.replace(EXAMPLE, self.plural())
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        _check_text(self, args or ())
        switches = {flag: action for action in self._actions if action.nargs == 0 for flag in action.option_strings}
        given: dict[str, bool] = {}
        left: list[str] = []
        for word in args or ():
            flag, equals, value = word.partition("=")
            if equals and value in ("true", "false") and flag in switches:
                given[switches[flag].dest] = value == "true"
            else:
                left.append(word)
        # Not the method of the application's class, which may reject the arguments that argparse does not know.
        options, unknown = argparse.ArgumentParser.parse_known_args(self, left, namespace)
        if hasattr(options, "resources"):
            options.resources = [*options.resources, *(word for word in unknown if not word.startswith("-"))]
            unknown = [word for word in unknown if word.startswith("-")]
        if unknown:
            self.error(unrecognized(self, unknown))
        for name, value in given.items():
            setattr(options, name, value)
        return options, []


def _check_text(parser: argparse.ArgumentParser, words: Iterable[str]) -> None:
    """Objects are UTF-8. Python keeps the bytes of other words in surrogates, which cannot be written."""
    for word in words:
        if any("\ud800" <= character <= "\udfff" for character in word):
            import sys

            encoding = sys.getfilesystemencoding()
            shown = repr(os.fsencode(word))[2:-1]
            parser.error(
                f"the argument '{shown}' is not {encoding}; the locale sets the encoding, as in LC_ALL=C.UTF-8"
            )


def resources(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("resources", nargs="*", metavar="TYPE", help=what)


def namespace(parser: argparse.ArgumentParser) -> None:
    suggest(add_value(parser, "-n --namespace", "NAME", "the namespace"), None)


def everywhere(parser: argparse.ArgumentParser) -> None:
    add_switch(parser, "-A --all-namespaces", "use the objects of all namespaces")


def selector(parser: argparse.ArgumentParser, what: str) -> None:
    suggest(add_value(parser, "-l --selector", "LABELS", what), None)


def selectors(parser: argparse.ArgumentParser) -> None:
    selector(parser, "select objects by labels, such as app=web,tier!=test")
    fields = add_value(parser, "--field-selector", "FIELDS", "select objects by fields, such as metadata.name=a")
    suggest(fields, None)


def scope(parser: argparse.ArgumentParser) -> None:
    """Which objects of a type."""
    namespace(parser)
    everywhere(parser)
    selectors(parser)


def filename(parser: argparse.ArgumentParser, what: str) -> None:
    add_values(
        parser,
        "-f --filename",
        "FILE",
        f"{what} in a YAML or JSON file, in a folder, or on standard input (-); may be repeated",
    )
    add_switch(parser, "-R --recursive", "also read the subfolders of the folders of -f")


def output(parser: argparse.ArgumentParser, formats: str) -> None:
    action = add_value(parser, "-o --output", "FORMAT", f"output format: {formats}")
    suggest(action, [name for name in re.findall(r"[a-z-]+=?", formats) if name in _PLAIN_FORMATS])


_PLAIN_FORMATS = ("wide", "json", "yaml", "name")
OBJECT_FORMATS = "json, yaml, name, jsonpath=TEMPLATE"


def field_manager(parser: argparse.ArgumentParser) -> None:
    add_value(parser, "--field-manager", "NAME", "the field manager of this write (default: the name of this tool)")


def written_objects(parser: argparse.ArgumentParser) -> None:
    """The objects of files that a command writes, who writes them, and how the result is printed."""
    filename(parser, "the objects")
    output(parser, OBJECT_FORMATS)
    namespace(parser)
    field_manager(parser)


def dry_run(parser: argparse.ArgumentParser) -> None:
    add_value(
        parser,
        "--dry-run",
        "WHERE",
        "change nothing: client sends nothing, server checks everything and stores nothing (default: none)",
        "none",
        choices=("none", "client", "server"),
    )


def validate(parser: argparse.ArgumentParser) -> None:
    action = add_value(
        parser,
        "--validate",
        "HOW",
        "unknown fields: strict refuses them, warn prints and drops them, ignore drops them (default: strict)",
        "strict",
        type=_validation,
    )
    suggest(action, ("strict", "warn", "ignore"))


def set_values(parser: argparse.ArgumentParser) -> None:
    about = "set a field, such as spec.size=3; the schema gives its type; may be repeated"
    suggest(add_values(parser, "--set", "PATH=VALUE", about), None)


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = r"(?:(\d+(?:\.\d+)?)(ms|s|m|h))+"


def duration(text: str) -> float:
    """Seconds of `30s`, `1m30s`, `2h`, or of a plain number of seconds. Negative means a week, as in kubectl."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text)
    if re.fullmatch(r"\d+(\.\d+)?", rest):
        seconds = float(rest)
    elif re.fullmatch(_DURATION, rest):
        seconds = sum(float(amount) * _UNITS[unit] for amount, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", rest))
    else:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time, such as 30s or 5m")
    return 7 * 24 * 3600.0 if sign < 0 and seconds else seconds


def _validation(text: str) -> str:
    found = {"true": "Strict", "strict": "Strict", "warn": "Warn", "false": "Ignore", "ignore": "Ignore"}.get(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of strict, warn, ignore")
    return found
