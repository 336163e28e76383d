"""The audit log of `pilotage serve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pilotage.cli.serve.options import ServeOptions
from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported
from pilotage.server.audit.log import AuditLog, AuditLogOptions
from pilotage.server.audit.policy import AuditPolicy, everything
from pilotage.server.http.auditing import Auditor

MEGABYTE = 2**20


def check_audit(options: ServeOptions) -> AuditPolicy | None:
    """The policy of the log; None if there is no log. Raises CommandError."""
    if not options.audit_log_path:
        if options.audit_policy_file is not None:
            raise CommandError("--audit-policy-file needs --audit-log-path: give the file of the log, or - for stdout")
        return None
    return everything() if options.audit_policy_file is None else _policy(options.audit_policy_file)


@contextmanager
def audited(options: ServeOptions) -> Iterator[Auditor | None]:
    """Logs requests inside the block. Raises CommandError."""
    policy = check_audit(options)
    if policy is None:
        yield None
        return
    with ExitStack() as exits:
        path, size = options.audit_log_path, options.audit_log_maxsize * MEGABYTE
        with reported(f"cannot open the audit log {path}"):
            log = exits.enter_context(AuditLog(AuditLogOptions(path, size, options.audit_log_maxbackup)))
        yield Auditor(policy, log.write)


def _policy(path: Path) -> AuditPolicy:
    from pilotage.meta.text import yamltext

    with reported(f"cannot read the audit policy {path}"):
        text = path.read_bytes()
    try:
        return AuditPolicy.of(yamltext.read(text), str(path))
    except DecodeError as error:
        raise CommandError(f"cannot read the audit policy {path}: {error}") from error
    except InvalidDefinition as error:
        raise CommandError(str(error)) from error
