"""Subresources with bodies of their own: a Scale, a TokenRequest, an Eviction, a Binding.

scale = await client.subresource("scale", Scale).get(Deployment, "web", namespace="shop")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from pilotage.client.patch import Patch, applied, patch_of
from pilotage.client.session import Session, Subject
from pilotage.client.targets import replace_content
from pilotage.errors import BadRequest
from pilotage.meta import objects
from pilotage.meta.forms import Kind, Object, ObjectKey, gvk_of, key_of, reader_of
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured
from pilotage.rest import Form, PatchType, Verb, WriteOptions

B = TypeVar("B", bound=Resource | Unstructured)


class SubresourceClient(Generic[B]):
    """Reads and writes one subresource. `B` is the class of its body; Unstructured if none was given.

    The first argument of each call is the object that has the subresource, or its kind and name.
    """

    def __init__(self, session: Session, subresource: str, body: type[Resource] | None = None) -> None:
        if not subresource or "/" in subresource:
            raise BadRequest(f"{subresource!r} is not the name of a subresource, such as scale")
        self.name = subresource
        self._session = session
        self._body = body

    async def get(self, obj: Object | Kind, name: str | ObjectKey = "", *, namespace: str = "") -> B:
        """The subresource of an object, such as the Scale of a Deployment."""
        subject = await self._subject(obj, name, namespace)
        return self._read(await self._call(subject, verb=Verb.GET))

    async def create(
        self,
        obj: Object | Kind,
        body: B,
        *,
        name: str | ObjectKey = "",
        namespace: str = "",
        dry_run: bool = False,
        field_owner: str = "",
    ) -> B:
        """Send a body to a subresource that performs an action: `eviction`, `binding`, `token`. The answer is stored in
        the body."""
        subject = await self._subject(obj, name, namespace)
        return await self._send(subject, Verb.CREATE, body, self._session.write_options(dry_run, field_owner))

    async def update(
        self,
        obj: Object | Kind,
        body: B,
        *,
        name: str | ObjectKey = "",
        namespace: str = "",
        dry_run: bool = False,
        field_owner: str = "",
    ) -> B:
        """Write the subresource; raises Conflict if the object was written since the body was read."""
        subject = await self._subject(obj, name, namespace)
        return await self._send(subject, Verb.UPDATE, body, self._session.write_options(dry_run, field_owner))

    async def patch(
        self,
        obj: Object | Kind,
        patch: Patch | Mapping[str, Any] | Sequence[Any],
        *,
        name: str | ObjectKey = "",
        namespace: str = "",
        dry_run: bool = False,
        field_owner: str = "",
    ) -> B:
        """Change a part of the subresource: `patch(deployment, {"spec": {"replicas": 3}})`. Returns it."""
        subject = await self._subject(obj, name, namespace)
        wanted = patch_of(patch)
        write = self._session.write_options(dry_run, field_owner)
        answer = await self._call(
            subject, verb=Verb.PATCH, write=write, body=wanted.data(None), content_type=wanted.type.value
        )
        return self._read(answer)

    async def apply(
        self,
        obj: Object | Kind,
        body: B,
        *,
        name: str | ObjectKey = "",
        namespace: str = "",
        field_owner: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> B:
        """Server-side apply of the subresource. The answer is stored in the body."""
        subject = await self._subject(obj, name, namespace)
        write = self._session.apply_options(subject, field_owner, dry_run=dry_run, force=force)
        data, content_type = applied(body), PatchType.APPLY.value
        return self._replace(
            body, await self._call(subject, verb=Verb.PATCH, write=write, body=data, content_type=content_type)
        )

    async def _subject(self, obj: Object | Kind, name: str | ObjectKey, namespace: str) -> Subject:
        if isinstance(obj, Resource | Unstructured | PartialObjectMetadata):
            return await self._session.subject_of(obj)
        return await self._session.subject(obj, *key_of(name, namespace))

    async def _send(self, subject: Subject, verb: Verb, body: B, write: WriteOptions) -> B:
        return self._replace(body, await self._call(subject, verb=verb, write=write, body=objects.updated(body)))

    async def _call(self, subject: Subject, **parts: Any) -> bytes:
        request = self._session.request(subject, name=subject.name, subresource=self.name, **parts)
        return (await self._session.call(subject, replace(request, form=Form.OBJECT))).body

    def _read(self, answer: bytes) -> B:
        if self._body is None:
            return Unstructured(objects.read(answer))  # type: ignore[return-value]
        found, kind = objects.envelope(answer).kind, gvk_of(self._body).kind
        if found != kind:
            raise BadRequest(f"the subresource {self.name} is a {found}, not a {kind}; read it as that class")
        read: B = reader_of(self._body)(answer)
        return read

    def _replace(self, body: B, answer: bytes) -> B:
        """Replace the content of the body by the answer, unless that is a Status, as for an eviction."""
        if objects.envelope(answer).kind == gvk_of(body).kind:
            replace_content(body, answer)
        return body
