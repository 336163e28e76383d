"""A test on a remote API server: what it has created is deleted at its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus

import msgspec

from pilotage.client.client import Client
from pilotage.client.config import Config
from pilotage.cluster.apiserver import RemoteAPIServer
from pilotage.cluster.cluster import Cluster
from pilotage.cluster.writes import PendingWrite
from pilotage.errors import ApiError, Conflict, NotFound, PilotageError, Timeout
from pilotage.manager.options import ManagerOptions
from pilotage.meta.kinds import (
    CUSTOM_RESOURCE_DEFINITIONS,
    GroupResource,
    GroupVersionKind,
    GroupVersionResource,
)
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.scalars.times import system_clock
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import (
    APIRequest,
    DeleteOptions,
    ListOptions,
    Page,
    PatchType,
    Response,
    Transport,
    TransportWrapper,
    Verb,
    WatchEvent,
)
from pilotage.tasks import cancel_all
from pilotage.testing.environment import Environment, loop_clock
from pilotage.testing.remoteloop import RemoteLoop

GONE_SECONDS = 30.0
"""How long the end of a test waits until an object is deleted."""
_LOOK_SECONDS = 0.1
_STORING = (Verb.CREATE, Verb.UPDATE, Verb.PATCH)
_ACCOUNT = GroupVersionKind("", "v1", "ServiceAccount")
_NAMESPACES = GroupResource("", "namespaces")
_NODES = GroupResource("", "nodes")
_PODS = GroupVersionResource("", "v1", "pods")
_DEFINITIONS = CUSTOM_RESOURCE_DEFINITIONS.group_resource
_LAST = (_DEFINITIONS, _NAMESPACES)


@asynccontextmanager
async def remote_environment(config: Config, options: ManagerOptions | None = None) -> AsyncIterator[Environment]:
    """An environment on a remote API server. What was created in the block is deleted at its end."""
    cluster = Cluster(_PatientAPIServer(config), clock=loop_clock() or system_clock)
    remote, environment = Remote(cluster), Environment(cluster, options)
    async with cluster, remote.cleaned_up(), environment:
        loop = asyncio.get_running_loop()
        if isinstance(loop, RemoteLoop):
            loop.is_busy = lambda: remote.has_requests or environment.is_behind
        yield environment


@dataclass(frozen=True, slots=True)
class Created:
    """An object that the test has created."""

    resource: GroupVersionResource
    namespace: str
    name: str
    uid: str
    owners: tuple[str, ...]
    """The uids of its owners."""

    def __str__(self) -> str:
        return f"{self.resource.group_resource} {self.namespace}/{self.name}".replace(" /", " ")


class Remote:
    """Watches over the objects that a test creates through any client of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._created: dict[str, Created] = {}
        self._requests = 0
        self._transport: Transport | None = None
        cluster.wrap_transport(self._observe)
        cluster.wrap_sibling_transports(lambda inner: _RemoteTransport(inner, self))

    @property
    def has_requests(self) -> bool:
        """Whether a request is in flight."""
        return self._requests > 0

    @asynccontextmanager
    async def cleaned_up(self) -> AsyncIterator[None]:
        """Delete at the end of the block what was created in it. Meanwhile dependents are deleted with their owners,
        also on a server without a controller manager. The cluster is open for the length of the block."""
        gone: asyncio.Queue[str] = asyncio.Queue()

        def note(resource: GroupResource, write: PendingWrite) -> None:
            if write.gone:
                gone.put_nowait(write.uid)

        client = Client(self._used, rest_mapper=self._cluster.rest_mapper)
        collects = await client.find(_ACCOUNT, "default", namespace="default") is not None  # a controller made it
        tasks = [] if collects else [asyncio.create_task(self._collect(gone), name="garbage collection")]
        stop = self._cluster.writes.observe(note)
        try:
            yield
        finally:
            stop()
            await cancel_all(*tasks)
            await self._delete_all(is_bare=not collects)

    @property
    def _used(self) -> Transport:
        assert self._transport is not None  # the cluster is open
        return self._transport

    def _observe(self, inner: Transport) -> Transport:
        if self._transport is not None:
            return inner  # of the supervisor's loop: renewals of a lease are no work of the program
        self._transport = _RemoteTransport(inner, self)
        return self._transport

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request as in flight inside the block."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    def note(self, request: APIRequest, response: Response) -> None:
        """Remember an object that was created, or changed since then."""
        if request.write.dry_run or request.subresource or request.verb not in _STORING:
            return
        metadata = _ANSWER.decode(response.body).metadata
        if not metadata.uid:  # a review: it is answered, and nothing is stored
            return
        if metadata.uid in self._created or response.code == HTTPStatus.CREATED:
            owners = tuple(owner.uid for owner in metadata.owners or ())
            made = Created(request.resource, metadata.namespace, metadata.name, metadata.uid, owners)
            self._created[metadata.uid] = made

    async def _collect(self, gone: asyncio.Queue[str]) -> None:
        """Delete the dependents of deleted objects, as a controller manager does."""
        all_gone = set()
        while True:
            all_gone.add(await gone.get())
            for one in list(self._created.values()):
                if one.owners and all_gone.issuperset(one.owners):
                    with suppress(ApiError):
                        await self._delete(one)
                        gone.put_nowait(one.uid)

    async def _delete_all(self, *, is_bare: bool) -> None:
        """Delete all created objects; those that contain others (namespaces, definitions) last. What cannot be deleted
        keeps nothing else: its error is raised at the end."""
        problems: list[PilotageError] = []
        with _collected(problems):
            await self._delete_pods()
        stored = {one.resource: await self._stored_as(one.resource) for one in self._created.values()}
        created = [replace(one, resource=stored[one.resource]) for one in self._created.values()]
        others = [one for one in created if one.resource.group_resource not in _LAST]
        stages = [others, *([one for one in created if one.resource.group_resource == last] for last in _LAST)]
        for stage in stages:
            deleted = []
            for one in stage:
                with _collected(problems):
                    await self._delete(one)
                    if is_bare and one.resource.group_resource == _NAMESPACES:
                        await self._finalize(one)
                    deleted.append(one)
            for one in deleted:
                with _collected(problems):
                    await self._wait_until_gone(one)
        if problems:
            raise problems[0] if len(problems) == 1 else ExceptionGroup("objects of the test are left", problems)

    async def _delete_pods(self) -> None:
        """Delete the nodes that were created, and the Pods on them at once: no kubelet confirms that they have ended.
        What controls such a Pod may create another, which no node runs."""
        for node in [one for one in self._created.values() if one.resource.group_resource == _NODES]:
            await self._delete(node)
            options = ListOptions(field_selector=f"spec.nodeName={node.name}")
            page = await self._used.list(APIRequest(Verb.LIST, _PODS, options=options))
            for item in page.items:
                metadata = _ANSWER.decode(item).metadata
                await self._delete(Created(_PODS, metadata.namespace, metadata.name, metadata.uid, ()))

    async def _stored_as(self, resource: GroupVersionResource) -> GroupVersionResource:
        """A custom resource in its storage version, which needs no conversion: the webhook of the test has stopped."""
        name = f"{resource.resource}.{resource.group}"
        if not resource.group:
            return resource
        try:
            found = await self._used.call(APIRequest(Verb.GET, CUSTOM_RESOURCE_DEFINITIONS, name=name))
        except ApiError:  # it is built in, or the test may not read definitions
            return resource
        versions = Unstructured.from_bytes(found.body).document["spec"]["versions"]
        return resource._replace(version=next(each["name"] for each in versions if each["storage"]))

    async def _delete(self, one: Created) -> None:
        options = DeleteOptions(uid=one.uid, propagation_policy="Background", grace_period_seconds=0)
        with suppress(NotFound, Conflict):  # deleted already, or deleted and created again
            await self._used.call(APIRequest(Verb.DELETE, one.resource, one.namespace, one.name, delete=options))

    async def _finalize(self, one: Created) -> None:
        """Finalize a namespace that no controller finalizes."""
        with suppress(NotFound):
            found = await self._used.call(APIRequest(Verb.GET, one.resource, name=one.name))
            document = Unstructured.from_bytes(found.body).document
            document["spec"] = {}
            body = msgspec.json.encode(document)
            await self._used.call(
                APIRequest(Verb.UPDATE, one.resource, name=one.name, subresource="finalize", body=body)
            )

    async def _wait_until_gone(self, one: Created) -> None:
        try:
            async with asyncio.timeout(GONE_SECONDS):
                while (metadata := await self._metadata(one)) is not None:
                    if metadata.finalizers and one.resource.group_resource not in _LAST:
                        await self._remove_finalizers(one)
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise Timeout(
                f"{one}, which the test has created, still exists {GONE_SECONDS:g} s after it was deleted; "
                "delete it before the next run"
            ) from None

    async def _metadata(self, one: Created) -> _Metadata | None:
        """None if it was deleted, or if another object has its name."""
        try:
            response = await self._used.call(APIRequest(Verb.GET, one.resource, one.namespace, one.name))
        except NotFound:
            return None
        metadata = _ANSWER.decode(response.body).metadata
        return metadata if metadata.uid == one.uid else None

    async def _remove_finalizers(self, one: Created) -> None:
        """The manager has stopped, so nothing works on them any more."""
        body, kind = b'{"metadata":{"finalizers":null}}', PatchType.MERGE.value
        request = APIRequest(Verb.PATCH, one.resource, one.namespace, one.name, body=body, content_type=kind)
        with suppress(NotFound):
            await self._used.call(request)


