"""Edits of a Python module that people have changed, at positions of its syntax tree.

Comments and formatting are kept: lines are inserted, and no other line is rewritten. Each edit is checked afterwards:
the tree must have all that it had, in the same order. What cannot be edited raises `CannotEdit` with the reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator


class CannotEdit(Exception):
    """The module has a form that cannot be extended safely."""


def parsed(text: str) -> ast.Module:
    """The syntax tree of a module. Raises CannotEdit."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise CannotEdit(f"it has a syntax error{f' in line {line}' if line else ''}") from error


def bound_names(tree: ast.Module) -> dict[str, ast.stmt]:
    """The names that the module defines or imports at its top level, and the statements that do it."""
    found: dict[str, ast.stmt] = {}
    for statement in tree.body:
        for name in _bound_by(statement):
            found[name] = statement
    return found


def alias_of(tree: ast.Module, module: str) -> str | None:
    """The name under which a module is imported by `import`: `pt` for `import pilotage as pt`."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for name in statement.names:
                if name.name == module:
                    return name.asname or name.name
    return None


def with_statement(text: str, function: str, statement: str) -> str:
    """The module with a statement at the end of a function. `{}` in it is the name of the function's parameter."""
    tree = parsed(text)
    found = _function(tree, function)
    line = statement.format(_parameter(found))
    lines = lines_of(text)
    indent = lines[found.body[0].lineno - 1][: found.body[0].col_offset]
    if indent.strip() or found.body[0].lineno == found.lineno:
        raise CannotEdit(f"the body of {function} is on the line of its def")
    at, replaced = _end_of(found, lines)
    added = [indent + each for each in line.split("\n")]
    if replaced:
        lines = [*lines[: at - 1], *lines[at:]]
        at -= 1
    return checked(text, inserted(text, lines, at, added), tree)


def with_line_before(text: str, call: str, statement: str) -> str:
    """The module with a statement before the one that is just this call without arguments: `builder.complete()`."""
    tree = parsed(text)
    lines = lines_of(text)
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and ast.unparse(node) == call and lines[node.lineno - 1].strip() == call
    ]
    if len(found) != 1:
        raise CannotEdit(f"it has {'several lines' if found else 'no line'} {call}")
    indent = lines[found[0].lineno - 1][: found[0].col_offset]
    return checked(text, inserted(text, lines, found[0].lineno - 1, [indent + statement]), tree)


def with_methods(text: str, class_name: str, before: str, methods: str) -> str:
    """The module with methods in a class, above one of its methods. `methods` are indented and end with a newline."""
    tree = parsed(text)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name]
    if len(classes) != 1:
        raise CannotEdit(f"it has {'several classes' if classes else 'no class'} {class_name}")
    found = [node for node in classes[0].body if isinstance(node, ast.FunctionDef) and node.name == before]
    if len(found) != 1 or found[0].decorator_list or found[0].col_offset != 4:
        raise CannotEdit(f"its class {class_name} has no method {before}")
    lines = lines_of(text)
    at = found[0].lineno - 1
    while lines[at - 1].strip().startswith("#"):
        at -= 1
    return checked(text, inserted(text, lines, at, methods.split("\n")), tree)


def with_arguments(text: str, method: str, arguments: list[str]) -> str:
    """The module with more arguments at the end of the arguments of the one call of a method:
    `builder.with_conversion(A)`."""
    tree = parsed(text)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_method(node, method)]
    if len(found) != 1 or not found[0].args or any(isinstance(each, ast.Starred) for each in found[0].args):
        raise CannotEdit(f"it has no single call of {method} with arguments")
    names = {ast.unparse(each) for each in found[0].args}
    missing = [each for each in arguments if each not in names]
    last = found[0].args[-1]
    lines = lines_of(text)
    at = (last.end_lineno or last.lineno) - 1
    line, column = lines[at].encode(), last.end_col_offset or 0
    changed = line[:column] + "".join(f", {each}" for each in missing).encode() + line[column:]
    made = _newline(text).join([*lines[:at], changed.decode(), *lines[at + 1 :]])
    removed = parsed(made)
    for node in ast.walk(removed):
        if isinstance(node, ast.Call) and _is_method(node, method):
            node.args = node.args[: len(node.args) - len(missing)]
    if ast.dump(removed) != ast.dump(tree):
        raise CannotEdit("the arguments do not fit into it")
    return made


