"""Answers: whether a server sent what was requested.

A proxy, a load balancer or a wrong URL may answer any request with 200 and some document. Without a check, a Status
would be an empty list, and an informer would delete all its objects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import msgspec

from pilotage.errors import ApiError, DecodeError, Status, UnexpectedAnswer, from_status
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.redaction import reason_of
from pilotage.meta.values import Value
from pilotage.rest.request import Form
from pilotage.rest.response import Bytes, Page

T = TypeVar("T")

_PARTIAL = ("meta.k8s.io", "PartialObjectMetadata")
_SHOWN = 160
"""Characters of an unexpected answer that an error shows: it may be anything."""


class Expected(Value, frozen=True, dict=True):
    """What answers must be: objects of one kind, in one form, of any version."""

    gvk: GroupVersionKind
    form: Form = Form.OBJECT

    @cached_property
    def head(self) -> bytes:
        """How most of them begin."""
        return f'{{"apiVersion":"{self.gvk.api_version}","kind":"{self.gvk.kind}","metadata":{{'.encode()

    def allows(self, api_version: str, kind: str) -> bool:
        """Whether an object may have this apiVersion and kind."""
        found = (_group(api_version), kind)
        return found == (self.gvk.group, self.gvk.kind) or (self.form is Form.METADATA and found == _PARTIAL)

    def check_page(self, page: Page) -> None:
        """Raise UnexpectedAnswer for a list of something else. A transport may leave the list's kind out."""
        if page.list_kind and not self._allows_list(page.list_api_version, page.list_kind):
            raise self.unexpected(page.list_api_version, page.list_kind, whole=f"a list of {self.gvk.kind}")

    def check_item(self, data: Bytes) -> None:
        """Raise UnexpectedAnswer for another kind. An object of a list or a watch may have no kind."""
        head = self.head
        if data[: len(head)] == head:
            return
        api_version, kind, _ = _kind_of(data)
        if (kind or api_version) and not self.allows(api_version, kind):
            raise self.unexpected(api_version, kind)

    def check_object(self, data: Bytes, *, namespace: str = "", name: str = "") -> None:
        """Raise UnexpectedAnswer for another kind, or another name or namespace than those given."""
        if name and namespace and type(data) is bytes and _begins(data, self.head, name, namespace):
            return
        api_version, kind, names = _kind_of(data)
        if not self.allows(api_version, kind):
            raise self.unexpected(api_version, kind)
        if name and names.name != name:
            raise self._other_object("name", name, names.name or "")
        if namespace and names.namespace != namespace:
            raise self._other_object("namespace", namespace, names.namespace or "")

    def checked(self, read: Callable[[Bytes], T]) -> Callable[[Bytes], T]:
        """A reader of the objects of a list that checks each one first."""

        def checked_read(data: Bytes) -> T:
            self.check_item(data)
            return read(data)

        return checked_read

    def unexpected(self, api_version: str, kind: str, *, whole: str = "") -> UnexpectedAnswer:
        """The error for something of another kind."""
        asked = f"{whole or self.gvk.kind} of {self.gvk.api_version}"
        came = f"{kind} of {api_version}" if kind or api_version else "a document without a kind"
        return unexpected(asked, came)

    def _other_object(self, what: str, asked: str, came: str) -> UnexpectedAnswer:
        wanted = f"{self.gvk.kind} of {self.gvk.api_version} with the {what} {asked}"
        return unexpected(wanted, f"one with the {what} {came}" if came else f"one without a {what}")

    def _allows_list(self, api_version: str, kind: str) -> bool:
        if self.form is Form.METADATA and kind == f"{_PARTIAL[1]}List":
            return True
        if api_version and _group(api_version) != self.gvk.group:
            return False
        # A CustomResourceDefinition may name its list as it likes; a built-in list is named after the kind.
        custom = "." in self.gvk.group and not self.gvk.group.endswith(".k8s.io")
        return custom or kind == f"{self.gvk.kind}List"


def watch_error(data: Bytes) -> ApiError:
    """The error that an ERROR event of a watch stands for, from its Status: `Gone` for an expired version."""
    return from_status(Status.from_document(objects.read(data)))


def unexpected(asked: str, came: str) -> UnexpectedAnswer:
    """The error for an answer that is not what was requested."""
    shown = "".join(character if character.isprintable() else "?" for character in came[:_SHOWN])
    return UnexpectedAnswer(
        f"the server was asked for {asked} and answered with {shown}; check the URL of the server, and the proxies on "
        "the way to it"
    )


class _Names(msgspec.Struct, gc=False):
    name: str | None = None
    namespace: str | None = None


class _Identity(msgspec.Struct, gc=False, rename="camel"):
    """The identity of an object; some servers write null for an absent field."""

    api_version: str | None = None
    kind: str | None = None
    metadata: _Names | None = None


_DECODER = msgspec.json.Decoder(_Identity)
_NAMELESS = _Names()


def _kind_of(data: Bytes) -> tuple[str, str, _Names]:
    """The apiVersion, the kind and the names of an object."""
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = reason_of(error)
    else:
        return found.api_version or "", found.kind or "", found.metadata or _NAMELESS
    raise DecodeError(
        f"the server's answer is not an object: {reason}"
    )  # outside of the handler: `error` may hold the whole object


def _begins(data: bytes, head: bytes, name: str, namespace: str) -> bool:
    """Whether an object begins as the embedded server writes one of this name: then the rest of it need not be
    decoded."""
    if not data.startswith(head):
        return False
    at = len(head)
    if data.startswith(b'"resourceVersion":"', at):
        at = data.find(b'",', at) + 2
    return data.startswith(f'"name":"{name}","namespace":"{namespace}"'.encode(), at)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
