"""Another version of a kind: a copy of its spec in a new module, with conversions to and from the hub.

The hub is the storage version. Types that the spec uses, and the status, are the hub's classes. What cannot be copied
safely raises `CannotEdit`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pilotage.cli.scaffold.layout import ProjectKind, resource_call
from pilotage.cli.scaffold.source import CannotEdit, bound_names, lines_of, parsed


@dataclass(frozen=True, slots=True)
class Copy:
    """The definitions of a new version, and the imports that they need."""

    definitions: str
    imports: list[str]
    """Statements, without the one of the hub's module."""
    classes: list[str]


def copied(hub: ProjectKind, text: str, version: str) -> Copy:
    """The kind in another version. `text` is the source of the hub's module."""
    if len(set(re.findall("\r\n|\r|\n", text))) > 1 or "\t" in text:
        raise CannotEdit("its lines end in different ways, or have tabs")
    module = hub.module.rpartition(".")[2]
    spec = _spec_class(hub)
    used: dict[str, ast.stmt] = {}
    parts = []
    for node in ([spec] if spec else []) + [hub.definition]:
        kept = {spec.name, hub.class_name} if spec else {hub.class_name}
        renames = _renames(node, bound_names(hub.tree), kept, module, used)
        copy = _segment(text, node, renames + (_new_version(node, version, text) if node is hub.definition else []))
        _check_copy(node, copy, module)
        parts.append(copy)
    parts[-1] = parts[-1].rstrip("\n") + "\n\n" + _conversions(hub, spec, module)
    return Copy(
        definitions="\n\n\n".join(part.rstrip("\n") for part in parts) + "\n",
        imports=_import_texts(used),
        classes=[*([spec.name] if spec else []), hub.class_name],
    )


Edit = tuple[int, int, int, str]
"""A line (from 1), the bytes of it that are replaced, and the new text."""


def _spec_class(hub: ProjectKind) -> ast.ClassDef | None:
    """The class of the spec, if it can be copied: a class of the module, whose fields are all its own."""
    fields = hub.fields_of(hub.class_name) or []
    spec = next((field for field in fields if field.name == "spec"), None)
    if spec is None or not isinstance(spec.annotation, ast.Name) or hub.fields_of(spec.annotation.id) is None:
        return None
    name = spec.annotation.id
    return next(node for node in hub.tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _renames(
    node: ast.ClassDef, bound: dict[str, ast.stmt], kept: set[str], module: str, used: dict[str, ast.stmt]
) -> list[Edit]:
    """Names that the hub's module defines get its name in front; those that it imports are added to `used`."""
    own = {
        child.target.id
        for child in node.body
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)
    }
    edits: list[Edit] = []
    for name in ast.walk(node):
        if not isinstance(name, ast.Name) or name.id in kept or name.id not in bound:
            continue
        if name.id in own or isinstance(name.ctx, ast.Store):
            continue
        statement = bound[name.id]
        if isinstance(statement, ast.Import | ast.ImportFrom):
            used[name.id] = statement
        else:
            edits.append((name.lineno, name.col_offset, name.end_col_offset or 0, f"{module}.{name.id}"))
    return edits


def _check_copy(node: ast.ClassDef, copy: str, module: str) -> None:
    """Compare the copy with the class, apart from the names of the module. Raises CannotEdit."""
    for field in node.body:
        for quoted in _quoted_types(field.annotation) if isinstance(field, ast.AnnAssign) else ():
            raise CannotEdit(f"{node.name} has a type in quotes ({quoted!r})")
    (made,) = parsed(copy).body
    assert isinstance(made, ast.ClassDef)
    undo = _Undo(module)
    if [ast.dump(undo.visit(each)) for each in made.body] != [ast.dump(each) for each in node.body]:
        raise CannotEdit(
            f"{node.name} has a form that cannot be copied"
        )  # such as names in the f-strings of Python 3.11


def _quoted_types(annotation: ast.expr) -> Iterator[str]:
    match annotation:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")) | ast.Call():
            return  # their texts are values
        case _:
            for part in ast.iter_child_nodes(annotation):
                if isinstance(part, ast.expr):
                    yield from _quoted_types(part)


