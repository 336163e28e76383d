"""Errors of etcd as errors of a storage: what is wrong, and what to do."""

from __future__ import annotations

from pilotage.errors import StorageError, StorageFull, StorageUnavailable
from pilotage.grpc.rpc import Code, RPCError

COMPACTED = "required revision has been compacted"
LEASE_NOT_FOUND = "requested lease not found"
AUTHENTICATION_DISABLED = "authentication is not enabled"
WRONG_PASSWORD = "invalid user ID or password"  # noqa: S105 - a text of etcd
_TOO_LARGE = "request is too large"
_TOO_MANY = "too many operations in txn"
_NO_SPACE = "database space exceeded"
_NO_TOKEN = "user name is empty"  # noqa: S105 - a text of etcd
_OLD_ROLES = "revision of auth store is old"
_OVERLOADED = "too many requests"


def refused_before_proposal(error: RPCError) -> bool:
    """Whether etcd certainly did nothing, so that the call may be sent again."""
    return _OVERLOADED in error.message


def transient(error: RPCError) -> bool:
    """Whether another member, or the same one a little later, may answer: no leader, an election, a member that
    stops, or too slow an answer."""
    return error.code in (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED) or _OVERLOADED in error.message


def token_expired(error: RPCError) -> bool:
    """Whether a new token helps: it has expired, roles were changed, or users were enabled after the start."""
    return error.code is Code.UNAUTHENTICATED or _OLD_ROLES in error.message or _NO_TOKEN in error.message


def translate(error: RPCError, where: str) -> StorageError:
    """The error of a call that another attempt does not help."""
    text = error.message
    if _NO_SPACE in text:
        return StorageFull(
            f"{where}: etcd has no space left (its quota is --quota-backend-bytes): delete objects (deletes still "
            "succeed), compact and defragment it, then clear the alarm with `etcdctl alarm disarm`"
        )
    if _TOO_LARGE in text or (error.code is Code.RESOURCE_EXHAUSTED and "larger than max" in text):
        return StorageError(f"{where}: etcd refuses a request of this size: start it with a larger --max-request-bytes")
    if _TOO_MANY in text:
        return StorageError(f"{where}: etcd refuses so many operations at once: start it with a larger --max-txn-ops")
    if _NO_TOKEN in text:
        return StorageError(f"{where}: etcd requires a user: write etcd://USER:PASSWORD@HOST:PORT")
    if error.code is Code.PERMISSION_DENIED:
        return StorageError(f"{where}: the user may not read and write the keys there: grant the role the whole prefix")
    if error.code is Code.UNAVAILABLE:
        return StorageUnavailable(f"{where}: {text}", sent=True)
    return StorageError(f"{where}: {text}")
