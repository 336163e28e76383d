"""The settings of a run: flags, else environment variables, else defaults; and the options of its manager."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.cli.run.arguments import LOG_FORMATS, MANAGER_FLAGS, Flags, variable
from pilotage.cli.simulated import check_flags
from pilotage.errors import InvalidDefinition
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags.fields import written
from pilotage.net.sockets import is_loopback, parse_bind_address

if TYPE_CHECKING:
    from pilotage.manager.options import ManagerOptions
    from pilotage.webhook.certificates.files import CertificateFiles
    from pilotage.webhook.options import WebhookServerOptions

YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def flags_of(parser: argparse.ArgumentParser, namespace: argparse.Namespace, environment: Mapping[str, str]) -> Flags:
    """The flags of a run. Raises CommandError for a wrong environment variable, or flags that exclude each other."""
    chosen: dict[str, Any] = {}
    for action in parser._actions:
        if action.dest not in Flags.__dataclass_fields__:
            continue
        value = getattr(namespace, action.dest)
        if value is None and variable(action.dest) in environment:
            value = _parsed(action, environment[variable(action.dest)])
        if value is not None:
            chosen[action.dest] = tuple(value) if isinstance(value, list) else value
    flags = Flags(**chosen)
    _check(flags)
    return flags


def _parsed(action: argparse.Action, text: str) -> Any:
    """The value of an environment variable. An empty one counts as not set."""
    name = variable(action.dest)
    if isinstance(action, argparse.BooleanOptionalAction):
        if text.lower() not in (*YES, *NO):
            raise CommandError(f"{name}={text}: must be true or false")
        return text.lower() in YES
    if not text:
        return None
    if action.choices is not None and text not in action.choices:
        raise CommandError(f"{name}={text}: must be one of {', '.join(LOG_FORMATS)}")
    parse: Any = action.type or str
    try:
        if action.dest == "filename":
            return [parse(part) for part in text.split(",")]
        return parse(text)
    except argparse.ArgumentTypeError as error:
        raise CommandError(f"{name}: {error}") from error


def _check(flags: Flags) -> None:
    """Refuse flags that exclude each other, and flags without effect."""
    if flags.storage and (flags.kubeconfig or flags.context):
        raise CommandError(
            "--storage is an API server in this process, --kubeconfig and --context are a cluster: give one"
        )
    if flags.serve is not None and not flags.storage:
        raise CommandError("--serve needs --storage: it serves the API server of this process")
    if flags.timeout is not None and not flags.until_idle:
        raise CommandError("--timeout is how long --until-idle waits: give both")
    for flag in ("horizon", "only", "every"):
        if getattr(flags, flag) and not flags.until_idle:
            raise CommandError(f"--{flag} needs --until-idle: without it, a run reconciles all objects")
    if flags.only and flags.only.count("/") not in (1, 2):
        raise CommandError(f"--only {flags.only}: must be TYPE/NAME, or TYPE/NAMESPACE/NAME for a namespaced type")
    if flags.every is not None and flags.storage == "memory:":
        raise CommandError("--every needs a storage that keeps its objects: memory: is empty at each run")
    if flags.metrics_certificates and not flags.metrics_secure:
        raise CommandError("--metrics-certificates needs --metrics-secure")
    if flags.ui and not flags.metrics_secure and not is_loopback((parse_bind_address(flags.ui) or ("localhost", 0))[0]):
        raise CommandError(
            f"--ui={flags.ui} is reached from other machines, and the page shows objects: leave the address out for "
            "this machine alone, or add --metrics-secure, whose certificate and tokens the page then has"
        )
    if flags.explain is not None:
        _check_explained(flags, flags.explain)
    check_flags("--simulate-workloads", flags.simulate_workloads, flags.nodes, flags.fault, flags.stages)
    if flags.processes is not None:
        _check_processes(flags)


def _check_explained(flags: Flags, text: str) -> None:
    from pilotage.history.narration.selection import selected

    if flags.log_format == "json" and text.lower() not in NO:
        raise CommandError("--explain shows lines for people: leave it out with --log-format json")
    try:
        selected("" if text.lower() in (*YES, *NO, "all") else text)
    except InvalidDefinition as error:
        raise CommandError(f"--explain: {error}") from error


def _check_processes(flags: Flags) -> None:
    if flags.storage == "memory:":
        raise CommandError(
            "--processes needs a storage that processes can share: give --storage sqlite:PATH or etcd://HOST:PORT, or"
            " a cluster"
        )
    for flag in ("reload", "until_idle", "serve", "metrics_secure", "debug_bind_address", "ui", "record"):
        if getattr(flags, flag):
            raise CommandError(f"{written(flag)} cannot be used with --processes: it needs one process")


def check_manager_target(flags: Flags, name: str) -> None:
    """Refuse flags for the manager where the target is one."""
    given = [written(flag) for flag in MANAGER_FLAGS if getattr(flags, flag) != getattr(Flags(), flag)]
    if given:
        raise CommandError(
            f"{name} is a manager with a cluster and options of its own: remove {', '.join(given)}, or name a function"
        )


def manager_options(flags: Flags, name: str, namespace: str, process: int = 0) -> ManagerOptions:
    """The options of the manager. `name` is the program's, `namespace` the default one of its Leases, and `process` the
    number of this process among several."""
    from pilotage.cache.plan import CacheOptions
    from pilotage.history.options import HistoryOptions
    from pilotage.manager.options import ControllerDefaults, ManagerOptions
    from pilotage.manager.reviews import with_authentication_and_authorization

    several = flags.processes is not None
    grace = flags.graceful_shutdown_timeout
    return ManagerOptions(
        metrics_bind_address="0" if several else flags.metrics_bind_address,
        metrics_secure_serving=flags.metrics_secure,
        metrics_certificates=_certificates(flags.metrics_certificates),
        metrics_filter=with_authentication_and_authorization if flags.metrics_secure else None,
        health_probe_bind_address="" if several else flags.health_probe_bind_address,
        debug_bind_address=flags.debug_bind_address,
        ui_bind_address=flags.ui,
        leader_election=flags.leader_elect,
        leader_election_id=flags.leader_election_id or f"{name}-leader",
        leader_election_namespace=flags.leader_election_namespace or namespace,
        leader_election_release_on_cancel=True,
        shards=flags.shards or (name if several else ""),
        cache=CacheOptions(default_namespaces=flags.namespace) if flags.namespace else None,
        controller=ControllerDefaults(max_concurrent_reconciles=flags.max_concurrent_reconciles),
        checkpoint=flags.checkpoint,
        history=HistoryOptions(file=str(flags.record or "")),
        graceful_shutdown_timeout=30.0 if grace is None else grace,
        webhook_server_options=_webhook_options(flags, process),
    )


def _webhook_options(flags: Flags, process: int) -> WebhookServerOptions:
    """Webhooks are registered if the run installs; else their configurations come from manifests, and only the
    bundle of the certificate authority is injected. Of several processes the first one serves them; those that share an
    embedded API server call it over HTTPS."""
    from pilotage.webhook.options import DEFAULT_PORT, DISABLED, WebhookServerOptions, secret_of

    default = "127.0.0.1:0" if flags.storage else f":{DEFAULT_PORT}"
    host, port = parse_bind_address(flags.webhook_bind_address or default) or ("", DISABLED)
    return WebhookServerOptions(
        host=host,
        port=port if process <= 1 else DISABLED,
        serve=True if process else None,
        service_name=flags.webhook_service,
        secret_name=secret_of(flags.webhook_service),
        certificates=_certificates(flags.webhook_certificates),
        register=flags.installs,
    )


def _certificates(folder: Path | None) -> CertificateFiles | None:
    from pilotage.webhook.certificates.files import CertificateFiles

    return None if folder is None else CertificateFiles(folder)
