"""The messages and methods of etcd's v3 API."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from pilotage.errors import MissingExtra
from pilotage.grpc.protobuf import message_classes


@dataclass(frozen=True, slots=True)
class Method:
    """A unary method: its name on the wire, and the name of the message that it returns."""

    path: str
    response: str


RANGE = Method("/etcdserverpb.KV/Range", "RangeResponse")
TXN = Method("/etcdserverpb.KV/Txn", "TxnResponse")
COMPACT = Method("/etcdserverpb.KV/Compact", "StatusRequest")  # nothing of the response is read
GRANT = Method("/etcdserverpb.Lease/LeaseGrant", "LeaseGrantResponse")
AUTHENTICATE = Method("/etcdserverpb.Auth/Authenticate", "AuthenticateResponse")
STATUS = Method("/etcdserverpb.Maintenance/Status", "StatusResponse")
WATCH = "/etcdserverpb.Watch/Watch"


def message(name: str) -> Any:
    """The class of a message: created at run time, so type checkers do not know its fields."""
    return _classes()[f"etcdserverpb.{name}"]


@cache
def _classes() -> dict[str, Any]:
    from .generated.descriptors import SETS

    return message_classes(SETS["etcd"], MissingExtra("storage on etcd", "etcd"))
