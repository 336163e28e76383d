"""Where a command runs, and what it finds there: decided by the command, its options and the facts of the place, before
anything is opened."""

from __future__ import annotations

import os

from pilotage.errors import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pilotage.kit.arguments import Command
    from pilotage.kit.arguments.flags import Arguments

DIRECT, LIGHT, LOOP = "direct", "light", "loop"
"""The routes of a command: straight from the bytes of a file, over a file without an event loop, and with one."""
NEW, EMPTY, REAL = "new", "empty", "real"
"""What a command finds in place of a tenant without objects: one that its first write creates, an empty storage, or
the storage itself, in which another program may create objects."""
CREATED, COPIED = "created", "copied"
"""What is done about the namespace of a tool that does not exist: it is created in the storage, or in a copy."""


class Where(Record):
    """The storage or the server of a command, as its options, environment variables and defaults select it."""

    __slots__ = __match_args__ = ("storage", "tenant", "encryption_keys", "kubeconfig", "context")

    storage: str
    """The URL; empty for a server."""
    tenant: str
    encryption_keys: str
    kubeconfig: str
    context: str

    def __init__(
        self,
        storage: str,
        tenant: str = "default",
        encryption_keys: str = "",
        kubeconfig: str = "",
        context: str = "",
    ) -> None:
        self._set(storage, tenant, encryption_keys, kubeconfig, context)

    @classmethod
    def chosen(cls, options: Arguments, variables: str, **defaults: str) -> Where:
        """The value of each option, else of its environment variable, whose name begins with `variables`, else the
        default."""

        def value(name: str) -> str:
            given = getattr(options, name, "") or os.environ.get(f"{variables}_{name.upper()}", "")
            return given or defaults.get(name, "")

        storage, tenant, *others = map(value, cls.__slots__)
        return cls(storage, tenant or "default", *others)


class Facts(Record):
    """What is known of a place without opening it."""

    __slots__ = __match_args__ = ("where", "reconcilers", "namespace", "audited", "needs_file")

    where: Where
    reconcilers: bool
    """Whether the program has reconcilers or webhooks."""
    namespace: str
    """The namespace of objects that name none."""
    audited: bool
    """Whether requests are logged."""
    needs_file: bool
    """Whether a file that does not exist is a mistake, and not an empty storage."""

    def __init__(
        self,
        where: Where,
        *,
        reconcilers: bool = False,
        namespace: str = "default",
        audited: bool = False,
        needs_file: bool = False,
    ) -> None:
        self._set(where, reconcilers, namespace, audited, needs_file)


class Plan(Record):
    """How a command runs."""

    __slots__ = __match_args__ = (
        *("command", "where", "routes", "writes", "reconciles", "needs_file", "needs_tenant", "missing", "namespace"),
    )

    command: Command
    where: Where
    routes: tuple[str, ...]
    """The first that can do it does it. The last one always can."""
    writes: bool
    """Whether it sends writes, which may be dry runs of the server."""
    reconciles: bool
    """Whether reconcilers, or their webhooks, run beside it."""
    needs_file: bool
    """Whether a file that does not exist is an error."""
    needs_tenant: bool
    """Whether a tenant without objects is an error, unless it is the default one."""
    missing: str
    """What it finds in place of a tenant without objects."""
    namespace: str
    """What is done about a missing namespace; empty: nothing."""

    def __init__(
        self,
        command: Command,
        where: Where,
        routes: tuple[str, ...],
        *,
        writes: bool,
        reconciles: bool,
        needs_file: bool,
        needs_tenant: bool,
        missing: str,
        namespace: str,
    ) -> None:
        self._set(command, where, routes, writes, reconciles, needs_file, needs_tenant, missing, namespace)


def plan(command: Command, options: Arguments, facts: Facts) -> Plan:
    """How a command runs with these options in a place with these facts."""
    writes = command.writes and not only_reads(options)
    reconciles = facts.reconcilers and writes and not options.no_reconcile
    stores = options.dry_run == "none"
    namespace = ""
    if facts.namespace != "default" and (command.creates or command.previews):
        namespace = CREATED if stores else COPIED
    missing = _missing(command, options, stores=writes and stores)
    return Plan(
        command,
        facts.where,
        _routes(command, options, facts, reconciles=reconciles),
        writes=writes,
        reconciles=reconciles,
        needs_file=facts.needs_file and not (command.creates and missing == NEW),
        needs_tenant=not command.creates,
        missing=missing,
        namespace=namespace,
    )


def _routes(command: Command, options: Arguments, facts: Facts, *, reconciles: bool) -> tuple[str, ...]:
    is_file = facts.where.storage.startswith("sqlite:") and facts.where.storage != "sqlite:"
    if not is_file or facts.audited or reconciles or command.needs_loop(options):
        return (LOOP,)  # what is logged are requests to a server, which the other routes do not send
    return (DIRECT, LIGHT, LOOP) if command.reads_stored else (LIGHT, LOOP)


def _missing(command: Command, options: Arguments, *, stores: bool) -> str:
    if command.waits or command.watches(options):
        return REAL
    return NEW if stores else EMPTY  # nothing is written to an empty storage, which is discarded


def is_dry_run(options: Arguments) -> bool:
    """Whether the server checks what it would write, and stores nothing."""
    return options.dry_run == "server"


def only_reads(options: Arguments) -> bool:
    """Whether a command that can write sends no write to the server: a dry run in the client, or a list of labels."""
    return options.dry_run == "client" or options.list
