"""`get`: prints objects, as a table or in another format, and watches them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import groupby

from pilotage.errors import ApiError, BadRequest, NotFound, PilotageError
from pilotage.kit.arguments.flags import Selection
from pilotage.kit.arguments.reads import GetArguments
from pilotage.kit.console.errors import UsageError
from pilotage.kit.exits import raise_all, reworded
from pilotage.kit.printers.documents import kind_of
from pilotage.kit.printers.output import is_table, printer_of
from pilotage.kit.printers.table import KindTables, printed
from pilotage.kit.selection import SelectedObjects, selected
from pilotage.kit.session import CommandSession, decode
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import APIRequest, Form, ListOptions, Verb

CHUNK = 500


async def run(session: CommandSession, options: GetArguments) -> int:
    """Print what the arguments select."""
    errors: list[PilotageError] = []
    chosen = await chosen_by(session, options, errors)
    if options.watch or options.watch_only:
        from pilotage.kit.watching import watch

        raise_all(errors)
        return await watch(session, options, chosen)
    if is_table(options.output):
        await _print_tables(session, options, chosen, errors)
    else:
        await _print_documents(session, options, chosen, errors)
    raise_all(errors)
    return 0


async def chosen_by(session: CommandSession, options: Selection, errors: list[PilotageError]) -> list[SelectedObjects]:
    """What the arguments or the files select. `errors` gets the errors of single objects of files. Raises
    CommandError."""
    if not options.filename:
        found = selected(session, options.resources)
        if any(each.name for each in found):
            check_names(options)
        return found
    if options.resources:
        raise UsageError(
            "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well"
        )
    from pilotage.kit.commands.files import selected_by_files

    return await selected_by_files(session, options, errors)


async def objects_of(session: CommandSession, options: Selection, errors: list[PilotageError]) -> list[SelectedObjects]:
    """The same, each object by its name. Raises CommandError."""
    found = await chosen_by(session, options, errors)
    return found if all(each.name for each in found) else await listed(session, options, found)


async def named_objects(
    session: CommandSession, options: Selection, errors: list[PilotageError]
) -> list[SelectedObjects]:
    """The same, for a command that changes only objects that are named. Raises CommandError."""
    found = await chosen_by(session, options, errors)
    if not all(each.name for each in found):
        raise UsageError(f"give the name of the object to {options.object_command}")
    return found


async def listed(session: CommandSession, options: Selection, chosen: list[SelectedObjects]) -> list[SelectedObjects]:
    """The objects of the types that are chosen, each by its name: those with the labels and fields of the options, or
    with `--all`. Raises CommandError."""
    if not (options.selector or options.field_selector or options.all):
        raise UsageError("resource(s) were provided, but no name was specified")
    found: list[SelectedObjects] = []
    for each in chosen:
        try:
            items, _ = await session.list(each.mapping, scope(session, each.mapping, options), list_options(options))
        except ApiError as error:
            raise about_list(error, each.mapping, options) from None
        names = [(item["metadata"]["name"], item["metadata"].get("namespace") or "") for item in items]
        found += [SelectedObjects(each.mapping, name, namespace) for name, namespace in names]
    return found


def check_names(options: Selection) -> None:
    """Refuse options that select objects beside their names."""
    if options.all_namespaces:
        raise UsageError("a resource cannot be retrieved by name across all namespaces")
    if options.selector or options.field_selector or options.all:
        raise UsageError("name cannot be provided when a selector is specified")


def list_options(options: Selection, include_object: str = "") -> ListOptions:
    """The options of a list, as the flags set them."""
    return ListOptions(
        label_selector=options.selector,
        field_selector=options.field_selector,
        limit=options.chunk_size,
        include_object=include_object,
    )


def scope(session: CommandSession, mapping: RESTMapping, options: Selection) -> str:
    """The namespace of a list; empty for all."""
    if not mapping.namespaced or options.all_namespaces:
        return ""
    return session.namespace


async def _print_tables(
    session: CommandSession,
    options: GetArguments,
    chosen: list[SelectedObjects],
    errors: list[PilotageError],
) -> None:
    answers = [
        KindTables(
            kind_of(mapping.gvk),
            mapping.namespaced,
            [table async for table in _tables(session, mapping, list(group), options, errors)],
        )
        for mapping, group in groupby(chosen, key=lambda each: each.mapping)
    ]
    text = printed(answers, options)
    session.output.write(text)
    session.output.flush()
    if not text and not errors and not options.ignore_not_found:
        _print_nothing(session, options, chosen)


def _print_nothing(session: CommandSession, options: GetArguments, chosen: list[SelectedObjects]) -> None:
    everywhere = options.all_namespaces or not any(each.mapping.namespaced for each in chosen)
    where = "" if everywhere else f" in {session.namespace} namespace."
    session.errors.line(f"No resources found{where}")


async def _tables(
    session: CommandSession,
    mapping: RESTMapping,
    chosen: list[SelectedObjects],
    options: GetArguments,
    errors: list[PilotageError],
) -> AsyncIterator[Document]:
    include = "Object" if options.sort_by else ""
    for each in chosen:
        try:
            if not each.name:
                listing = list_options(options, include_object=include)
                async for table in session.tables(mapping, scope(session, mapping, options), listing):
                    yield table
                continue
            request = APIRequest(
                Verb.GET,
                mapping.resource,
                session.namespace_of(mapping, each.namespace),
                each.name,
                form=Form.TABLE,
                options=ListOptions(include_object=include),
            )
            yield decode((await session.transport.call(request)).body)
        except ApiError as error:
            _keep(error if each.name else about_list(error, mapping, options), options, errors)


def _keep(error: ApiError, options: GetArguments, errors: list[PilotageError]) -> None:
    if not (options.ignore_not_found and isinstance(error, NotFound)):
        errors.append(error)


def about_list(error: ApiError, mapping: RESTMapping, options: Selection) -> ApiError:
    """The error of a list, with its selectors."""
    if not isinstance(error, BadRequest | NotFound):
        return error
    resource = f"{mapping.resource.group_version}, Resource={mapping.resource.resource}"
    what = f'Unable to list "{resource}"'
    if options.selector or options.field_selector:
        what = (
            f'Unable to find "{resource}" that match label selector "{options.selector}", field selector '
            f'"{options.field_selector}"'
        )
    return reworded(error, f"{what}: {error.status.message}")


async def _print_documents(
    session: CommandSession,
    options: GetArguments,
    chosen: list[SelectedObjects],
    errors: list[PilotageError],
) -> None:
    single = len(chosen) == 1 and bool(chosen[0].name) and not errors
    write = printer_of(options.output, headers=not options.no_headers, managed_fields=options.show_managed_fields)
    found = await _documents(session, options, chosen, errors)
    if options.sort_by and found:
        from pilotage.kit.printers.sorting import sort_key

        found.sort(key=sort_key(options.sort_by, found))
    ignored = options.ignore_not_found and not errors and all(each.name for each in chosen)
    if not found and (single or ignored):
        return
    if found or options.output.partition("=")[0] in ("json", "yaml") or not errors:
        session.output.write(write(found, not single))
    session.output.flush()


async def _documents(
    session: CommandSession,
    options: GetArguments,
    chosen: list[SelectedObjects],
    errors: list[PilotageError],
) -> list[Document]:
    """The objects that are selected. `errors` gets the errors of objects that could not be read."""
    found: list[Document] = []
    for each in chosen:
        try:
            if each.name:
                found.append(await session.get(each.mapping, each.name, each.namespace))
            else:
                items, _ = await session.list(
                    each.mapping, scope(session, each.mapping, options), list_options(options)
                )
                found += items
        except ApiError as error:
            _keep(error if each.name else about_list(error, each.mapping, options), options, errors)
    return found
