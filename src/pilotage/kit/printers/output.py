"""The formats of `-o`, and the printers for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.documents import as_json, as_yaml, list_of, name_with_kind, without_managed_fields
from pilotage.meta.jsonpath import UnfitValueError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.meta.documents import Document

FORMATS = (
    "json",
    "yaml",
    "name",
    "wide",
    "jsonpath",
    "jsonpath-file",
    "jsonpath-as-json",
    "custom-columns",
    "custom-columns-file",
)
OBJECT_FORMATS = tuple(name for name in FORMATS if name != "wide")
"""Those of commands that print no table of the server."""
Printer = Callable[[list["Document"], bool], str]
"""From objects, and whether they are a list, to text."""


def is_table(output: str) -> bool:
    return output in ("", "table", "wide")


def printer_of(
    output: str, *, headers: bool = True, managed_fields: bool = False, formats: Sequence[str] = FORMATS
) -> Printer:
    """The printer of a format that needs whole objects. Raises CommandError, with the `formats` of the command."""
    name, _, argument = output.partition("=")
    shown: Callable[[Document], Document] = (lambda one: one) if managed_fields else without_managed_fields
    match name:
        case "json" | "yaml":
            write = as_json if name == "json" else as_yaml
            return lambda items, many: write(_joined([shown(item) for item in items], many))
        case "name":
            return lambda items, _: "".join(f"{name_with_kind(item)}\n" for item in items)
        case "jsonpath" | "jsonpath-file" | "jsonpath-as-json" | "custom-columns" | "custom-columns-file":
            if not argument:
                raise CommandError(_NO_ARGUMENT["custom-columns" if name.startswith("custom") else "jsonpath"])
            return _with_argument(name, argument, headers, shown)
    raise unknown_format(output, formats)


def unknown_format(output: str, formats: Sequence[str]) -> CommandError:
    """The error for a format that the command does not have."""
    allowed = ",".join(formats)
    return CommandError(
        f'unable to match a printer suitable for the output format "{output}", allowed formats are: {allowed}'
    )


_NO_ARGUMENT = {
    "jsonpath": "template format specified but no template given",
    "custom-columns": "custom-columns format specified but no custom columns given",
}


def _with_argument(name: str, argument: str, headers: bool, shown: Callable[[Document], Document]) -> Printer:
    if name.endswith("-file"):
        argument = _file(argument)
        name = name.removesuffix("-file")
        if name == "custom-columns":
            argument = _from_lines(argument)
    if name == "custom-columns":
        columns = CustomColumns(argument, headers)
        return lambda items, _: columns.text(items)
    if name == "jsonpath-as-json":
        return lambda items, many: _as_json(argument, _joined([shown(item) for item in items], many))
    from pilotage.kit.printers.template import Template

    template = Template(argument)
    return lambda items, many: template.text(_joined([shown(item) for item in items], many))


def _joined(items: list[Document], many: bool) -> Any:
    return list_of(items) if many else items[0]


def _as_json(text: str, document: Any) -> str:
    from pilotage.kit.printers.template import relaxed

    try:
        return as_json(relaxed(text).find(document))
    except UnfitValueError as error:
        raise CommandError(f'error executing jsonpath "{text}": {error}') from None


class CustomColumns:
    """`NAME:.metadata.name,SIZE:.spec.size`: a heading and a path for each column."""

    def __init__(self, text: str, headers: bool = True) -> None:
        from pilotage.kit.printers.table import Columns
        from pilotage.kit.printers.template import relaxed

        specs = [part.partition(":") for part in re.split(r",(?![^\[]*\])", text)]
        wrong = next((head for head, colon, path in specs if not colon or not path), None)
        if wrong is not None:
            raise CommandError(f"unexpected custom-columns spec: {wrong}, expected <header>:<json-path-expr>")
        self._headings = [head for head, _, _ in specs]
        self._paths = [relaxed(path) for _, _, path in specs]
        self._columns = Columns()
        self._headed = not headers

    def text(self, items: Sequence[Document]) -> str:
        rows = [[self._cell(path, item) for path in self._paths] for item in items]
        if not self._headed:
            self._headed = True
            rows.insert(0, self._headings)
        return "".join(f"{line}\n" for line in self._columns.lines(rows))

    def _cell(self, path: Any, item: Document) -> str:
        from pilotage.kit.printers.table import NONE, escaped
        from pilotage.kit.printers.template import value_text

        try:
            found = path.find(item)
        except UnfitValueError:
            found = []
        texts = [
            go_text(value) if isinstance(value, dict | list) else value_text(value)
            for value in found
            if value is not None
        ]
        return escaped(",".join(texts)) or NONE


def go_text(value: Any) -> str:
    """A map or a list as Go prints it, which is what kubectl shows in a column: `map[a:1]`, `[1 2]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _file(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else error
        raise CommandError(f"error reading template {path}, open {path}: {reason}") from error


def _from_lines(text: str) -> str:
    """The file of custom columns: a line of headings, and a line of paths under them."""
    headings, paths = [line.split() for line in [*text.splitlines(), "", ""][:2]]
    if not headings or len(headings) != len(paths):
        raise CommandError(f"number of headers ({len(headings)}) and field specifications ({len(paths)}) don't match")
    return ",".join(f"{head}:{path}" for head, path in zip(headings, paths, strict=True))
