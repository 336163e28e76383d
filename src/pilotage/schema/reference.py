"""A reference page in Markdown for the API that CustomResourceDefinitions define."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

_NOT_SHOWN = ("apiVersion", "kind", "metadata")
_LIMITS = (
    ("minLength", "length at least {}"),
    ("maxLength", "length at most {}"),
    ("minItems", "items: at least {}"),
    ("maxItems", "items: at most {}"),
    ("minProperties", "entries: at least {}"),
    ("maxProperties", "entries: at most {}"),
    ("multipleOf", "multiple of {}"),
)


def reference(documents: Sequence[Mapping[str, Any]]) -> str:
    """The page as Markdown: for each kind its names, and for each version its fields, rules and columns."""
    return "\n".join(_page(documents)).rstrip() + "\n"


@dataclass(frozen=True, slots=True)
class _Row:
    """One field: its path, its schema, and whether it is required."""

    path: str
    schema: Mapping[str, Any]
    required: bool = False


def _page(documents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "# API reference"
    for document in documents:
        spec = document["spec"]
        yield from ("", f"## {spec['names']['kind']}", "")
        yield from _names(document)
        for version in spec["versions"]:
            yield from _version(spec, version)


def _names(document: Mapping[str, Any]) -> Iterator[str]:
    spec = document["spec"]
    names = spec["names"]
    yield f"- Resource: `{document['metadata']['name']}`"
    yield f"- Scope: {spec['scope']}"
    for title, key in (("Short names", "shortNames"), ("Categories", "categories")):
        if found := names.get(key):
            yield f"- {title}: {', '.join(f'`{name}`' for name in found)}"


def _version(spec: Mapping[str, Any], version: Mapping[str, Any]) -> Iterator[str]:
    schema = version["schema"]["openAPIV3Schema"]
    yield from ("", f"### {spec['names']['kind']} {spec['group']}/{version['name']}", "")
    if notes := list(_notes(version)):
        yield from (" ".join(notes), "")
    if schema.get("description"):
        yield from (schema["description"], "")
    yield "| Field | Type | Required | Default | Constraints | Description |"
    yield "|---|---|---|---|---|---|"
    rows = list(_rows("", schema))
    for row in rows:
        yield _line(row)
    rules = [(row.path, rule) for row in (_Row("", schema), *rows) for rule in _rules(row.schema)]
    if rules:
        yield from ("", "Rules:", "")
        for path, rule in rules:
            message = f": {rule['message']}" if rule.get("message") else ""
            yield f"- {_code(path or '.')}: {_code(' '.join(rule['rule'].split()))}{message}"
    if columns := version.get("additionalPrinterColumns"):
        yield from ("", f"`kubectl get` shows: {', '.join(column['name'] for column in columns)}.")


def _notes(version: Mapping[str, Any]) -> Iterator[str]:
    if not version.get("served"):
        yield "This version is not served."
    if version.get("storage"):
        yield "Objects are stored in this version."
    if version.get("deprecated"):
        yield f"**Deprecated.** {version.get('deprecationWarning', '')}".rstrip()
    subresources = version.get("subresources") or {}
    if subresources:
        yield f"Subresources: {', '.join(f'`{name}`' for name in subresources)}."
    if fields := version.get("selectableFields"):
        yield f"Field selectors: {', '.join(_code(field['jsonPath']) for field in fields)}."


def _rows(path: str, schema: Mapping[str, Any]) -> Iterator[_Row]:
    """The fields inside a schema, each followed by those inside it."""
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        if path or name not in _NOT_SHOWN:
            yield _Row(f"{path}.{name}", inner, name in required)
            yield from _rows(f"{path}.{name}", inner)
    for key, step in (("items", "[]"), ("additionalProperties", "{}")):
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            # The type of a plain item is in the row of its list; one with constraints or rules has a row.
            if set(inner) - {"type", "format", "description", "properties", "required"} and not _nested(inner):
                yield _Row(path + step, inner)
            yield from _rows(path + step, inner)


def _nested(schema: Mapping[str, Any]) -> bool:
    return "properties" in schema and not any(True for _ in _constraints(schema)) and not _rules(schema)


def _line(row: _Row) -> str:
    schema = row.schema
    cells = (
        _code(row.path),
        _type(schema),
        "yes" if row.required else "",
        _code(_json(schema["default"])) if "default" in schema else "",
        "; ".join(_constraints(schema)),
        _text(schema),
    )
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _type(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if schema.get("x-kubernetes-embedded-resource"):
        return "Kubernetes object"
    type_ = str(schema.get("type", "any"))
    if type_ == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"map of {_type(schema['additionalProperties'])}"
    format_ = schema.get("format")
    return f"{type_} ({format_})" if format_ else type_


def _constraints(schema: Mapping[str, Any]) -> Iterator[str]:
    if values := schema.get("enum"):
        yield f"one of {', '.join(_code(_json(value)) for value in values)}"
    for key, exclusive, words in (
        ("minimum", "exclusiveMinimum", ("at least", "above")),
        ("maximum", "exclusiveMaximum", ("at most", "below")),
    ):
        if key in schema:
            yield f"{words[bool(schema.get(exclusive))]} {schema[key]}"
    for key, words_ in _LIMITS:
        if key in schema:
            yield words_.format(schema[key])
    if pattern := schema.get("pattern"):
        yield f"matches {_code(pattern)}"
    if schema.get("nullable"):
        yield "may be null"
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        yield "unknown fields are kept"
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "map":
        yield f"one item for each {', '.join(schema['x-kubernetes-list-map-keys'])}"
    elif list_type == "set":
        yield "each item once"


def _rules(schema: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    rules: Sequence[Mapping[str, Any]] = schema.get("x-kubernetes-validations") or ()
    return rules


def _text(schema: Mapping[str, Any]) -> str:
    parts = [f"**{schema['title']}.**" if schema.get("title") else "", schema.get("description", "")]
    if "example" in schema:
        parts.append(f"Example: {_code(_json(schema['example']))}.")
    if docs := schema.get("externalDocs"):
        parts.append(f"[{docs.get('description') or 'More'}]({docs['url']})")
    return " ".join(part for part in parts if part)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _code(text: str) -> str:
    """A code span, fenced with more backticks than there are in it."""
    fence = "`"
    while fence in text:
        fence += "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _cell(text: str) -> str:
    """Text that stays in one cell of a table."""
    return "<br>".join(" ".join(part.split()) for part in text.split("\n\n")).replace("|", "\\|")