class _Undo(ast.NodeTransformer):
    """Removes the name of a module from the names that it defines."""

    def __init__(self, module: str) -> None:
        self._module = module

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == self._module:
            return ast.Name(node.attr, node.ctx)
        return node


def _new_version(node: ast.ClassDef, version: str, text: str) -> list[Edit]:
    call = resource_call(node)
    keywords = {each.arg: each for each in call.keywords} if call else {}
    if call is None or None in keywords or ("storage" in keywords and ast.unparse(keywords["storage"].value) != "True"):
        raise CannotEdit(f"the options of {node.name} cannot be read")
    value = keywords["version"].value
    line = _bytes_of(text)[value.lineno - 1]
    first = not line[: keywords["version"].col_offset].strip()
    separator = f",\n{' ' * keywords['version'].col_offset}" if first else ", "
    edits = [(value.lineno, value.col_offset, value.end_col_offset or 0, f'"{version}"')]
    if "storage" in keywords:
        old = keywords["storage"].value
        return [*edits, (old.lineno, old.col_offset, old.end_col_offset or 0, "False")]
    return [(*edits[0][:3], f'"{version}"{separator}storage=False')]


def _segment(text: str, node: ast.ClassDef, edits: list[Edit]) -> str:
    """The source of a class with its decorators and the comments above it, after the edits."""
    lines = list(_bytes_of(text))
    for line, start, end, new in sorted(edits, reverse=True):
        content = lines[line - 1]
        lines[line - 1] = content[:start] + new.encode() + content[end:]
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
    while first > 0 and lines[first - 1].startswith(b"#"):
        first -= 1
    return b"\n".join(lines[first : node.end_lineno]).decode() + "\n"


def _bytes_of(text: str) -> list[bytes]:
    return [line.encode() for line in lines_of(text)]


def _conversions(hub: ProjectKind, spec: ast.ClassDef | None, module: str) -> str:
    fields = hub.fields_of(hub.class_name)
    if fields is None:
        raise CannotEdit(f"{hub.class_name} has another base than Resource")
    convert = [
        node for node in hub.definition.body if isinstance(node, ast.FunctionDef) and node.name.startswith("convert_")
    ]
    if convert:
        raise CannotEdit(f"{hub.class_name} has the method {convert[0].name}, although it is the storage version")
    inner = [field.name for field in hub.fields_of(spec.name) or []] if spec else None
    names = [field.name for field in fields]
    to_hub = _arguments(names, "self", f"{module}.{spec.name}" if spec else "", inner)
    from_hub = _arguments(names, "hub", spec.name if spec else "", inner)
    return f'''    def convert_to(self) -> {module}.{hub.class_name}:
        """The object in version {hub.version}. Change this and `convert_from` with the fields."""
        return {module}.{hub.class_name}(
{to_hub}        )

    @classmethod
    def convert_from(cls, hub: {module}.{hub.class_name}) -> Self:
        """The object in this version."""
        return cls(
{from_hub}        )
'''


def _arguments(names: list[str], source: str, spec: str, inner: list[str] | None) -> str:
    lines = [f"            metadata={source}.metadata,\n"]
    for name in names:
        if name == "spec" and inner:
            fields = "".join(f"                {field}={source}.spec.{field},\n" for field in inner)
            lines.append(f"            spec={spec}(\n{fields}            ),\n")
        elif name == "spec" and inner is not None:
            lines.append(f"            spec={spec}(),\n")
        else:
            lines.append(f"            {name}={source}.{name},\n")
    return "".join(lines)


def _import_texts(used: dict[str, ast.stmt]) -> list[str]:
    """The imports of the used names, each of one name."""
    found = []
    for name, statement in used.items():
        assert isinstance(statement, ast.Import | ast.ImportFrom)
        alias = next(each for each in statement.names if (each.asname or each.name.partition(".")[0]) == name)
        found.append(ast.unparse(_only(statement, alias)))
    return sorted(set(found))


def _only(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import(names=[alias])
    return ast.ImportFrom(module=statement.module, names=[alias], level=statement.level)
