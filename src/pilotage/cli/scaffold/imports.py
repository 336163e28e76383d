"""Adds an import to a Python module where isort would have it."""

from __future__ import annotations

import ast
import re
import sys

from pilotage.cli.scaffold.lines import Import, imports
from pilotage.cli.scaffold.source import CannotEdit, bound_names, checked, inserted, lines_of, parsed

ImportNode = ast.Import | ast.ImportFrom


def with_import(text: str, package: str, wanted: Import) -> str:
    """The module with an import; unchanged if it has it already. Raises CannotEdit.

    `package` is the package of the project: its imports stand below the imports of other packages.
    """
    tree = parsed(text)
    used = wanted.alias or wanted.name
    known = bound_names(tree).get(used)
    if isinstance(known, ast.ImportFrom) and _imports(known, wanted):
        return text
    if known is not None:
        raise CannotEdit(f"line {known.lineno} uses the name {used} for something else")
    lines = lines_of(text)
    found = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in found:
        if lines[node.lineno - 1][: node.col_offset].strip() or ";" in lines[node.lineno - 1]:
            raise CannotEdit(f"line {node.lineno} has several statements")
    same = [
        node
        for node in found
        if isinstance(node, ast.ImportFrom) and _can_be_extended(node) and node.module == wanted.module
    ]
    if same and not wanted.alias and not wanted.comment:
        return checked(text, _merged(text, lines, same[-1], wanted.name), tree)
    at, before, after = _insertion(tree, found, lines, wanted, package)
    added = [*before, *wanted.line.split("\n"), *after]
    return checked(text, inserted(text, lines, at, added), tree)


def import_block(statements: list[str], package: str) -> str:
    """Imports as isort writes them: in sections, with all imports of one module in one statement."""
    groups: dict[int, list[str]] = {}
    modules: dict[tuple[int, str], list[str]] = {}
    for node in sorted((ast.parse(each).body[0] for each in statements), key=ast.unparse):
        if isinstance(node, ast.Import):
            groups.setdefault(_section(node, package), []).append(ast.unparse(node))
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            modules.setdefault((_section(node, package), module), []).append(ast.unparse(node.names[0]))
    for (section, module), names in sorted(modules.items(), key=lambda item: (item[0][0], _sort_key(item[0][1]))):
        groups.setdefault(section, [])
        groups[section] += [f"from {module} import {each}" for each in sorted(set(names)) if " as " in each]
        if direct := [each for each in names if " as " not in each]:
            groups[section].append(imports(module, direct))
    text = "\n\n".join("\n".join(groups[section]) for section in sorted(groups))
    return f"{text}\n"


def _imports(node: ast.ImportFrom, wanted: Import) -> bool:
    used = wanted.alias or wanted.name
    same = [each for each in node.names if each.name == wanted.name and (each.asname or each.name) == used]
    if node.level:  # from .controllers.guestbook import …
        return bool(same) and wanted.module.endswith(f".{node.module}")
    return bool(same) and node.module == wanted.module


def _can_be_extended(node: ast.ImportFrom) -> bool:
    return not node.level and not any(each.asname or each.name == "*" for each in node.names)


def _merged(text: str, lines: list[str], node: ast.ImportFrom, name: str) -> str:
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    if any("#" in line for line in lines[first:last]):
        raise CannotEdit(f"line {node.lineno} has a comment")
    merged = imports(node.module or "", [*(each.name for each in node.names), name])
    return inserted(text, [*lines[:first], *lines[last:]], first, merged.split("\n"))


def _insertion(
    tree: ast.Module, found: list[ImportNode], lines: list[str], wanted: Import, package: str
) -> tuple[int, list[str], list[str]]:
    """After which line (from 1; 0: before all) an import is added, and the empty lines before and after it."""
    section = _section(ast.ImportFrom(module=wanted.module, names=[], level=0), package)
    same = [node for node in found if _section(node, package) == section]
    smaller = [node for node in same if _order(node) < (1, _sort_key(wanted.module), _sort_key(wanted.name))]
    if smaller:
        return smaller[-1].end_lineno or smaller[-1].lineno, [], []
    if same:
        at = _above_comments(same[0].lineno - 1, lines)
        return at, [], [""] if lines[at].startswith("#") else []  # isort has an empty line above comments
    if earlier := [node for node in found if _section(node, package) < section]:
        return earlier[-1].end_lineno or earlier[-1].lineno, [""], []
    if found:
        return _above_comments(found[0].lineno - 1, lines), [], [""]
    if tree.body and _is_text(tree.body[0]):
        return tree.body[0].end_lineno or 1, [""], []
    first = tree.body[0].lineno - 1 if tree.body else len(lines)
    defines = tree.body and isinstance(tree.body[0], ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return _above_comments(first, lines), [], ["", ""] if defines else [""]


SortKey = list[tuple[bool, int, str]]


def _order(node: ImportNode) -> tuple[int, SortKey, SortKey]:
    """`import a` stands before `from a import b`."""
    if isinstance(node, ast.ImportFrom):
        return 1, _sort_key(node.module or ""), _sort_key(node.names[0].name)
    return 0, _sort_key(node.names[0].name), []


def _section(node: ImportNode, package: str) -> int:
    if isinstance(node, ast.ImportFrom) and node.level:
        return 4
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
    root = module.partition(".")[0]
    if root == "__future__":
        return 0
    if root in sys.stdlib_module_names:
        return 1
    return 3 if root == package.partition(".")[0] else 2


def _sort_key(module: str) -> SortKey:
    """isort sorts numbers in names by their value: v2 stands before v10."""
    parts = re.split("([0-9]+)", module)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part.lower()) for part in parts]


def _above_comments(at: int, lines: list[str]) -> int:
    while at > 0 and lines[at - 1].startswith("#") and not lines[at - 1].startswith("#!"):
        at -= 1
    return at


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
