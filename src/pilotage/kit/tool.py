"""A command-line tool: its kinds, its reconcilers and its storage, under kubectl's grammar."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from pilotage.errors import InvalidDefinition
from pilotage.kit.arguments import COMMANDS, GROUPS, OF_RECONCILERS, RECONCILE, Command
from pilotage.kit.arguments.planning import Facts, Where
from pilotage.kit.console.errors import INTERRUPTED, NOT_RECONCILED
from pilotage.kit.console.flags import add_switch, add_value, storages
from pilotage.kit.console.help import add_help, add_version, examples, grouped
from pilotage.kit.console.process import skip_last_collection
from pilotage.kit.execution import execute
from pilotage.kit.kinds import ToolKinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from pilotage.kit.arguments.flags import Arguments
    from pilotage.kit.kinds import Visible
    from pilotage.manager.manager import Manager
    from pilotage.meta.kinds import GroupKind
    from pilotage.meta.models import Resource

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
MAINTENANCE = ("export", "import", "backup", "check", "tenants")
"""The commands that maintain the storage (`kit.store`)."""
TIMEOUT = 60.0
"""Seconds that reconcilers may take after a command."""


class Tool:
    """A program with resources and reconcilers, and no cluster.

    `kinds` are the classes of its resources; they are installed when the stored definitions differ. Built-in kinds may
    be among them. `setup` is given a manager, and adds controllers and webhooks to it; it may be async. Both may be
    named by import path, `"inventory.kinds:Item,Category"` and `"inventory.reconcilers:setup"`: then a command loads
    them when it needs them, and one that only prints a table does not. `storage` is where its objects are:
    `sqlite:PATH` or `etcd://HOST:PORT`. `--storage` and the environment variable NAME_STORAGE change it. Secrets are
    encrypted with `encryption_keys`, a file or `exec:COMMAND`, if there are any. Requests are appended to the file
    `audit_log_path`, if there is one, as `audit_policy_file` selects them.
    """

    def __init__(
        self,
        name: str,
        *,
        kinds: Iterable[type[Resource] | str] | str,
        setup: Callable[[Manager], Any] | str | None = None,
        storage: str,
        description: str = "",
        version: str = "",
        namespace: str = "default",
        encryption_keys: str = "",
        audit_log_path: str = "",
        audit_policy_file: str = "",
    ) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidDefinition(
                f"kit.Tool({name!r}): the name of a tool has lower-case letters, digits and minus signs: it is a "
                "command, and part of the names of objects"
            )
        self.name = name
        self._kinds = ToolKinds(name, kinds)
        self.setup = setup
        self.storage = storage
        self.description = description
        self.version = version
        self.namespace = namespace
        self.encryption_keys = encryption_keys
        self.audit_log_path = audit_log_path
        self.audit_policy_file = audit_policy_file
        self.ends_process = False

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """The classes of its resources, imported now if they are named by import path."""
        return self._kinds.classes

    def main(self, arguments: Sequence[str] | None = None) -> NoReturn:
        """Run one command and exit."""
        self.ends_process = True
        skip_last_collection()
        code = self.run(arguments)
        if code in (INTERRUPTED, NOT_RECONCILED):
            from pilotage.kit.console.signals.deadline import exit_after_program

            exit_after_program(code)
        sys.exit(code)

    def run(self, arguments: Sequence[str] | None = None, *, program: str = "") -> int:
        """Run one command and return its exit code. In an application, `program` is what help and errors name it by.

        A command that writes runs an event loop: in a coroutine, use `await asyncio.to_thread(tool.run, words)`."""
        from pilotage.kit.console.process import piped

        return piped(lambda: self._run(arguments, program))

    def _run(self, arguments: Sequence[str] | None, program: str) -> int:
        from pilotage.kit.console.parsing import command_first

        words = command_first(sys.argv[1:] if arguments is None else arguments)
        parser = self.parser(self._known(words[:1]), program)
        try:
            options = parser.parse_args(words)
        except SystemExit as ended:  # argparse has printed the help, or what is wrong
            return int(ended.code or 0)
        if not hasattr(options, "run"):
            parser.print_help()
            return 0
        return int(options.run(options) or 0)

    def parser(self, names: Sequence[str] = (), program: str = "") -> argparse.ArgumentParser:
        """The parser of its command line, or of the commands with these names: to make all takes a while."""
        from pilotage.kit.console.parsing import Parser

        epilog = None
        if not names:  # what needs the kinds is only in the help of all commands
            epilog = examples(f"{self.name} get {self._plural()}", f"{self.name} apply -f objects.yaml")
        root = Parser(prog=program or self.name, description=self.description or None, epilog=epilog)
        add_version(root, " ".join(filter(None, (self.name, self.version, "(pilotage {})"))))
        commands = root.add_subparsers(title="commands", metavar="COMMAND", prog=root.prog)
        self.add_commands(commands, names or None)
        if not names:
            add_help(commands, root.prog, lambda words: self.parser(self._known(words), program))
            from pilotage.kit.completing import print_objects
            from pilotage.kit.console.shells import add_completion

            add_completion(
                commands,
                self.name,
                self.parser,
                lambda words: print_objects(self, self.parser(), words),
                f"Print a script that completes the commands, options, types and names of {self.name} in a shell.",
                f'eval "$({self.name} completion bash)"',
                f"{self.name} completion fish | source",
            )
            last = {"maintain the storage": MAINTENANCE, "the command line": ("help", "completion")}
            grouped(commands, {**GROUPS, **last})
        return root

    def _plural(self) -> str:
        try:
            return next((kind.__resource__.plural for kind in self.kinds), "namespaces")
        except InvalidDefinition:  # the commands report it; help is still of use
            return "namespaces"

    @property
    def _commands(self) -> dict[str, Command]:
        return COMMANDS if self.setup is None else OF_RECONCILERS

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self._commands, *MAINTENANCE)

    def _known(self, words: Sequence[str]) -> list[str]:
        return [word for word in words if word in self._names]

    def add_commands(self, subparsers: Any, names: Iterable[str] | None = None) -> None:
        """Add its commands, or those with these names, to the command line of an application. `options.run(options)`
        runs the one that was parsed."""
        for name in self._names if names is None else names:
            if name in MAINTENANCE:
                from pilotage.kit.store.tool import add_maintenance

                add_maintenance(subparsers, self, name)
                continue
            command = self._commands[name]
            parser = command.add_parser(subparsers, self._plural)
            self.add_place(parser)
            self._add_reconcilers(parser, command)
            parser.set_defaults(run=partial(execute, self, command))

    def add_place(self, parser: argparse.ArgumentParser, *, tenant: bool = True, keys: bool = True) -> None:
        """Add the flags that choose the storage."""
        group = parser.add_argument_group("where it works")
        about = f"the storage (default: ${self._variables}_STORAGE, or {self.storage})"
        storages.add_storage(group, about.replace("%", "%%"))
        if tenant:
            storages.add_tenant(group, default="default")
        if keys:
            storages.add_encryption_keys(group)

    def _add_reconcilers(self, parser: argparse.ArgumentParser, command: Command) -> None:
        if command.writes and self.setup is not None:
            work = parser.add_argument_group("reconcilers")
            if command is not RECONCILE:
                add_switch(work, "--no-reconcile", "write only, and run no reconciler")
            add_value(
                work,
                "--reconcile-timeout",
                "SECONDS",
                "how long reconcilers may take (default: 60; 0: no limit)",
                TIMEOUT,
                type=float,
            )
            level = add_value(work, "--log-level", "LEVEL", "show their log: debug, info, error")
            storages.suggest(level, ("debug", "info", "error"))

    @property
    def _variables(self) -> str:
        """How the names of its environment variables begin."""
        return self.name.upper().replace("-", "_")

    def facts(self, options: Arguments) -> Facts:
        """What is known of the storage without opening it."""
        own = {"storage": self.storage, "encryption_keys": self.encryption_keys}
        return Facts(
            Where.chosen(options, self._variables, **own),
            reconcilers=self.setup is not None,
            namespace=self.namespace,
            audited=any(self.audit),
        )

    @property
    def audit(self) -> tuple[str, str]:
        """The file of the audit log, and the file of its policy."""
        return self.audit_log_path, self.audit_policy_file

    @property
    def visible(self) -> Visible | None:
        """What a table needs of its kinds, without importing any; None if that is not known."""
        return self._kinds.visible

    @property
    def own_kinds(self) -> tuple[type[Resource], ...]:
        """The kinds that it installs: those that are not built in."""
        return tuple(kind for kind in self.kinds if not kind.__resource__.builtin)

    @property
    def shown(self) -> frozenset[GroupKind]:
        """The kinds that its commands may name."""
        from pilotage.meta.kinds import GroupKind

        own = {kind.__resource__.gvk.group_kind for kind in self.kinds}
        return frozenset(own | {GroupKind("", "Namespace"), GroupKind("", "Event")})