def _is_method(node: ast.Call, method: str) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == method


def calls_name(text: str, name: str) -> bool:
    """Whether the module uses a name, outside of imports."""
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(parsed(text)))


def with_definitions(text: str, definitions: str, names: list[str]) -> str:
    """The module with definitions at its end."""
    tree = parsed(text)
    for name in names:
        if name in bound_names(tree):
            raise CannotEdit(f"line {bound_names(tree)[name].lineno} defines {name} already")
    newline = _newline(text)
    made = text.rstrip() + newline * 3 + definitions.replace("\n", newline)
    return checked(text, made, tree)


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    named = [node for node in found if node.name == name]
    if len(named) != 1:
        raise CannotEdit(f"it has {'several functions' if named else 'no function'} {name}")
    return named[0]


def _parameter(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    parameters = [*function.args.posonlyargs, *function.args.args]
    if not parameters:
        raise CannotEdit(f"its function {function.name} has no parameter for the manager")
    return parameters[0].arg


def _end_of(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> tuple[int, bool]:
    """After which line (from 1) a statement is added, and whether that line, a `pass` or `...`, is replaced."""
    last = function.body[-1]
    at = last.end_lineno or last.lineno
    alone = lines[last.lineno - 1].split("#")[0].strip()
    if (isinstance(last, ast.Pass) and alone == "pass") or (_is_ellipsis(last) and alone == "..."):
        return at, True
    if isinstance(last, ast.Raise):
        raise CannotEdit(f"its function {function.name} ends with raise in line {last.lineno}")
    if isinstance(last, ast.Return):
        if lines[last.lineno - 1][: last.col_offset].strip():
            raise CannotEdit(f"line {last.lineno} has several statements")
        return last.lineno - 1, False
    if lines[at - 1].rstrip().endswith("\\"):
        raise CannotEdit(f"line {at} is continued")
    return _with_comments(at, last.col_offset, lines), False


def _is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _with_comments(at: int, column: int, lines: list[str]) -> int:
    """The last of the comments below a line that belong to the same block."""
    end = at
    for number, line in enumerate(lines[at:], at + 1):
        if line.strip() and not (line.lstrip().startswith("#") and len(line) - len(line.lstrip()) >= column):
            break
        if line.strip():
            end = number
    return end


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for each in names:
                yield each.asname or each.name.partition(".")[0]
        case _:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
                elif node is not statement and isinstance(node, ast.Import | ast.ImportFrom):  # if TYPE_CHECKING:
                    yield from _bound_by(node)


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them, without their ends."""
    return re.split("\r\n|\r|\n", text)


def _newline(text: str) -> str:
    found = re.search("\r\n|\r|\n", text)
    return found[0] if found else "\n"


def inserted(text: str, lines: list[str], at: int, added: list[str]) -> str:
    """The text of these lines, with more after one of them (from 1; 0: before all), and the line ends of `text`."""
    made = [*lines[:at], *added, *lines[at:]]
    if at == len(lines):  # the last line had no end
        made.append("")
    return _newline(text).join(made)


def checked(before: str, after: str, tree: ast.Module) -> str:
    """The new text, if its tree has all that the old one had, in the same order, and more."""
    if len(set(re.findall("\r\n|\r|\n", before))) > 1:
        raise CannotEdit("its lines end in different ways")
    made = parsed(after)
    if not _contains(_flat(made), _flat(tree)):
        raise CannotEdit("the lines do not fit into it")
    return after


def _flat(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The statements of a module, its classes and its functions, without those that do nothing."""
    found: list[str] = []
    for statement in node.body:
        match statement:
            case ast.FunctionDef(args=head) | ast.AsyncFunctionDef(args=head):
                found += [f"def {statement.name}", ast.dump(head), *_flat(statement)]
            case ast.ClassDef():
                found += [f"class {statement.name}", *map(ast.dump, statement.decorator_list), *_flat(statement)]
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                source = "import" if isinstance(statement, ast.Import) else f"{statement.level} {statement.module}"
                found += [f"{source} {ast.dump(each)}" for each in names]
            case _ if not isinstance(statement, ast.Pass) and not _is_ellipsis(statement):
                found.append(ast.dump(statement))
    return found


def _contains(whole: list[str], part: list[str]) -> bool:
    rest = iter(whole)
    return all(each in rest for each in part)
