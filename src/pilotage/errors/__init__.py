"""The tree of errors, by what a caller can do about them.

PilotageError
├── ApiError                 the API server refused; carries its Status
│   ├── BadRequest           400  fix the request
│   ├── Unauthorized         401  fix the credentials
│   ├── Forbidden            403  ask for the permission, or stop
│   ├── NotFound             404  the object does not exist
│   ├── MethodNotSupported   405  the resource does not support this verb
│   ├── NotAcceptable        406
│   ├── Conflict             409  read again, then write again
│   │   └── AlreadyExists    409  the object exists already
│   ├── Gone                 410  the version is no longer in the history: list again
│   ├── RequestTooLarge      413  send less
│   ├── UnsupportedMediaType 415
│   ├── Invalid              422  fix the object; causes name the fields
│   ├── TooManyRequests      429  wait, then retry
│   ├── InternalError        500
│   ├── ServiceUnavailable   503  wait, then retry
│   └── Timeout              504  wait, then retry
├── NoMatch                  the server does not serve this kind: install its definition
├── ConnectionLost           no response, or only a part of one
├── NoCredentials            credentials cannot be loaded: fix the kubeconfig, file or plugin
├── StaleCache               the cache does not show the program's own write in time: retry later
├── DecodeError              bytes that cannot be decoded
├── UnexpectedAnswer         another kind or object than requested: check the server's URL, and proxies
├── InvalidDefinition        a class, schema or option that cannot work
├── UnplacedItems            a changed list whose items cannot be matched; nothing was written
├── PatchError
│   ├── MalformedPatch       the patch is invalid for any object: fix it
│   ├── PatchDoesNotApply    the object differs from what the patch expects: read it again
│   └── PatchTooLarge        send fewer operations, or smaller ones
├── MissingExtra             an optional dependency is not installed
└── StorageError
    ├── RevisionConflict     a condition of the commit did not hold
    ├── Compacted            the revision is no longer kept
    ├── FutureRevision       the revision has not happened yet
    ├── StorageFull          no space left: nothing was written
    ├── StorageReadOnly      it may be read only: nothing was written
    ├── StorageBusy          another process holds the lock: nothing was written, try again later
    ├── StorageUnavailable   no server answers: try again later
    └── StorageBroken        corrupt, foreign, newer or failed: further writes are refused
"""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors.status import Cause as Cause
from pilotage.errors.status import Record as Record
from pilotage.errors.status import Status as Status
from pilotage.errors.status import StatusDetails as StatusDetails

TYPE_CHECKING = False  # every program imports this module, and typing takes longer than the rest of it
if TYPE_CHECKING:
    from typing import Any, ClassVar, Protocol
else:
    Protocol = object


UNREADABLE = "StorageReadError"
"""The reason of the 500 for an object that is damaged in the storage: it can only be deleted."""


class PilotageError(Exception):
    """Everything that Pilotage raises on purpose."""


class Identified(Protocol):
    """An object of any form: it has a kind and metadata."""

    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def metadata(self) -> Any: ...


