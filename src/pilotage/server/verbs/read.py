"""Get and list: the state now, not older than a version, or exactly at one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from pilotage.errors import (
    ApiError,
    BadRequest,
    Cause,
    Compacted,
    FutureRevision,
    Gone,
    Status,
    StatusDetails,
    Timeout,
    TooManyRequests,
)
from pilotage.meta.causes import forbidden, invalid_error, not_supported
from pilotage.meta.kinds import GroupKind
from pilotage.meta.values import Value
from pilotage.rest.request import APIRequest, Deadline, Form, ListOptions
from pilotage.rest.response import Page, Response
from pilotage.server import records
from pilotage.server.verbs import tokens
from pilotage.server.verbs.identity import version_number
from pilotage.server.verbs.selection import Selection
from pilotage.storage.interface import Entry, Snapshot, Storage

if TYPE_CHECKING:
    from pilotage.server.conversion import Converter
    from pilotage.server.resources import ResourceInfo

WAIT_SECONDS = 3.0
"""How long a read waits for a version that has not happened yet."""
_LIST_OPTIONS = GroupKind("meta.k8s.io", "ListOptions")
_CONTINUE_EXPIRED = "The provided continue parameter is too old to display a consistent list result."
_CHUNK = 500


class ReadContext(Protocol):
    """The part of the registry context that reading needs."""

    @property
    def storage(self) -> Storage: ...

    @property
    def prefix(self) -> str: ...

    @property
    def converter(self) -> Converter: ...

    async def entry(self, info: ResourceInfo, request: APIRequest) -> Entry:
        """The object that a request names. Raises NotFound."""

    async def damaged(self, prefix: str) -> Sequence[str]:
        """A warning for each object under a prefix that cannot be read."""


class ObjectReader(Value, frozen=True):
    """Answers get and list."""

    context: ReadContext

    async def get(self, info: ResourceInfo, request: APIRequest) -> Response:
        version = request.options.resource_version
        if version and version != "0":
            await self.reached(version_number(version), request.deadline)
        entry = await self.context.entry(info, request)
        if info.conversion is not None:
            entry = (await self.context.converter.entries([entry], info))[0]
        return Response(shaped(info, records.as_read(entry, info), request.form), warnings=info.warnings)

    async def list(self, info: ResourceInfo, request: APIRequest) -> Page:
        try:
            page = await self.selected(info, request)
        except records.DroppedVersion as error:
            raise cannot_list(error, info) from error
        left_out = await self.context.damaged(self.context.prefix + info.prefix(request.namespace))
        return replace(page, warnings=(*page.warnings, *left_out)) if left_out else page

    async def selected(self, info: ResourceInfo, request: APIRequest) -> Page:
        """The list of a request. Raises DroppedVersion."""
        options = request.options
        selection = Selection.of(info, options, check_list_options)
        prefix = self.context.prefix + info.prefix(request.namespace)
        single = bool(selection.name) and (bool(request.namespace) or not info.namespaced)
        start, revision = await self._position(request, prefix, single=single)
        limit = 0 if options.resource_version == "0" else options.limit
        try:
            page = await self._page(selection, prefix, start, limit, revision)
            if info.conversion is not None:
                page = replace(page, entries=await self.context.converter.entries(page.entries, info))
        except Compacted as error:
            raise expired(options, prefix, start) from error
        except FutureRevision as error:
            raise too_large(error.revision, error.current) from error
        return self._answer(info, request, page, prefix)

    def _answer(self, info: ResourceInfo, request: APIRequest, page: _Selected, prefix: str) -> Page:
        token = ""
        if page.next_key:
            token = tokens.write(tokens.ContinueToken(page.revision, page.next_key[len(prefix) :]))
        items = records.all_as_read(page.entries, info)
        if info.rules.decorated or request.form is Form.METADATA:
            items = [shaped(info, item, request.form) for item in items]
        return Page(
            items=items,
            resource_version=str(page.revision),
            continue_token=token,
            remaining_item_count=page.remaining if token and page.remaining else None,
            warnings=info.warnings,
            list_kind=info.list_kind,
        )

    async def _position(self, request: APIRequest, prefix: str, *, single: bool) -> tuple[str, int]:
        """The first key and the revision (0: now) of a list. A list of a `single` object has no pages."""
        options = request.options
        if options.continue_token:
            token = tokens.read(options.continue_token)
            if options.resource_version not in ("", "0"):
                raise BadRequest("specifying resource version is not allowed when using continue")
            return prefix + token.start, 0 if token.revision == tokens.LATEST else token.revision
        version, match = options.resource_version, options.resource_version_match
        if not version or version == "0":
            return "", 0
        number = version_number_or_bad(version)
        if match == "Exact" or (not match and options.limit and not single):
            return "", number
        await self.reached(number, request.deadline)
        return "", 0

    async def _page(self, selection: Selection, prefix: str, start: str, limit: int, revision: int) -> _Selected:
        storage = self.context.storage
        if selection.everything:
            snapshot = await storage.list(prefix, start=start, limit=limit, revision=revision)
            return _Selected(snapshot.revision, list(snapshot.entries), _after(snapshot), snapshot.remaining)
        chosen: list[Entry] = []
        while True:
            chunk = max(limit, _CHUNK) if limit else 0
            snapshot = await storage.list(prefix, start=start, limit=chunk, revision=revision)
            revision, entries = snapshot.revision, snapshot.entries
            if selection.info.conversion is not None:  # the selection may depend on the version
                entries = await self.context.converter.entries(entries, selection.info)
            for index, entry in enumerate(entries, 1):
                if selection.matches(entry):
                    chosen.append(entry)
                    if len(chosen) == limit:
                        # As in etcd: a full page has a token wherever keys are left, selected or not.
                        more = not selection.name and (index < len(snapshot.entries) or snapshot.remaining)
                        return _Selected(revision, chosen, entry.key + "\x00" if more else "", 0)
            start = _after(snapshot)
            if not start:
                return _Selected(revision, chosen, "", 0)

    async def reached(self, revision: int, deadline: Deadline | None = None) -> None:
        """Wait, a little and not beyond a deadline, until the storage has reached a revision. Raises Timeout."""
        storage = self.context.storage
        if revision <= storage.revision:
            return
        import asyncio  # a read that need not wait does not load these

        from pilotage.server import deadlines

        end = asyncio.get_running_loop().time() + WAIT_SECONDS
        first = deadline if deadline is not None and deadline.time < end else None
        try:
            async with asyncio.timeout_at(first.time if first is not None else end):
                async for _ in storage.watch("", since=storage.revision):
                    if storage.revision >= revision:
                        return
        except TimeoutError:
            if first is not None:
                raise deadlines.exceeded(first) from None
            raise too_large(revision, storage.revision) from None


class _Selected(Value, frozen=True):
    revision: int
    entries: Sequence[Entry]
    next_key: str
    remaining: int


def _after(snapshot: Snapshot) -> str:
    return snapshot.entries[-1].key + "\x00" if snapshot.remaining and snapshot.entries else ""


def shaped(info: ResourceInfo, data: bytes, form: Form) -> bytes:
    """An object for clients, in the requested form."""
    if info.rules.decorated:
        data = info.strategy.decorate(data)
    return records.metadata_only(data, hidden=info.rules.hidden_annotations) if form is Form.METADATA else data


def check_list_options(options: ListOptions) -> None:
    """Refuse combinations of options that contradict each other."""
    causes = _match_causes(options) if options.resource_version_match else []
    if options.send_initial_events is not None:
        causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise invalid_error(_LIST_OPTIONS, "", causes)


def _match_causes(options: ListOptions) -> list[Cause]:
    version, match = options.resource_version, options.resource_version_match
    causes: list[Cause] = []

    def refuse(detail: str) -> None:
        causes.append(forbidden("resourceVersionMatch", detail))

    if not version:
        refuse("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if options.continue_token:
        refuse("resourceVersionMatch is forbidden when continue is provided")
    if match not in ("Exact", "NotOlderThan"):
        causes.append(not_supported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
    if match == "Exact" and version == "0":
        refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    return causes


def cannot_list(error: records.DroppedVersion, info: ResourceInfo) -> TooManyRequests:
    """The 429 for a list or a watch with an object that cannot be converted: kube-apiserver cannot fill its cache."""
    message = f"storage is (re)initializing: failed to list {info.api_version}, Kind={info.gvk.kind}: {error}"
    return TooManyRequests(message, details=StatusDetails(retry_after_seconds=1))


def version_number_or_bad(text: str) -> int:
    """As `version_number`, but raises BadRequest (400), as for lists."""
    try:
        return version_number(text)
    except ApiError as error:
        raise BadRequest(f"invalid resource version: {error}") from None


def expired(options: ListOptions, prefix: str, start: str) -> Gone:
    """The 410 for an expired snapshot, with a token that continues the list inconsistently."""
    if not options.continue_token and not options.limit:
        return Gone("The resourceVersion for the provided list is too old.")
    if not options.continue_token:
        return Gone(f"{_CONTINUE_EXPIRED} You can start a new list without the continue parameter.")
    token = tokens.write(tokens.ContinueToken(tokens.LATEST, start[len(prefix) :]))
    message = (
        f"{_CONTINUE_EXPIRED} You can start a new list without the continue parameter, or use the continue token in "
        "this response to retrieve the remainder of the results. Continuing with the provided token results in an "
        "inconsistent list - objects that were created, modified, or deleted between the time the first chunk was "
        "returned and now may show up in the list."
    )
    return Gone(status=Status(410, "Expired", message, continue_token=token))


def too_large(revision: int, current: int) -> Timeout:
    """The 504 for a version from the future."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    details = StatusDetails(causes=(cause,), retry_after_seconds=1)
    return Timeout(f"Timeout: Too large resource version: {revision}, current: {current}", details=details)
