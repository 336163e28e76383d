"""`explain`: the fields of a kind, from its schema."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pilotage.errors import NoMatch
from pilotage.kit.arguments.reads import ExplainArguments
from pilotage.kit.console.errors import CommandError
from pilotage.kit.schemas import NAMED, TYPE_TEXT, schema_of
from pilotage.kit.selection import of_type
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.mapping.mapper import RESTMapping

_ENUMS = 4


async def run(session: CommandSession, options: ExplainArguments) -> int:
    mapping, path = _found(session, options)
    schema = await schema_of(session, mapping)
    if schema is None:
        raise CommandError(f'the server has no schema of "{options.resource}"')
    lines = [f"GROUP:      {mapping.gvk.group}"] if mapping.gvk.group else []
    lines += [f"KIND:       {mapping.gvk.kind}", f"VERSION:    {mapping.gvk.version}", ""]
    try:
        for name in path:
            schema = _inside(schema, name)
    except CommandError:
        session.output.line("\n".join(lines))  # as kubectl, before the error
        raise
    lines += [f"FIELD: {path[-1]} <{type_of(schema)}>", *_all_values(schema), ""] if path else []
    lines += ["DESCRIPTION:", *_description(schema)]
    fields = list(_fields(_entered(schema), 1, options.recursive))
    lines += ["FIELDS:", *fields] if fields else []
    session.output.write("\n".join(lines) + "\n\n")
    session.output.flush()
    return 0


def _found(session: CommandSession, options: ExplainArguments) -> tuple[RESTMapping, list[str]]:
    name, path = _split(session, options.resource)
    mappings = of_type(session, name)
    if options.api_version:
        try:
            version = GroupVersion.parse(options.api_version)
        except ValueError as error:
            raise CommandError(f"--api-version: {error}") from None
        mappings = [each for each in session.mapper.mappings_for(name) if each.gvk.group_version == version]
    if not mappings:
        raise NoMatch(f'couldn\'t find resource for "{options.resource}" in {options.api_version}')
    return mappings[0], path


def _split(session: CommandSession, text: str) -> tuple[str, list[str]]:
    """The type, which may be `TYPE.GROUP` or `TYPE.VERSION.GROUP`, and the path of a field in it."""
    words = text.split(".")
    for end in range(len(words), 1, -1):
        name = ".".join(words[:end])
        try:
            session.mapper.mapping_for(name)
        except NoMatch:
            continue
        return name, words[end:]
    return words[0], words[1:]


def _inside(schema: Document, name: str) -> Document:
    properties = _entered(schema).get("properties") or {}
    if name not in properties:
        raise CommandError(f'field "{name}" does not exist')
    found: Document = properties[name]
    return found


def _entered(schema: Document) -> Document:
    """The schema whose fields are listed: of the items of a list, of the values of a map."""
    while True:
        if isinstance(schema.get("items"), dict):
            schema = schema["items"]
        elif isinstance(schema.get("additionalProperties"), dict):
            schema = schema["additionalProperties"]
        else:
            return schema


def type_of(schema: Document) -> str:
    """The type of a field as people write it: `string`, `[]Object`, `map[string]string`."""
    if isinstance(schema.get("items"), dict):
        return f"[]{type_of(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map[string]{type_of(schema['additionalProperties'])}"
    kind = schema.get("type") or "object"
    return str(schema.get(NAMED) or "Object") if kind == "object" else str(kind)


def _description(schema: Document) -> list[str]:
    texts: list[str] = []
    here: Document | None = schema
    while here is not None:
        for key in ("description", TYPE_TEXT):
            if here.get(key) and here[key] not in texts:
                texts.append(here[key])
        inner = here.get("items") or here.get("additionalProperties")
        here = inner if isinstance(inner, dict) else None
    text = "".join(f"{each}\n" for each in texts) or "<empty>"
    return [f"    {line}" for line in _wrapped(text, 76)]


def _fields(schema: Document, level: int, recursive: bool) -> Iterator[str]:
    indent = "  " * level
    properties = schema.get("properties") or {}
    for name in sorted(properties):
        field = properties[name]
        required = " -required-" if name in (schema.get("required") or ()) else ""
        yield f"{indent}{name}\t<{type_of(field)}>{required}"
        yield from _values(field, indent)
        if recursive:
            yield from _fields(_entered(field), level + 1, recursive)
            continue
        text = field.get("description") or "<no description>"
        yield from (f"{indent}  {line}".rstrip() if line else "" for line in _wrapped(text, 78 - 2 * level))
        yield ""


def _values(schema: Document, indent: str) -> list[str]:
    if not schema.get("enum"):
        return []
    shown = [_value(each) for each in schema["enum"][:_ENUMS]]
    more = ", ...." if len(schema["enum"]) > _ENUMS else ""
    return [f"{indent}enum: {', '.join(shown)}{more}"]


def _all_values(schema: Document) -> list[str]:
    return ["ENUM:", *(f"    {_value(each)}" for each in schema["enum"])] if schema.get("enum") else [""]


def _value(value: object) -> str:
    return '""' if value == "" else str(value)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters. Paragraphs stay apart, and the items of a list."""
    wrapper = textwrap.TextWrapper(
        width, break_long_words=False, break_on_hyphens=False, expand_tabs=False, replace_whitespace=False
    )
    return [line for paragraph in text.split("\n") for line in wrapper.wrap(paragraph) or [""]]