class ApiError(PilotageError):
    """The API server refused. `status` is its answer; the client adds the object of the call."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(
        self, message: str = "", *, details: StatusDetails | None = None, status: Status | None = None
    ) -> None:
        self.status = status or Status(self.code, self.reason, message, details)
        self.group = ""
        self.kind = ""
        self.namespace = ""
        self.name = ""
        self.warnings: tuple[str, ...] = ()
        """The server's warnings about the request that it refused."""
        super().__init__(self.status.message)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Where and why, for an `Invalid` object or a refused apply."""
        return self.status.details.causes if self.status.details else ()

    @property
    def retry_after_seconds(self) -> int:
        """How long the server asks to wait before the next try; 0 if the server gives no time."""
        return self.status.details.retry_after_seconds if self.status.details else 0


class BadRequest(ApiError):
    """400: the request is malformed; fix the call."""

    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    """401: the server does not accept the credentials."""

    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    """403: the caller may not do this; grant the permission, or stop."""

    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    """404: the object does not exist."""

    code, reason = 404, "NotFound"


class MethodNotSupported(ApiError):
    """405: this resource does not have the verb."""

    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    """406: the server has no representation in the requested form."""

    code, reason = 406, "NotAcceptable"


class Conflict(ApiError):
    """409: another writer has changed the object since it was read; read it again, then write again."""

    code, reason = 409, "Conflict"


class AlreadyExists(Conflict):
    """409: an object of this name exists already."""

    code, reason = 409, "AlreadyExists"


class Gone(ApiError):
    """410: the version is no longer in the history; list again."""

    code, reason = 410, "Expired"


class RequestTooLarge(ApiError):
    """413: the request is larger than the server accepts."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """415: the server does not understand the format of the body."""

    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """422: the object breaks a rule of its kind; `causes` name the fields."""

    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, obj: Identified, *causes: Cause) -> Invalid:
        """The error for an object, as kube-apiserver writes it. `pilotage.field` has the causes:
        `Invalid.of(book, field.invalid("spec.title", book.spec.title, "must begin with a capital letter"))`."""
        group = obj.api_version.rpartition("/")[0]
        return cls.of_kind(group, obj.kind, obj.metadata.name or obj.metadata.generate_name, causes)

    @classmethod
    def of_kind(cls, group: str, kind: str, name: str, causes: Iterable[Cause]) -> Invalid:
        """The error for an object of a kind, with all causes in one message."""
        found = tuple(causes)
        lines = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in found]
        lines = list(dict.fromkeys(lines))  # a cause may occur several times, but is listed once
        reasons = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
        shown = f"{kind}.{group}" if group else kind
        return cls(
            f'{shown} "{name}" is invalid: {reasons}',
            details=StatusDetails(name=name, group=group, kind=kind, causes=found),
        )


class TooManyRequests(ApiError):
    """429: the server is busy; wait `retry_after_seconds`, then try again."""

    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    """500: the server failed to handle the request."""

    code, reason = 500, "InternalError"


class ServiceUnavailable(ApiError):
    """503: the server cannot answer now; wait, then try again."""

    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    """504: the server gave up waiting; wait, then try again."""

    code, reason = 504, "Timeout"


_LEAVES: tuple[type[ApiError], ...] = (
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotSupported,
    NotAcceptable,
    Conflict,
    AlreadyExists,
    Gone,
    RequestTooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    ServiceUnavailable,
    Timeout,
)
_BY_REASON = {leaf.reason: leaf for leaf in _LEAVES} | {"Gone": Gone}
_BY_CODE = {leaf.code: leaf for leaf in _LEAVES if leaf is not AlreadyExists}


def from_status(status: Status) -> ApiError:
    """The error for a Status: by its reason, else by its code, as client-go reads it."""
    leaf = _BY_REASON.get(status.reason) or (_BY_CODE.get(status.code) if not status.reason else None) or ApiError
    return leaf(status=status)


class NoMatch(PilotageError):
    """The server serves no resource of the requested kind: the kind is missing, not an object."""


class ConnectionLost(PilotageError):
    """There was no response, or only a part of one. Whether a write took effect is not known, unless `sent` is False.

    `sent` False: nothing of the request reached the server, so it is safe to send it again.
    """

    def __init__(self, message: str = "", *, sent: bool = True, timed_out: bool = False, reused: bool = False) -> None:
        self.sent = sent
        self.reused = reused
        """Whether the connection was kept from an earlier request: the server may have closed it in between."""
        self.timed_out = timed_out
        """Whether the client stopped waiting."""
        super().__init__(message)


class NoCredentials(PilotageError):
    """The credentials cannot be loaded: a file is missing, or a plugin failed."""


class StaleCache(PilotageError):
    """A read from a cache would not have shown a write of this program. Nothing was read.

    `resource` is what was read, `version` the version that the cache has reached, and `wanted` the one it must reach.
    """

    def __init__(self, message: str, *, resource: str = "", version: str = "", wanted: str = "") -> None:
        self.resource = resource
        self.version = version
        self.wanted = wanted
        super().__init__(message)


class DecodeError(PilotageError):
    """Bytes or a document that cannot be read. `path` is the place, from the root (`.spec.size`)."""

    def __init__(self, message: str, *, path: str = "") -> None:
        self.path = path
        super().__init__(message)


class UnexpectedAnswer(PilotageError):
    """The server returned something other than requested: another kind, group, name or namespace."""


class InvalidDefinition(PilotageError):
    """A class, schema or option that cannot work; found when it is defined, not when it is used."""


class UnplacedItems(PilotageError):
    """A list was changed so that fields unknown to its type cannot be placed. `path` is the list."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path or '.'}: items of this list have fields that the class does not know, and after the change the "
            "items cannot be matched; nothing was written. Name the fields that identify an item "
            '(Annotated[list[…], ListType("map", "name")]), add the missing fields to the class, '
            "change fewer items at a time, or write with a patch"
        )