@contextmanager
def _collected(problems: list[PilotageError]) -> Iterator[None]:
    """Add the error of the block to the list."""
    try:
        yield
    except PilotageError as error:
        problems.append(error)


class _PatientAPIServer(RemoteAPIServer):
    """An API server whose watches do not count as dead, because skipped time includes no bookmarks of the server."""

    silence_seconds = 10 * 365 * 86400.0


class _RemoteTransport(TransportWrapper):
    """Sends every request, and records it."""

    def __init__(self, inner: Transport, remote: Remote) -> None:
        super().__init__(inner)
        self._remote = remote

    async def call(self, request: APIRequest) -> Response:
        with self._remote.counted():
            response = await self._inner.call(request)
        self._remote.note(request, response)
        return response

    async def list(self, request: APIRequest) -> Page:
        with self._remote.counted():
            return await self._inner.list(request)

    async def resources(self) -> Sequence[RESTMapping]:
        with self._remote.counted():
            return await self._inner.resources()

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with AsyncExitStack() as exits:
            with self._remote.counted():
                events = await exits.enter_async_context(self._inner.watch(request))
            yield events


class _Owner(msgspec.Struct, gc=False):
    uid: str = ""


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    finalizers: list[str] | None = None
    owners: list[_Owner] | None = msgspec.field(default=None, name="ownerReferences")


class _Answer(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_ANSWER = msgspec.json.Decoder(_Answer)
