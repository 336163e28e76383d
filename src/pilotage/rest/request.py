"""A request to an API server as a value: verb, resource, options, body. No I/O."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from pilotage.errors import Cause, MethodNotSupported, StatusDetails
from pilotage.meta.forms import Kind
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.unstructured import MetadataOnly
from pilotage.meta.values import Value
from pilotage.rest.fence import Fence


class Verb(enum.Enum):
    """Kubernetes' verbs."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    DELETE_COLLECTION = "deletecollection"


READS = (Verb.GET, Verb.LIST, Verb.WATCH)
"""Verbs that change nothing."""


class PatchType(enum.Enum):
    """The kinds of patch, by their content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Form(enum.Enum):
    """The form of the objects in an answer."""

    OBJECT = "object"
    METADATA = "metadata"
    """PartialObjectMetadata: the metadata alone."""
    TABLE = "table"
    """A Table, for people."""


def form_of(kind: Kind) -> Form:
    """The form in which the objects of a kind are requested."""
    return Form.METADATA if isinstance(kind, MetadataOnly) else Form.OBJECT


class ListOptions(Value, frozen=True):
    """Options of get, list and watch. Every field has the meaning of its Kubernetes namesake."""

    label_selector: str = ""
    """Only objects with these labels: `app=web,tier!=test`."""
    field_selector: str = ""
    """Only objects with these fields: `metadata.name=a`."""
    limit: int = 0
    """How many objects a page has at most; 0: no limit."""
    continue_token: str = ""
    """The token of the page before, for the next page of the same snapshot."""
    resource_version: str = ""
    """The version of the data: for a read, as `resource_version_match` says; for a watch, where it begins."""
    resource_version_match: str = ""
    """`Exact`, `NotOlderThan`, or empty."""
    timeout_seconds: int | None = None
    """How long a watch lasts at most; None: the server decides."""
    allow_watch_bookmarks: bool = False
    """Whether a watch gets BOOKMARK events."""
    frequent_bookmarks: bool = True
    """Whether a silent watch of the embedded server gets a bookmark every few seconds, with the interval in it; else
    every minute."""
    send_initial_events: bool | None = None
    """Whether a watch begins with the objects that exist, and a BOOKMARK after them."""
    include_object: str = ""
    """What of its object each row of a Table has: `Metadata` (or empty), `Object`, `None`."""


class WriteOptions(Value, frozen=True):
    """Options of create, update and patch."""

    dry_run: bool = False
    """Whether the server does everything but store."""
    field_manager: str = ""
    """The field manager of the write."""
    field_validation: str = ""
    """How unknown and duplicate fields are handled: `Ignore`, `Warn`, `Strict`; empty: the server's default."""
    force: bool | None = None
    """Whether an apply takes over fields that another manager owns."""
    causes: tuple[Cause, ...] = ()
    """What is wrong with the options of a request over HTTP: a value of `dryRun` that does not exist."""


PROPAGATION_POLICIES = ("Foreground", "Background", "Orphan")


class DeleteOptions(Value, frozen=True):
    """Options of delete and delete collection."""

    dry_run: bool = False
    """Whether the server does everything but store."""
    grace_period_seconds: int | None = None
    """How long the object has to terminate; 0: delete at once, None: the kind's default."""
    propagation_policy: str = ""
    """How its dependents are handled: `Background`, `Foreground`, `Orphan`; empty: the kind's default."""
    orphan_dependents: bool | None = None
    """The older form of the policy: true means `Orphan`, false means `Background`. Only one of the two fields may be
    set."""
    uid: str | None = None
    """Precondition: delete only the object with this uid."""
    resource_version: str | None = None
    """Precondition: delete only this version of the object."""
    causes: tuple[Cause, ...] = ()
    """What is wrong with the options of a request over HTTP."""


class User(Value, frozen=True):
    """The authenticated user of a request."""

    name: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}
    """Further information of the authenticator."""
    uid: str = ""

    def __hash__(self) -> int:
        return hash((self.name, self.groups, self.uid))


class Deadline(Value, frozen=True):
    """When a server answers a request with Timeout."""

    time: float
    """A time of the event loop."""
    allotted: bool = False
    """Whether it applies to the whole request, as a client may request it, and not only to a write."""


class AuditAnnotations(dict[str, str]):
    """The annotations of a request for the audit log, filled in while the request is handled."""

    detailed = False
    """Whether the log has the objects of requests."""


class APIRequest(Value, frozen=True):
    """One request. `name` is empty for collections, `namespace` for cluster-scoped kinds and for all namespaces."""

    __unshown__ = frozenset({"body", "encoded"})

    verb: Verb
    resource: GroupVersionResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    form: Form = Form.OBJECT
    options: ListOptions = ListOptions()
    write: WriteOptions = WriteOptions()
    delete: DeleteOptions = DeleteOptions()
    body: bytes = b""
    encoded: bytes | None = None
    """The body, if it was encoded from an object in this process: no field is in it twice. It counts only if it is the
    very same bytes: a transport may have changed the body."""
    content_type: str = ""
    """Of the body; empty means JSON. For a patch it is the PatchType's value."""
    user_agent: str = ""
    """Names the field manager if `field_manager` is empty."""
    parameters: Mapping[str, str] = {}
    """The query of a request to a subresource that is a connection, such as `log`."""
    user: User = User()
    """The user that sends it. A server sets it, and authorizes the request; in process, a request without a user is not
    checked. A client that acts as another user sets it, too, and sends it over HTTP as impersonation."""
    fences: tuple[Fence, ...] = ()
    """The leases that a write depends on."""
    deadline: Deadline | None = None
    """When the server gives up waiting for webhooks. A server sets it."""
    annotations: AuditAnnotations | None = None
    """Where admission adds its annotations for the audit log; None: there is no log. A server sets it."""


def no_method() -> MethodNotSupported:
    """The 405 for a path that exists, but not for this verb."""
    message = "the server does not allow this method on the requested resource"
    return MethodNotSupported(message, details=StatusDetails())
