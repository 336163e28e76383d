"""JSONPath templates: text, paths in braces, `{range …}{end}`, as `kubectl -o jsonpath` prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.documents import escaped_html
from pilotage.meta.jsonpath import JSONPath, UnfitValueError

_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


@dataclass(frozen=True, slots=True)
class _Text:
    text: str


@dataclass(frozen=True, slots=True)
class _Values:
    paths: tuple[JSONPath | _Text, ...]


@dataclass(frozen=True, slots=True)
class _Range:
    path: JSONPath
    body: tuple[_Text | _Values | _Range, ...]


_Node = _Text | _Values | _Range


class Template:
    """A parsed template. Raises CommandError where it cannot be read, and where it does not fit a document."""

    def __init__(self, text: str) -> None:
        self._text = text
        parts = list(_parts(text))
        self._nodes, rest = self._parse(parts, 0, inside=False)
        assert rest == len(parts)

    def text(self, document: Any) -> str:
        """What the template prints for a document."""
        return "".join(self._printed(self._nodes, document, document))

    def _printed(self, nodes: tuple[_Node, ...], here: Any, root: Any) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, _Text):
                yield node.text
            elif isinstance(node, _Values):
                yield " ".join(value_text(value) for path in node.paths for value in self._found(path, here, root))
            else:
                for value in self._found(node.path, here, root):
                    yield from self._printed(node.body, value, root)

    def _found(self, path: JSONPath | _Text, here: Any, root: Any) -> list[Any]:
        if isinstance(path, _Text):
            return [path.text]
        try:
            return path.find(root if path.text.startswith("$") else here)
        except UnfitValueError as error:
            raise CommandError(f'error executing jsonpath "{self._text}": {error}') from None

    def _parse(self, parts: list[tuple[bool, str]], at: int, *, inside: bool) -> tuple[tuple[_Node, ...], int]:
        nodes: list[_Node] = []
        while at < len(parts):
            is_action, text = parts[at]
            at += 1
            if not is_action:
                nodes.append(_Text(text))
            elif text == "end":
                if not inside:
                    raise self._problem("not in range, nothing to end")
                return tuple(nodes), at
            elif text.startswith("range ") or text == "range":
                body, at = self._parse(parts, at, inside=True)
                nodes.append(_Range(self._path(text[len("range") :].strip()), body))
            else:
                nodes.append(self._values(text))
        if inside:
            raise self._problem("unclosed range: {end} is missing")
        return tuple(nodes), at

    def _values(self, action: str) -> _Values:
        paths: list[JSONPath | _Text] = []
        rest = action
        while rest:
            if (quoted := _QUOTED.match(rest)) is not None:
                text = quoted[1] if quoted[1] is not None else quoted[2]
                paths.append(_Text(re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), text)))
                rest = rest[quoted.end() :].lstrip()
                continue
            end = _end_of_path(rest)
            paths.append(self._path(rest[:end]))
            rest = rest[end:].lstrip()
        return _Values(tuple(paths))

    def _path(self, text: str) -> JSONPath:
        try:
            return JSONPath(text)
        except InvalidDefinition as error:
            raise self._problem(str(error)) from None

    def _problem(self, reason: str) -> CommandError:
        return CommandError(f"error parsing jsonpath {self._text}, {reason}")


def relaxed(text: str) -> JSONPath:
    """A path as options take it: `{.spec.a}`, `.spec.a` or `spec.a`. Raises CommandError."""
    inner = text.strip()
    if inner.startswith("{") != inner.endswith("}"):
        raise CommandError(
            f"unexpected path string {text!r}, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or "
            "'{.name1.name2}'"
        )
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1].strip()
    try:
        return JSONPath(inner if inner.startswith((".", "[", "$", "@")) else f".{inner}")
    except InvalidDefinition as error:
        raise CommandError(str(error)) from None


def value_text(value: Any) -> str:
    """A value as kubectl prints it: text as it is, objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if value is None:
        return "null"
    return escaped_html(json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False))


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Text (False) and what is in braces (True)."""
    at = 0
    while at < len(text):
        start = text.find("{", at)
        if start < 0:
            yield False, text[at:]
            return
        if start > at:
            yield False, text[at:start]
        end = _closing(text, start)
        yield True, text[start + 1 : end].strip()
        at = end + 1


def _closing(text: str, start: int) -> int:
    at = start + 1
    while at < len(text):
        if text[at] in "'\"" and (quoted := _QUOTED.match(text, at)) is not None:
            at = quoted.end()
            continue
        if text[at] == "}":
            return at
        at += 1
    raise CommandError(f"error parsing jsonpath {text}, unclosed action")


def _end_of_path(text: str) -> int:
    """Where a path ends: at a space, or at a quoted text, outside of brackets."""
    depth, at = 0, 0
    while at < len(text):
        if text[at] in "'\"":
            if not depth:
                return at
            if (quoted := _QUOTED.match(text, at)) is not None:
                at = quoted.end()
                continue
        if text[at].isspace() and not depth:
            return at
        depth += (text[at] == "[") - (text[at] == "]")
        at += 1
    return at
