"""A command-line tool: its kinds, its reconcilers and its storage, under kubectl's grammar."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial

from pilotage.errors import InvalidDefinition
from pilotage.kit.arguments import COMMANDS, RECONCILE, WHY, Command
from pilotage.kit.arguments.planning import CREATED, NEW, REAL, Facts, Where, is_dry_run
from pilotage.kit.console.errors import INTERRUPTED, NOT_RECONCILED, Interrupted
from pilotage.kit.console.flags import add_switch, add_value, places
from pilotage.kit.console.help import examples
from pilotage.kit.console.process import skip_last_collection
from pilotage.kit.execution import checked_function, execute, without_storage_log
from pilotage.kit.kinds import ToolKinds, has_versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from pilotage.cluster import Cluster
    from pilotage.cluster.light import LightCluster
    from pilotage.kit.arguments.planning import Plan
    from pilotage.kit.console.signals.deadline import ExitDeadline
    from pilotage.kit.execution import CommandFunction
    from pilotage.kit.newtenant import NewTenantStorage
    from pilotage.kit.session import CommandSession
    from pilotage.manager.manager import Manager
    from pilotage.meta.models import Resource
    from pilotage.rest.transport import Transport
    from pilotage.storage.interface import Storage

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_EMPTY = "memory:"
"""In place of a tenant that does not exist."""
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
        parser = self.parser([word for word in words[:1] if word in self._commands], program)
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
        commands = root.add_subparsers(title="commands", metavar="COMMAND", prog=root.prog)
        self.add_commands(commands, names or None)
        if not names:
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
        return root

    def _plural(self) -> str:
        try:
            return next((kind.__resource__.plural for kind in self.kinds), "namespaces")
        except InvalidDefinition:  # the commands report it; help is still of use
            return "namespaces"

    @property
    def _commands(self) -> dict[str, Command]:
        return COMMANDS if self.setup is None else {**COMMANDS, WHY.name: WHY, RECONCILE.name: RECONCILE}

    def add_commands(self, subparsers: Any, names: Iterable[str] | None = None) -> None:
        """Add its commands, or those with these names, to the command line of an application. `options.run(options)`
        runs the one that was parsed."""
        for name in self._commands if names is None else names:
            command = self._commands[name]
            parser = command.add_parser(subparsers, self._plural)
            self._add_place(parser, command)
            parser.set_defaults(run=partial(execute, self, command))

    def _add_place(self, parser: argparse.ArgumentParser, command: Command) -> None:
        place = parser.add_argument_group("where it works")
        about = f"the storage (default: ${self._variables}_STORAGE, or {self.storage})"
        places.add_storage(place, about.replace("%", "%%"))
        places.add_tenant(place, default="default")
        places.add_encryption_keys(place)
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
            places.suggest(level, ("debug", "info", "error"))

    @property
    def _variables(self) -> str:
        """How the names of its environment variables begin."""
        return self.name.upper().replace("-", "_")

    def facts(self, options: argparse.Namespace) -> Facts:
        """What is known of the storage without opening it."""
        own = {"storage": self.storage, "encryption_keys": self.encryption_keys}
        return Facts(
            Where.chosen(options, self._variables, **own),
            reconcilers=self.setup is not None,
            namespace=self.namespace,
            audited=bool(self.audit_log_path or self.audit_policy_file),
        )

    async def perform(self, plan: Plan, options: argparse.Namespace, deadline: ExitDeadline) -> int:
        """Run a command on the storage; after one that writes, the reconcilers until they are idle."""
        from pilotage.kit.embedded import completed

        run, url = checked_function(plan.command, options), plan.where.storage
        async with AsyncExitStack() as exits:
            storage = await self._storage(plan, exits)
            if storage is url and not plan.writes:
                return await run(await exits.enter_async_context(self._reading(plan, options)), options)
            started = None
            if storage is not _EMPTY and plan.reconciles:
                from pilotage.kit.console.signals.interruption import ended_by_signals

                started = exits.enter_context(ended_by_signals(Interrupted("interrupted")))
            cluster = await exits.enter_async_context(self._open(storage, plan.where, installs=started is None))
            cluster = await self._with_namespace(cluster, storage, plan, exits)
            session = await self._embedded_session(cluster, plan, options)

            async def written() -> int:
                if started is not None:  # the kinds are installed by now
                    session.mapper.replace(await session.resources())
                with nullcontext() if isinstance(storage, str) else storage.writing():
                    return await run(session, options)

            if not plan.writes or storage is _EMPTY:
                return await written()
            if started is None or self.setup is None:
                async with completed(cluster):
                    return await written()
            from pilotage.kit.reconciling import Reconciling, logged, with_reconcilers
            from pilotage.kit.recorded.historyfile import keep
            from pilotage.kit.recorded.logfile import LogFile, history_beside

            def is_stored() -> bool:
                return isinstance(storage, str) or storage.is_stored

            checkpoint = "" if getattr(options, "every_object", False) else self.name
            how = Reconciling(
                self.setup,
                self._own_kinds,
                options.reconcile_timeout,
                session.errors,
                checkpoint,
                has_written=lambda: session.has_written,
                started=started,
                is_dry_run=is_dry_run(options),
                ends_process=self.ends_process,
                failure=plan.command.least_failure,
                keep=lambda history: keep(history, history_beside(session.log_file) if is_stored() else ""),
            )
            log = LogFile(session.log_file, is_stored)
            with logged(log, options.log_level, session.errors):
                return await with_reconcilers(cluster, how, deadline, written)

    async def _storage(self, plan: Plan, exits: AsyncExitStack) -> str | NewTenantStorage:
        """The storage for a command: the URL, or what it finds in place of a tenant that does not exist. Raises
        NoTenant."""
        from pilotage.kit.tenancy import tenant_exists

        url = plan.where.storage
        if await tenant_exists(plan) or plan.missing == REAL:
            return url
        if plan.missing != NEW:
            return _EMPTY
        from pilotage.kit.embedded import install
        from pilotage.kit.newtenant import new_tenant

        setup = None if plan.reconciles else self.setup
        installed = partial(install, kinds=self._own_kinds, setup=setup)
        return await exits.enter_async_context(new_tenant(url, plan.where.tenant, installed, self.namespace))

    async def _with_namespace(
        self,
        cluster: Cluster,
        storage: str | NewTenantStorage,
        plan: Plan,
        exits: AsyncExitStack,
    ) -> Cluster:
        """The storage with the tool's own namespace, created for a command that may create objects in it: for a dry run
        in a copy of the storage. A new tenant has it already."""
        if not plan.namespace or not isinstance(storage, str):
            return cluster
        from pilotage.kit.embedded import copied, ensure_namespace, has_namespace

        if plan.namespace == CREATED:
            await ensure_namespace(cluster.client, self.namespace)
            return cluster
        from pilotage.client import Client

        if storage is not _EMPTY:
            if await has_namespace(cluster.client, self.namespace):
                return cluster
            copy = await copied(storage, plan.where.tenant)
            cluster = await exits.enter_async_context(self._open(copy, plan.where))
        await ensure_namespace(Client(cluster.registry), self.namespace)  # not stored, so not in the audit log
        return cluster

    def perform_now(self, plan: Plan, options: argparse.Namespace) -> int | None:
        """Run a command on a SQLite file without an event loop."""
        from pilotage.kit import light

        if self.setup is not None and has_versions(self._own_kinds):
            return None  # its conversions must be known before a CRD is installed
        run = checked_function(plan.command, options)
        if plan.command.writes:
            with without_storage_log(), light.writing(plan.where, self._own_kinds, self.namespace) as writable:
                return None if writable is None else self._run_now(writable, run, plan, options)
        with light.reading(plan.where, self._own_kinds) as cluster:
            return self._run_now(cluster, run, plan, options)

    def _run_now(self, cluster: LightCluster, run: CommandFunction, plan: Plan, options: argparse.Namespace) -> int:
        async def in_session() -> int:
            return await run(await self._session(cluster.transport, plan, options), options)

        return cluster.run(in_session())

    def print_stored(self, plan: Plan, options: argparse.Namespace) -> int | None:
        """Print what is in the file, without a class of a kind; None if it takes more."""
        visible = self._kinds.visible
        if visible is None:
            return None
        from pilotage.kit import direct

        namespace = options.namespace or self.namespace
        return direct.get(plan.where, namespace, visible, options)

    @asynccontextmanager
    async def _reading(self, plan: Plan, options: argparse.Namespace) -> AsyncIterator[CommandSession]:
        from pilotage.kit.embedded import reading

        async with AsyncExitStack() as exits:
            own = self._own_kinds
            audit = (self.audit_log_path, self.audit_policy_file)
            found = await exits.enter_async_context(reading(plan.where, own, audit))
            if found is not None:
                yield await self._session(found, plan, options)
                return
        async with self._open(plan.where.storage, plan.where) as cluster:
            yield await self._embedded_session(cluster, plan, options)

    async def _embedded_session(self, cluster: Cluster, plan: Plan, options: argparse.Namespace) -> CommandSession:
        from pilotage.kit.embedded import PrintingTransport

        return await self._session(PrintingTransport(cluster.transport, cluster.registry), plan, options)

    @asynccontextmanager
    async def _open(self, storage: str | Storage, where: Where, *, installs: bool = True) -> AsyncIterator[Cluster]:
        """The storage with the server's work, and the kinds installed, unless reconcilers run: then that waits for
        their setup."""
        from pilotage.cluster import Cluster

        async with Cluster.embedded(
            storage,
            tenant=where.tenant,
            encryption_keys=where.encryption_keys,
            audit_log_path=self.audit_log_path,
            audit_policy_file=self.audit_policy_file,
        ) as cluster:
            if installs:
                from pilotage.kit.embedded import install

                await install(cluster, self._own_kinds, self.setup)
            yield cluster

    @property
    def _own_kinds(self) -> tuple[type[Resource], ...]:
        return tuple(kind for kind in self.kinds if not kind.__resource__.builtin)

    async def _session(self, transport: Transport, plan: Plan, options: argparse.Namespace) -> CommandSession:
        from pilotage.kit.recorded.logfile import log_file_of
        from pilotage.kit.session import CommandSession
        from pilotage.meta.kinds import GroupKind

        shown = {kind.__resource__.gvk.group_kind for kind in self.kinds}
        shown |= {GroupKind("", "Namespace"), GroupKind("", "Event")}
        log_file = log_file_of(plan.where.storage, plan.where.tenant)
        return await CommandSession.open(transport, options, self.namespace, self.name, log_file, frozenset(shown))
