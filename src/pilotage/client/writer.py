"""Writing: create, update, patch, apply and delete. The object written becomes what the server answered, in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Never, TypeVar, Unpack, overload

from pilotage.client.fieldnames import check_document, check_patch
from pilotage.client.patch import Patch, applied, patch_of
from pilotage.client.session import ANSWERED_WHOLE, Session, Subject, WriteArguments, add_subject
from pilotage.client.targets import replace_content
from pilotage.errors import BadRequest, NotFound
from pilotage.errors.keywords import check_keywords, refuse_positional
from pilotage.meta import objects
from pilotage.meta.bounds.amounts import Seconds, optional_whole_seconds
from pilotage.meta.forms import Kind, KindOf, O, Object, ObjectKey, key_of
from pilotage.meta.models import Resource
from pilotage.meta.selectors.selection import Fields, Labels, field_text, selector_text
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured
from pilotage.rest import DeleteOptions, ListOptions, PatchType, Verb, WriteOptions

W = TypeVar("W", bound=Resource | Unstructured)
P = TypeVar("P", bound=Object)

_OPTIONS = WriteArguments.__optional_keys__
_KEY = ("name", "namespace")
_OBJECTS = (Resource, Unstructured, PartialObjectMetadata)
AnyPatch = Patch | Mapping[str, Any] | Sequence[Any]
"""A mapping is a merge patch, a list of operations a JSON patch; else `merge_from`, `raw_patch` and their like."""


class Writer:
    """Writes to the API server.

    A write that succeeds leaves in the given object what the server answered (its version, what it defaulted), so that
    it can be written again; the same object is returned. `field_owner` names the writer in managedFields,
    `field_validation` is Ignore, Warn or Strict, and with `dry_run` the server does everything but store. With a
    `subresource` (`status`, `scale`) that part of the object is written, and nothing else of it.
    """

    _session: Session

    async def create(self, obj: W, **options: Unpack[WriteArguments]) -> W:
        """Create the object; raises AlreadyExists. With `metadata.generate_name` the server appends a random suffix to
        make the name."""
        check_keywords(self.create, options, _OPTIONS)
        _whole(obj)
        subject = await self._session.subject_for(obj)
        check_document("create", obj, subject, self._session.scheme)
        write = self._session.write_options(**options) if options else self._session.default_write
        body = objects.updated(obj)
        request = self._session.request(subject, verb=Verb.CREATE, write=write, body=body, encoded=body)
        answer = (await self._session.call(subject, request)).body
        self._check_status(subject, obj, body, answer)
        replace_content(obj, answer)
        return obj

    async def update(self, obj: W, *, subresource: str = "", **options: Unpack[WriteArguments]) -> W:
        """Write the whole object; raises Conflict if it was written since it was read.

        What the object's class does not know is kept: the write is what was changed, applied to what was read.
        """
        check_keywords(self.update, options, _OPTIONS)
        _whole(obj)
        subject = await self._session.subject_of(obj)
        check_document("update", obj, subject, self._session.scheme)
        body = objects.updated(obj, await self._origin(obj, subject))
        request = self._session.request(
            subject,
            verb=Verb.UPDATE,
            name=subject.name,
            subresource=subresource,
            write=self._session.write_options(**options),
            body=body,
            encoded=body,
        )
        answer = (await self._session.call(subject, request)).body
        if not subresource and objects.origin_of(obj) is not None:
            self._check_status(subject, obj, body, answer)
        replace_content(obj, await self._whole(subject, subresource, answer))
        return obj

    async def update_status(self, obj: W, **options: Unpack[WriteArguments]) -> W:
        """Write the object's status and nothing else of it. The object becomes what is stored, spec included."""
        check_keywords(self.update_status, options, _OPTIONS)
        return await self.update(obj, subresource="status", **options)

    @overload
    async def patch(
        self, obj: P, patch: AnyPatch, *, subresource: str = "", **options: Unpack[WriteArguments]
    ) -> P: ...
    @overload
    async def patch(
        self,
        obj: KindOf[O],
        patch: AnyPatch,
        *,
        name: str | ObjectKey,
        namespace: str = "",
        subresource: str = "",
        **options: Unpack[WriteArguments],
    ) -> O: ...
    async def patch(
        self,
        obj: Object | Kind,
        patch: AnyPatch,
        *misplaced: object,
        name: str | ObjectKey = "",
        namespace: str = "",
        subresource: str = "",
        **options: Unpack[WriteArguments],
    ) -> Object:
        """Change a part of an existing object: `patch(database, {"spec": {"size": 3}})`.

        Instead of the object, pass its kind and `name` (or a request as the `name`). The object's version is not a
        condition, unless the patch has it (`merge_from(before, optimistic_lock=True)`). A document uses the API's field
        names (`themeRef`); one with a Python name that the object's class knows (`theme_ref`) raises BadRequest, and
        nothing is sent.
        """
        refuse_positional("patch", (obj, patch), misplaced, _KEY)
        check_keywords(self.patch, options, _OPTIONS)
        write = self._session.write_options(**options)
        wanted = patch_of(patch)
        whole = subresource in ANSWERED_WHOLE  # else the patch is for another kind, such as Scale
        if isinstance(obj, _OBJECTS):
            subject = await self._session.subject_of(obj)
            if whole:
                check_patch(wanted, obj, subject, self._session.scheme)
            body = await self._patch(subject, wanted.type, wanted.data(obj), subresource, write)
            replace_content(obj, await self._whole(subject, subresource, body))
            return obj
        subject = await self._session.subject(obj, *key_of(name, namespace))
        if whole:
            check_patch(wanted, obj, subject, self._session.scheme)
        body = await self._patch(subject, wanted.type, wanted.data(None), subresource, write)
        read: Object = subject.kind.read(await self._whole(subject, subresource, body))
        return read

    @overload
    async def patch_status(self, obj: P, patch: AnyPatch, **options: Unpack[WriteArguments]) -> P: ...
    @overload
    async def patch_status(
        self,
        obj: KindOf[O],
        patch: AnyPatch,
        *,
        name: str | ObjectKey,
        namespace: str = "",
        **options: Unpack[WriteArguments],
    ) -> O: ...
    async def patch_status(
        self,
        obj: Any,
        patch: AnyPatch,
        *misplaced: object,
        name: str | ObjectKey = "",
        namespace: str = "",
        **options: Unpack[WriteArguments],
    ) -> Any:
        """Change a part of the status: `patch_status(database, {"status": {"phase": "Running"}})`.

        Instead of the object, pass its kind and `name` (or a request as the `name`), with its `namespace`.
        """
        refuse_positional("patch_status", (obj, patch), misplaced, _KEY)
        check_keywords(self.patch_status, options, _OPTIONS)
        return await self.patch(obj, patch, name=name, namespace=namespace, subresource="status", **options)

    async def apply(
        self, obj: W, *, field_owner: str = "", force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> W:
        """Server-side apply: set the fields of the object, and own them. Raises Conflict where another owner
        has set them to something else, unless `force` takes them over."""
        _whole(obj)
        subject = await self._session.subject_of(obj)
        check_document("apply", obj, subject, self._session.scheme)
        write = self._session.apply_options(subject, field_owner, dry_run=dry_run, force=force)
        replace_content(obj, await self._patch(subject, PatchType.APPLY, applied(obj), subresource, write))
        return obj

    async def delete(
        self,
        obj: Object | KindOf[O],
        name: str | ObjectKey = "",
        *misplaced: Never,
        namespace: str = "",
        dry_run: bool = False,
        propagation_policy: str = "",
        grace_period_seconds: Seconds | None = None,
        uid: str = "",
        resource_version: str = "",
    ) -> None:
        """Delete an object: `delete(database)`, `delete(Database, "a", namespace="b")` or `delete(Database, request)`.

        Raises NotFound. An object with finalizers stays, marked as terminating, until they are removed.
        `propagation_policy` (Background, Foreground, Orphan) decides about its dependents, and `grace_period_seconds`
        is the time that a Pod has to terminate. `uid` and `resource_version` are preconditions: raises Conflict if they
        are not met.
        """
        refuse_positional("delete", (obj, name), misplaced)
        if isinstance(obj, _OBJECTS):
            subject = await self._session.subject_of(obj)
        else:
            subject = await self._session.subject(obj, *key_of(name, namespace))
        options = DeleteOptions(
            dry_run=dry_run or self._session.defaults.dry_run,
            grace_period_seconds=optional_whole_seconds(grace_period_seconds, "grace_period_seconds"),
            propagation_policy=propagation_policy,
            uid=uid or None,
            resource_version=resource_version or None,
        )
        request = self._session.request(subject, verb=Verb.DELETE, name=subject.name, delete=options)
        await self._session.call(subject, request)

    async def delete_all_of(
        self,
        kind: KindOf[O],
        *misplaced: Never,
        namespace: str = "",
        labels: Labels = None,
        fields: Fields = None,
        dry_run: bool = False,
        propagation_policy: str = "",
        grace_period_seconds: Seconds | None = None,
    ) -> None:
        """Delete all objects of a kind that are selected, in one namespace. Not atomic: each is deleted by itself.

        `labels` and `fields` are selectors; `propagation_policy` and `grace_period_seconds` have the same meaning as
        for `delete`.
        """
        refuse_positional("delete_all_of", (kind,), misplaced)
        subject = await self._session.collection(kind, namespace)
        if subject.kind.namespaced and not subject.namespace:
            message = f"cannot delete all {subject.kind.gvk.kind} objects without a namespace: pass namespace=…"
            raise add_subject(BadRequest(message), subject)
        request = self._session.request(
            subject,
            verb=Verb.DELETE_COLLECTION,
            options=ListOptions(label_selector=selector_text(labels), field_selector=field_text(fields)),
            delete=DeleteOptions(
                dry_run=dry_run or self._session.defaults.dry_run,
                grace_period_seconds=optional_whole_seconds(grace_period_seconds, "grace_period_seconds"),
                propagation_policy=propagation_policy,
            ),
        )
        await self._session.list(subject, request)

    async def _patch(
        self, subject: Subject, patch_type: PatchType, data: bytes, subresource: str, write: WriteOptions
    ) -> bytes:
        request = self._session.request(
            subject,
            verb=Verb.PATCH,
            name=subject.name,
            subresource=subresource,
            write=write,
            body=data,
            content_type=patch_type.value,
        )
        return (await self._session.call(subject, request)).body

    def _check_status(self, subject: Subject, obj: object, sent: bytes, answer: bytes) -> None:
        """Warn of a status that was sent and not stored."""
        if b'"status"' in sent:
            from pilotage.client.droppedstatus import warn_of_dropped_status  # few writes have one

            warn_of_dropped_status(self._session, subject, obj, sent, answer)

    async def _whole(self, subject: Subject, subresource: str, answer: bytes) -> bytes:
        """The object after a write: the answer, or the stored object, if the subresource answers with another kind."""
        if subresource in ANSWERED_WHOLE:
            return answer
        request = self._session.request(subject, verb=Verb.GET, name=subject.name)
        return (await self._session.call(subject, request)).body

    async def _origin(self, obj: Resource | Unstructured, subject: Subject) -> bytes | None:
        """The stored bytes of an object that was made from parts, if the server still has its version."""
        metadata = obj.metadata
        if not isinstance(obj, Resource) or objects.origin_of(obj) is not None:
            return None
        if not metadata.uid or not metadata.resource_version:
            return None
        try:
            request = self._session.request(subject, verb=Verb.GET, name=subject.name)
            data = (await self._session.call(subject, request)).body
        except NotFound:
            return None
        found = objects.header(data)
        same = (found.uid, found.resource_version) == (metadata.uid, metadata.resource_version)
        return data if same else None


def _whole(obj: Object) -> None:
    """Reject an object that has metadata only, as a type checker does: the write would delete all other fields."""
    if isinstance(obj, PartialObjectMetadata):
        raise BadRequest(f"this {obj.kind} has metadata only and cannot be written: patch it, or read the whole object")
