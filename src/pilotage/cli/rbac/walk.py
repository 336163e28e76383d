"""Visits the statements of a function in their order, with the values of its local names at each call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import reduce

from pilotage.cli.rbac.inference import Inference
from pilotage.cli.rbac.program import Function, ProgramDefinition
from pilotage.cli.rbac.values import Many, Names, Value, merged

OnCall = Callable[[ast.Call, Names], None]
"""Given a call, and the names at that point."""


class Walk:
    """The walk through one function. After a branch, a name may have the value of either path."""

    def __init__(self, inference: Inference, definition: ProgramDefinition, on_call: OnCall) -> None:
        self._inference = inference
        self._definition = definition
        self._on_call = on_call

    def function(self) -> None:
        """Walk through the whole function."""
        assert isinstance(self._definition.node, Function)
        self._body(self._definition.node.body, self._inference.names_of(self._definition))

    def _body(self, statements: Iterable[ast.stmt], names: Names) -> Names:
        for statement in statements:
            names = self._statement(statement, names)
        return names

    def _statement(self, node: ast.stmt, names: Names) -> Names:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                own = self._inference.names_of(ProgramDefinition(self._definition.source, node))
                self._body(node.body, {**names, **own})
            case ast.If() | ast.While() | ast.Match():
                return self._branches(node, names)
            case ast.For() | ast.AsyncFor():
                self._expression(node.iter, names)
                self._bind_item(node.target, node.iter, names)
                return merged(names, self._body([*node.body, *node.orelse], dict(names)))
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr, names)
                return self._body(node.body, names)
            case ast.Try() | ast.TryStar():
                return self._try(node, names)
            case ast.Assign() | ast.AnnAssign():
                self._assign(node, names)
            case _:
                self._expression(node, names)
        return names

    def _branches(self, node: ast.If | ast.While | ast.Match, names: Names) -> Names:
        if isinstance(node, ast.Match):
            self._expression(node.subject, names)
            bodies = [case.body for case in node.cases]
        else:
            self._expression(node.test, names)
            bodies = [node.body, node.orelse]
        ways = [self._body(body, dict(names)) for body in bodies]
        if not isinstance(node, ast.If):
            ways.insert(0, names)  # none of them
        return reduce(merged, ways)

    def _try(self, node: ast.Try | ast.TryStar, names: Names) -> Names:
        tried = self._body(node.body, dict(names))
        for handler in node.handlers:
            tried = merged(tried, self._body(handler.body, merged(names, tried)))
        return self._body([*node.orelse, *node.finalbody], tried)

    def _assign(self, node: ast.Assign | ast.AnnAssign, names: Names) -> None:
        if node.value is not None:
            self._expression(node.value, names)
        value = self._value(node.value, names)
        if isinstance(node, ast.AnnAssign):
            value = self._inference.annotated(node.annotation, self._definition) or value
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            self._inference.bound(names, target, value)

    def _expression(self, node: ast.AST, names: Names) -> None:
        """Report the calls in an expression. Names of comprehensions are local to them."""
        match node:
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                names = dict(names)
                for each in node.generators:
                    self._bind_item(each.target, each.iter, names)
            case ast.Call():
                self._on_call(node, names)
            case ast.NamedExpr(target=target, value=value):
                self._inference.bound(names, target, self._value(value, names))
        for child in ast.iter_child_nodes(node):
            self._expression(child, names)

    def _bind_item(self, target: ast.expr, iterated: ast.expr, names: Names) -> None:
        found = self._value(iterated, names)
        self._inference.bound(names, target, found.item if isinstance(found, Many) else None)

    def _value(self, node: ast.expr | None, names: Names) -> Value | None:
        return self._inference.value(node, names, self._definition)
