"""`describe`: the details of an object, and its events."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotage.errors import ApiError, NoMatch, NotFound, PilotageError
from pilotage.kit.arguments.reads import DescribeArguments
from pilotage.kit.commands.get import chosen_by, list_options, scope
from pilotage.kit.exits import raise_all
from pilotage.kit.printers.ages import interval, last_seen
from pilotage.kit.printers.output import go_text
from pilotage.kit.printers.table import aligned, escaped
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.meta.redaction import LAST_APPLIED
from pilotage.meta.scalars import times
from pilotage.rest.request import ListOptions

_ELSEWHERE = {"name", "namespace", "labels", "annotations", "managedFields"}
_ACRONYMS = ("API", "URL", "UID", "GUID")
_WORDS = re.compile(r"[A-Z]{3,}[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|-")
_LONGEST = 140


async def run(session: CommandSession, options: DescribeArguments) -> int:
    errors: list[PilotageError] = []
    texts: list[str] = []
    for each in await chosen_by(session, options, errors):
        try:
            documents = await _documents(session, options, each)
            for document in documents:
                lines = await _lines(session, options, document)
                texts.append(aligned(escaped("\n".join(lines))))
        except ApiError as error:
            errors.append(error)
    session.output.write("\n\n".join(texts))
    session.output.flush()
    if not texts and not errors:
        where = "" if options.all_namespaces else f" in {session.namespace} namespace."
        session.errors.line(f"No resources found{where}")
    raise_all(errors)
    return 0


async def _documents(session: CommandSession, options: DescribeArguments, each: SelectedObjects) -> list[Document]:
    """The object with the name, else all whose names begin with it, as in kubectl."""
    if not each.name:
        return (await session.list(each.mapping, scope(session, each.mapping, options), list_options(options)))[0]
    try:
        return [await session.get(each.mapping, each.name, each.namespace)]
    except NotFound:
        items, _ = await session.list(each.mapping, session.namespace_of(each.mapping, each.namespace))
        found = [item for item in items if item["metadata"]["name"].startswith(each.name)]
        if not found:
            raise
        return found


async def _lines(session: CommandSession, options: DescribeArguments, document: Document) -> list[str]:
    metadata = document["metadata"]
    lines = [f"Name:\t{metadata['name']}", f"Namespace:\t{metadata.get('namespace') or ''}"]
    lines += _labels(metadata.get("labels") or {})
    lines += _annotations(metadata.get("annotations") or {})
    document = without_values(document)
    shown = document | {"metadata": {key: value for key, value in metadata.items() if key not in _ELSEWHERE}}
    lines += _content(shown, 0)
    if options.show_events:
        lines += await _events(session, document)
    return lines


def without_values(document: Document) -> Document:
    """A Secret with the sizes of its values in place of them, as kubectl describes it; any other object as it is."""
    if (document.get("apiVersion"), document.get("kind")) != ("v1", "Secret"):
        return document
    values = (document.get("data") or {}).items()  # in base64
    return document | {"data": {key: f"{len(value) // 4 * 3 - value.count('=')} bytes" for key, value in values}}


def _labels(labels: dict[str, str]) -> list[str]:
    pairs = [f"{key}={labels[key]}" for key in sorted(labels)] or ["<none>"]
    return [f"{'Labels:' if not number else ''}\t{pair}" for number, pair in enumerate(pairs)]


def _annotations(annotations: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for key in sorted(set(annotations) - {LAST_APPLIED}):
        start = "" if lines else "Annotations:"
        value = annotations[key].removesuffix("\n")
        if len(value) + len(key) + 2 <= _LONGEST and "\n" not in value:
            lines.append(f"{start}\t{key}: {value}")
            continue
        lines.append(f"{start}\t{key}:")
        lines += [f"\t  {_shortened(part)}" for part in value.split("\n")]
    return lines or ["Annotations:\t<none>"]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST - 2 else f"{text[: _LONGEST - 2]}..."


def _content(document: Document, level: int) -> Iterator[str]:
    indent = "  " * level
    for key in sorted(document):
        value = document[key]
        label = label_of(key)
        if isinstance(value, dict):
            yield f"{indent}{label}:"
            yield from _content(value, level + 1)
        elif isinstance(value, list):
            yield f"{indent}{label}:"
            for item in value:
                if isinstance(item, dict):
                    yield from _content(item, level + 1)
                else:
                    yield f"{indent}  {go_text(item)}"
        else:
            yield f"{indent}{label}:\t{go_text(value)}"


def label_of(field: str) -> str:
    """A field as a heading: `creationTimestamp` is `Creation Timestamp`."""
    if not re.fullmatch(r"[A-Za-z-]+", field):
        return field
    words = _WORDS.findall(field)
    return " ".join(word.upper() if word.upper() in _ACRONYMS else word[:1].upper() + word[1:] for word in words)


async def _events(session: CommandSession, document: Document) -> list[str]:
    events = await events_of(session, document)
    if not events:
        return ["Events:\t<none>"]
    now = times.system_clock()
    lines = ["Events:", "  Type\tReason\tAge\tFrom\tMessage", "  ----\t------\t----\t----\t-------"]
    for event in events:
        source = (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""
        message = (event.get("message") or "").strip()
        lines.append(f"  {event.get('type')}\t{event.get('reason')}\t{interval(event, now)}\t{source}\t{message}")
    return lines


async def events_of(session: CommandSession, document: Document) -> list[Document]:
    """The events about an object, in the order in which they happened last."""
    try:
        mapping = session.mapper.mapping_for("events")
    except NoMatch:
        return []
    metadata = document["metadata"]
    selector = f"involvedObject.name={metadata['name']},involvedObject.kind={document['kind']}"
    if metadata.get("uid"):
        selector += f",involvedObject.uid={metadata['uid']}"
    namespace = metadata.get("namespace") or "default"
    found, _ = await session.list(mapping, namespace, ListOptions(field_selector=selector))
    return sorted(found, key=last_seen)
