"""Records which permissions the requests of a program need, for `pilotage rbac --record`.

It is on if the environment variable names a folder. Each process writes a file of its own there, a line for each
permission and place of the program that needs it.
"""

from __future__ import annotations

import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, Transport, TransportWrapper
from pilotage.rest.permission import Permission, permissions_of
from pilotage.telemetry import stack

if TYPE_CHECKING:
    from pilotage.cluster.cluster import Cluster

ENVIRONMENT = "PILOTAGE_RECORD_REQUESTS"
_PACKAGE = Path(__file__).parents[1]
_REFLECTOR = f"{_PACKAGE / 'reflector'}{os.sep}"
_OUTSIDE = tuple(f"{_PACKAGE / name}{os.sep}" for name in ("testing", "cli"))
"""Parts of the library whose requests are not requests of the program: they prepare tests and commands."""


class RecordedPermission(msgspec.Struct, frozen=True):
    """A permission that was needed, and the line of the program that needed it."""

    verb: str
    group: str
    resource: str
    namespace: str
    place: str
    """`FILE:LINE`; empty if the library sent the request on its own."""


class Recorder:
    """Writes each permission once to a file."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / f"{os.getpid()}.jsonl"
        self._seen: set[RecordedPermission] = set()

    def note(self, request: APIRequest) -> None:
        """Record a request. Requests of informers are skipped: `note_read` records the line that needs the informer."""
        found = _place()
        if found is not None:
            for permission in permissions_of(request):
                self._add(permission, request.namespace, found)

    def note_read(self, resource: GroupVersionResource) -> None:
        """Record a read from a cache, whose informer lists and watches."""
        place = _place() or ""
        for verb in ("list", "watch"):
            self._add(Permission(resource.group, resource.resource, verb), "", place)

    def _add(self, needed: Permission, namespace: str, place: str) -> None:
        seen = RecordedPermission(needed.verb, needed.group, needed.resource, namespace, place)
        if seen not in self._seen:
            self._seen.add(seen)
            with self._file.open("ab") as file:  # written at once, so that it is not lost if the process is killed
                file.write(msgspec.json.encode(seen) + b"\n")


def attach_recorder(cluster: Cluster) -> None:
    """Record the requests and the cached reads of a cluster, if this process records."""
    folder = os.environ.get(ENVIRONMENT)
    if not folder:
        return
    recorder = _recorder(folder, os.getpid())

    async def note_read(kind: Kind) -> None:
        recorder.note_read((await cluster.client.rest_mapping(gvk_of(kind))).resource)

    cluster.wrap_transport(partial(RecordingTransport, recorder=recorder))
    cluster.on_cached_read = note_read


@cache
def _recorder(folder: str, process: int) -> Recorder:  # by process, because a fork has a file of its own
    return Recorder(folder)


class RecordingTransport(TransportWrapper):
    """Records every request, then sends it."""

    def __init__(self, inner: Transport, recorder: Recorder) -> None:
        super().__init__(inner)
        self._recorder = recorder

    def prepare(self, request: APIRequest) -> APIRequest:
        self._recorder.note(request)
        return request


def _place() -> str | None:
    """The line of the program that sends a request; None for the requests of an informer."""
    outside = ""
    for frame in stack.frames_of_the_loop(sys._getframe(2)):
        file = frame.f_code.co_filename
        if file.startswith(_REFLECTOR):
            return None
        if stack.is_of_the_program(frame):
            return f"{file}:{frame.f_lineno}"
        if file.startswith(_OUTSIDE):  # it may be only a wrapper between the program and the client
            outside = f"{file}:{frame.f_lineno}"
    return outside
