"""What all calls of the server have in common: access, metrics, the audit log, and errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pilotage.device.access import described
from pilotage.device.codes import rpc_error
from pilotage.device.server import metrics
from pilotage.device.server.admission import MAX_PROVIDER
from pilotage.device.server.registry import Caller
from pilotage.device.wire.options import PROVIDER_ID, WARNING
from pilotage.errors import ApiError, BadRequest, DecodeError, Forbidden, ServiceUnavailable, StorageError
from pilotage.grpc.rpc import Call, Code, Peer, RPCError
from pilotage.telemetry.logs import logger

_LONGEST_WARNING = 1024
_log = logger("pilotage.device.server")
_audit = logger("pilotage.device.audit")

Allows = Callable[[Peer, str], bool]
"""Whether a peer may call a method."""


def allow_all(peer: Peer, method: str) -> bool:
    """No restriction: for tests, and for health checks."""
    return True


@dataclass(slots=True)
class CallOutcome:
    """The outcome of a call, for the audit log: its object and code."""

    name: str = ""
    provider: str = ""
    """The provider id in the message, if it has one."""
    code: Code = Code.OK
    warnings: tuple[str, ...] = ()
    started: float = field(default_factory=time.perf_counter)


@contextmanager
def handled(call: Call, allows: Allows, *, kind: str = "unary", audited: bool = False) -> Iterator[CallOutcome]:
    """Handle a call in the block: other errors than RPCError and cancellation become RPCError."""
    labels = (kind, call.method.rpartition("/")[0].lstrip("/"), call.name)
    metrics.STARTED.labels(*labels).inc()
    outcome = CallOutcome()
    try:
        if not allows(call.peer, call.name):
            raise Forbidden(f"{described(call.peer)} may not call {call.name}")
        yield outcome
    except RPCError as error:
        outcome.code = error.code
        raise
    except ApiError as error:
        failure = rpc_error(error)
        outcome.code = failure.code
        raise failure from error
    except DecodeError as error:
        outcome.code = Code.INVALID_ARGUMENT
        raise rpc_error(BadRequest(str(error))) from error
    except StorageError as error:
        outcome.code = Code.UNAVAILABLE
        _log.warning("Storage unavailable", method=call.name, error=error)
        raise rpc_error(ServiceUnavailable("the server's storage is unavailable; retry")) from error
    except Exception as error:
        outcome.code = Code.INTERNAL
        _log.exception("Call failed with an internal error", method=call.name)
        raise RPCError(Code.INTERNAL, "internal error; the server's log has the reason") from error
    except BaseException:
        outcome.code = Code.CANCELLED
        raise
    finally:
        metrics.HANDLED.labels(*labels, outcome.code.name).inc()
        metrics.HANDLING_SECONDS.labels(*labels).observe(time.perf_counter() - outcome.started)
        if audited:
            _write_audit(call, outcome)


def caller_of(call: Call, provider: str = "", unspoken: tuple[str, ...] = ()) -> Caller:
    """The caller: the provider in the message, else the one in the metadata, else the user."""
    return Caller(provider or call.metadata.get(PROVIDER_ID, ""), call.peer, unspoken)


def warned(warnings: Sequence[str]) -> dict[str, str]:
    """Warnings as initial metadata, shortened and in ASCII."""
    text = "; ".join(warnings).encode("ascii", "backslashreplace").decode("ascii")
    return {WARNING: text[:_LONGEST_WARNING]} if text else {}


def _write_audit(call: Call, outcome: CallOutcome) -> None:
    caller = caller_of(call, outcome.provider)
    _audit.info(
        "write",
        method=call.name,
        name=outcome.name,
        code=outcome.code.name,
        provider=caller.identity[:MAX_PROVIDER],  # an invalid id is longer; its call was refused
        uid=call.peer.uid,
        pid=call.peer.pid,
    )
