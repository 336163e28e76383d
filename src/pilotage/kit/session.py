"""One server or storage as a command sees it: requests for documents, and the terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from pilotage.errors import BadRequest, Invalid, NoMatch, NotFound, RequestTooLarge
from pilotage.kit.console.terminal import Terminal, standard_error, standard_output
from pilotage.kit.printers.documents import kind_of
from pilotage.kit.recorded.logfile import log_file_of
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind, GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping
from pilotage.rest.request import APIRequest, DeleteOptions, Form, ListOptions, PatchType, Verb, WriteOptions
from pilotage.rest.response import Response
from pilotage.rest.transport import Transport

if TYPE_CHECKING:
    from pilotage.kit.arguments.flags import Arguments
    from pilotage.kit.arguments.planning import Plan
    from pilotage.kit.execution import Program

decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode


class CommandSession(msgspec.Struct):
    """Where a command works. Commands are coroutines over it; they do not know what is behind the transport."""

    transport: Transport
    """Answers a request with `Form.TABLE` by `call`, also for lists."""
    mapper: RESTMapper
    namespace: str
    """Where objects are that name no namespace."""
    output: Terminal
    errors: Terminal
    kinds: frozenset[GroupKind] | None = None
    """The kinds that commands may name; None: all that are served."""
    field_manager: str = "pilotage"
    log_file: str = ""
    """The file with the log of reconciles; empty: there is none."""
    schemas: dict[str, Any] = {}
    """Schemas of kinds that were read before."""
    warned: set[str] = set()
    """The warnings about reads that were printed."""
    has_written: bool = False
    """Whether the server has accepted a write."""

    async def mapping(self, gvk: GroupVersionKind) -> RESTMapping:
        """The resource of a kind, which may have become served in this command. Raises NoMatch."""
        try:
            return self.mapper.rest_mapping(gvk)
        except NoMatch:
            self.mapper.replace(await self.resources())
        return self.mapper.rest_mapping(gvk)

    async def mapping_of_any(self, gvk: GroupVersionKind) -> RESTMapping:
        """The same, also for a kind that commands may not name: an owner may be of any. Raises NoMatch."""
        if self.kinds is None or gvk.group_kind in self.kinds:
            return await self.mapping(gvk)
        return RESTMapper(await self.transport.resources()).rest_mapping(gvk)

    async def resources(self) -> list[RESTMapping]:
        """What commands may name, as it is served now."""
        found = await self.transport.resources()
        return [each for each in found if self.kinds is None or each.gvk.group_kind in self.kinds]

    async def get(self, mapping: RESTMapping, name: str, namespace: str = "", subresource: str = "") -> Document:
        """One object, or a subresource of it. Raises NotFound."""
        response = await self.transport.call(
            APIRequest(Verb.GET, mapping.resource, self.namespace_of(mapping, namespace), name, subresource)
        )
        document: Document = decode(response.body)
        return document

    async def find(self, mapping: RESTMapping, name: str, namespace: str = "") -> Document | None:
        """One object; None if it does not exist."""
        try:
            return await self.get(mapping, name, namespace)
        except NotFound:
            return None

    async def list(
        self, mapping: RESTMapping, namespace: str, options: ListOptions | None = None
    ) -> tuple[list[Document], str]:
        """All objects of a resource in a namespace (empty: in all), and the version of the list."""
        found: list[Document] = []
        options = options or ListOptions()
        while True:
            request = APIRequest(Verb.LIST, mapping.resource, namespace, options=options)
            with _advised(mapping, request):
                page = await self.transport.list(request)
            self._warn(page.warnings)
            kind = {"apiVersion": mapping.gvk.api_version, "kind": mapping.gvk.kind}
            found += [kind | decode(item) for item in page.items]  # items of a typed list leave their kind out
            if not page.continue_token:
                return found, page.resource_version
            options = msgspec.structs.replace(options, continue_token=page.continue_token)

    async def tables(self, mapping: RESTMapping, namespace: str, options: ListOptions) -> AsyncIterator[Document]:
        """The pages of a list as Tables."""
        while True:
            request = APIRequest(Verb.LIST, mapping.resource, namespace, form=Form.TABLE, options=options)
            response = await self._call(mapping, request)
            self._warn(response.warnings)
            table = decode(response.body)
            yield table
            token = (table.get("metadata") or {}).get("continue")
            if not token:
                return
            options = msgspec.structs.replace(options, continue_token=token)

    async def create(self, mapping: RESTMapping, document: Document, options: WriteOptions) -> Document:
        namespace = self.namespace_of(mapping, (document.get("metadata") or {}).get("namespace") or "")
        request = APIRequest(Verb.CREATE, mapping.resource, namespace, write=options, body=encode(document))
        return self._written(await self._call(mapping, request))

    async def update(self, mapping: RESTMapping, document: Document, options: WriteOptions) -> Document:
        metadata = document["metadata"]
        namespace, body = self.namespace_of(mapping, metadata.get("namespace") or ""), encode(document)
        request = APIRequest(Verb.UPDATE, mapping.resource, namespace, metadata["name"], write=options, body=body)
        return self._written(await self._call(mapping, request))

    async def patch(
        self,
        mapping: RESTMapping,
        key: tuple[str, str],
        patch: Any,
        kind: PatchType,
        options: WriteOptions,
        subresource: str = "",
    ) -> tuple[Document, int]:
        """Patch the object `(namespace, name)`: what it is then, and the code of the answer (201: created)."""
        request = APIRequest(
            Verb.PATCH,
            mapping.resource,
            self.namespace_of(mapping, key[0]),
            key[1],
            subresource,
            write=options,
            body=encode(patch),
            content_type=kind.value,
        )
        response = await self._call(mapping, request)
        return self._written(response), response.code

    async def delete(self, mapping: RESTMapping, key: tuple[str, str], options: DeleteOptions) -> Document:
        request = APIRequest(Verb.DELETE, mapping.resource, self.namespace_of(mapping, key[0]), key[1], delete=options)
        return self._written(await self._call(mapping, request))

    def report(self, text: str) -> None:
        """Print what was written. If the reader has closed the pipe, as `head` does, the command goes on: its work must
        not end half-way."""
        try:
            self.output.write(text)
            self.output.flush()
        except BrokenPipeError:
            from pilotage.kit.console.process import discard_output

            discard_output()

    def namespace_of(self, mapping: RESTMapping, namespace: str) -> str:
        """The namespace of a request for one object."""
        return (namespace or self.namespace) if mapping.namespaced else ""

    def write_options(self, dry_run: bool = False, **more: Any) -> WriteOptions:
        return WriteOptions(dry_run=dry_run, field_manager=self.field_manager, **more)

    async def _call(self, mapping: RESTMapping, request: APIRequest) -> Response:
        with _advised(mapping, request):
            return await self.transport.call(request)

    def _warn(self, warnings: Iterable[str]) -> None:
        """Print the warnings of a read, each once, as kubectl does."""
        for warning in warnings:
            if warning not in self.warned:
                self.warned.add(warning)
                self.errors.line(f"Warning: {warning}")

    def _written(self, response: Response) -> Document:
        self.has_written = True
        for warning in response.warnings:
            self.errors.line(f"Warning: {warning}")
        document: Document = decode(response.body)
        return document


@contextmanager
def _advised(mapping: RESTMapping, request: APIRequest) -> Iterator[None]:
    """A block whose refusals name what the request had."""
    try:
        yield
    except (BadRequest, Invalid, RequestTooLarge) as error:
        from pilotage.client.advice import add_advice  # only for errors

        add_advice(error, request, mapping.gvk)
        raise


def name_of(mapping: RESTMapping, name: str) -> str:
    """An object as messages name it: `todo.todo.example.com/milk`."""
    return f"{kind_of(mapping.gvk)}/{name}"


async def session_over(
    transport: Transport, plan: Plan, program: Program, options: Arguments, namespace: str = ""
) -> CommandSession:
    """A session over a transport, in a namespace that stands for the program's namespace."""
    session = CommandSession(
        transport,
        RESTMapper([]),
        options.namespace or namespace or program.namespace,
        standard_output(),
        standard_error(),
        program.shown,
        options.field_manager or program.name,
        log_file_of(plan.where.storage, plan.where.tenant),
    )
    session.mapper.replace(await session.resources())
    return session
