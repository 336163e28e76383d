"""The audit log of `pilotage serve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pilotage.cli.errors import CommandError
from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.server.audit.log import AuditLog, AuditLogOptions
from pilotage.server.audit.policy import AuditPolicy, everything
from pilotage.server.http.auditing import Auditor

MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Where requests are logged, and which."""

    path: str = ""
    """The file of the log; `-` is the standard output, and empty: there is no log."""
    policy_file: Path | None = None
    """The file of the audit policy. None: all requests at the level Metadata."""
    max_size: int = 100
    """Megabytes of a file before it is rotated; 0: it is not rotated."""
    max_backup: int = 0
    """How many rotated files are kept; 0: all."""


def check_audit(options: AuditOptions) -> AuditPolicy | None:
    """The policy of the log; None if there is no log. Raises CommandError."""
    if not options.path:
        if options.policy_file is not None:
            raise CommandError("--audit-policy-file needs --audit-log-path: give the file of the log, or - for stdout")
        return None
    return everything() if options.policy_file is None else _policy(options.policy_file)


@contextmanager
def audited(options: AuditOptions) -> Iterator[Auditor | None]:
    """Logs requests inside the block. Raises CommandError."""
    policy = check_audit(options)
    if policy is None:
        yield None
        return
    with ExitStack() as exits:
        try:
            log = AuditLog(AuditLogOptions(options.path, options.max_size * MEGABYTE, options.max_backup))
            exits.enter_context(log)
        except OSError as error:
            raise CommandError(f"cannot open the audit log {options.path}: {error.strerror or error}") from error
        yield Auditor(policy, log.write)


def _policy(path: Path) -> AuditPolicy:
    from pilotage.meta.text import yamltext

    try:
        return AuditPolicy.of(yamltext.read(path.read_bytes()), str(path))
    except OSError as error:
        raise CommandError(f"cannot read the audit policy {path}: {error.strerror or error}") from error
    except DecodeError as error:
        raise CommandError(f"cannot read the audit policy {path}: {error}") from error
    except InvalidDefinition as error:
        raise CommandError(str(error)) from error