class PatchError(PilotageError):
    """A patch that cannot be applied. `path` is the place; `operation` is the index of a JSON Patch's operation."""

    def __init__(self, message: str, *, path: str = "", operation: int | None = None) -> None:
        self.path = path
        self.operation = operation
        super().__init__(message if operation is None else f"operation {operation}: {message}")


class MalformedPatch(PatchError):
    """The patch is invalid for any object; fix the patch."""

    code = 422
    """What an API server answers."""


class MalformedDirective(MalformedPatch):
    """A directive of a strategic merge patch is invalid, or contradicts the rest of it."""

    def __init__(self, message: str, *, path: str = "", code: int) -> None:
        super().__init__(message, path=path)
        self.code = code


class PatchDoesNotApply(PatchError):
    """The object differs from what the patch expects: a test failed, or a path does not exist."""


class PatchTooLarge(PatchError):
    """The patch has too many operations, copies too much, or nests too deeply."""


class MissingExtra(PilotageError):
    """An optional dependency is needed and is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{purpose} needs an optional dependency: pip install 'pilotage[{extra}]'")


class StorageError(PilotageError):
    """The storage could not perform an operation."""


class RevisionConflict(StorageError):
    """A condition of a commit did not hold: `key` is at `revision` (0: it does not exist). Nothing was written."""

    def __init__(self, key: str, revision: int) -> None:
        self.key = key
        self.revision = revision
        super().__init__(f"{key} is at revision {revision}, which is not the revision that the writer expected")


class Compacted(StorageError):
    """The history before `oldest` was compacted, so `revision` cannot be read, nor watched from."""

    def __init__(self, revision: int, oldest: int) -> None:
        self.revision = revision
        self.oldest = oldest
        super().__init__(f"revision {revision} is compacted; the oldest kept is {oldest}")


class FutureRevision(StorageError):
    """`revision` has not happened yet; the storage is at `current`."""

    def __init__(self, revision: int, current: int = 0) -> None:
        self.revision = revision
        self.current = current
        super().__init__(f"revision {revision} is in the future; the storage is at {current}")


class StorageFull(StorageError):
    """No space is left. Nothing was written. Reads and deletes continue; creates and updates work again once there is
    space."""

    public_reason = "the storage is full: creates and updates are refused; delete objects, or free disk space"
    """What readiness shows."""


class StorageReadOnly(StorageError):
    """This process may read the storage, and not write to it. Nothing was written; reads continue."""

    public_reason = "the storage is read-only: creates, updates and deletes are refused"
    """What readiness shows."""


class StorageBusy(StorageError):
    """Another process has held the storage's lock for too long. Nothing was written; try again later."""


class StorageUnavailable(StorageError):
    """No server of the storage answers, or none in time. Try again later.

    `sent` False: nothing was written. `sent` True: whether the commit took effect is not known; read before you repeat.
    """

    def __init__(self, message: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(message)


class StorageBroken(StorageError):
    """The file is corrupt, foreign, of a newer version, or its disk failed. Further writes are refused."""
