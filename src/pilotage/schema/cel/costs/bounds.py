"""Upper bounds for the cost of a CEL evaluation, in nanoseconds and bytes, computed before it runs.

The engine does not count cost: its only limit is 10,000 iterations. So the cost is bounded here: for each node of the
expression, how often it can run and how large its operands can be, from the sizes in the document. Kubernetes estimates
the cost of the rules of a CRD in the same way, with the sizes that the schema allows. The factors were measured with
the engine on the most expensive inputs, and rounded up.

The cost of a regular expression depends on its pattern, which may not be known before: `patterns` counts it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

from pilotage.schema.cel.ast import CallExpression, Comprehension, Constant, Expr, Ident, MakeList, MakeMap, Select
from pilotage.schema.cel.costs.charges import CHARGES, PASSED_ENTRY, PASSED_ENTRY_BYTES, PYTHON_CALL, SQUARE, unknown
from pilotage.schema.cel.costs.sizes import NO_SIZE, Extent, SizedValue, text, total
from pilotage.schema.cel.patterns import ITERATIONS, REPLACED

_RANGE = REPLACED["lists.range"]
_MAP_INSERT = REPLACED["cel.@mapInsert"]
_EVALUATION = 9_000.0
_NODE = 80.0
_PASSED_CHAR = 2.0
_APPENDED, _APPENDED_BYTES = 30.0, 17.0  # an append copies the list, so n of them cost n² times this


class Cost(NamedTuple):
    nanoseconds: float
    bytes: float


def cost(tree: Expr, variables: dict[str, SizedValue], passed: Extent) -> Cost:
    """The bound for one evaluation. `passed` is the size of the values that the engine receives."""
    estimate = _Estimate()
    estimate.add(_EVALUATION + passed.all_entries * PASSED_ENTRY + passed.all_chars, 0.0)
    estimate.bytes += passed.all_entries * PASSED_ENTRY_BYTES + 2 * passed.all_chars
    result = estimate.value(tree, variables).most  # it becomes a value of Python
    estimate.add(result.all_entries * PASSED_ENTRY + result.all_chars, 0.0)
    estimate.bytes += result.all_entries * PASSED_ENTRY_BYTES + 2 * result.all_chars
    return Cost(estimate.nanoseconds, estimate.bytes)


class _Estimate:
    """Walks an expression and adds the cost of its nodes.

    `_rounds` is the most often that the current node runs, with the engine's limit. `_all_rounds` is how often it
    would run without the limit: the factor for mean sizes, whose product with it is the size of all values together.
    """

    def __init__(self) -> None:
        self.nanoseconds = self.bytes = 0.0
        self._rounds = self._all_rounds = 1.0

    def add(self, nanoseconds: float, size: float) -> None:
        self.nanoseconds += self._rounds * nanoseconds
        self.bytes += self._rounds * size

    def value(self, node: Expr, variables: dict[str, SizedValue]) -> SizedValue:
        self.nanoseconds += self._rounds * _NODE
        match node:
            case Constant(found):
                return NO_SIZE if found is None else text(len(found.encode()))
            case Ident(name):
                return variables.get(name, NO_SIZE)
            case Select(operand, field):
                return self.value(operand, variables).field(field)
            case CallExpression():
                return self._call(node, variables)
            case MakeList(items):
                self.add(0.0, (1 + len(items)) * PASSED_ENTRY_BYTES)
                return _listed([self.value(item, variables) for item in items])
            case MakeMap(entries):
                return self._map(entries, variables)
            case Comprehension():
                return self._fold(node, variables)

    def _map(self, entries: tuple[tuple[Expr, Expr], ...], variables: dict[str, SizedValue]) -> SizedValue:
        self.add(len(entries) * PASSED_ENTRY, len(entries) * 2 * PASSED_ENTRY_BYTES)
        fields: dict[str, SizedValue] | None = {}
        values: list[SizedValue] = []
        for key, each in entries:
            values += [self.value(key, variables), self.value(each, variables)]
            if fields is not None and isinstance(key, Constant) and key.text is not None:
                fields[key.text] = values[-1]
            else:
                fields = None
        made = _listed(values)
        return SizedValue(made.most, made.mean, made.item, fields)

    def _call(self, node: CallExpression, variables: dict[str, SizedValue]) -> SizedValue:
        arguments = [self.value(argument, variables) for argument in node.arguments]
        if node.function in _PASSING:
            return _PASSING[node.function](arguments, node)
        fixed = node.fixed and node.function not in _OF_ANY_TYPE
        if fixed and node.function in _ARITHMETIC:
            return NO_SIZE
        if node.function == _RANGE:
            arguments = [SizedValue(Extent(entries=self._largest(node.arguments[0], variables)))]
        charge = CHARGES.get(node.function, unknown)
        most = charge(node, [argument.most for argument in arguments])
        # Linear in each operand, so the sum over all iterations is bounded with one operand at its mean size.
        choices = [
            charge(node, [argument.mean if index == at else argument.most for at, argument in enumerate(arguments)])
            for index in range(len(arguments) if node.function not in SQUARE else 0)
        ]
        self.nanoseconds += self._lesser(most.nanoseconds, [choice.nanoseconds for choice in choices])
        self.bytes += self._lesser(most.bytes, [choice.bytes for choice in choices])
        if fixed:
            return NO_SIZE
        if not choices:
            return most.result
        mean = min((choice.result.most for choice in choices), key=sum)
        return SizedValue(most.result.most, mean)

    def _largest(self, node: Expr, variables: dict[str, SizedValue]) -> float:
        """The largest number that an expression can return, if that is known: a constant, or a size."""
        match node:
            case Constant(number=int(number)):
                return float(number)
            case CallExpression("size", (of,)):
                size = self.value(of, variables).most
                return size.chars + size.entries
        return ITERATIONS

    def _lesser(self, most: float, means: list[float]) -> float:
        return min([self._rounds * most, *(self._all_rounds * mean for mean in means)])

    def _fold(self, node: Comprehension, variables: dict[str, SizedValue]) -> SizedValue:
        if isinstance(node.over, MakeList) and not node.over.items:  # a binding
            inside = variables | {node.result_name: self.value(node.start, variables)}
            return self.value(node.result, inside)
        over = self.value(node.over, variables)
        self.value(node.start, variables)
        before = self._rounds, self._all_rounds
        inside = {name: value.fixed() for name, value in variables.items()}
        inside |= _bound(node.variables, over)
        collects = isinstance(node.start, MakeList | MakeMap)
        self._rounds = min(ITERATIONS, self._rounds * over.most.entries)
        self._all_rounds *= over.mean.entries
        self.value(node.condition, inside)
        made = self._step(node.step, node.result_name, inside)
        self._rounds, self._all_rounds = before
        if not collects:
            self.value(node.result, variables)
            return NO_SIZE
        return self._collect(over, made, python=isinstance(node.start, MakeMap))

    def _step(self, step: Expr, accumulator: str, variables: dict[str, SizedValue]) -> SizedValue:
        """What one iteration adds to the result. The accumulator itself has no size here: `_collect` counts it."""
        match step:
            case CallExpression("_+_", (Ident(name), MakeList((item,))), _) if name == accumulator:
                return self.value(item, variables)
            case CallExpression("_?_:_", (condition, one, other), _):
                self.value(condition, variables)
                return self._step(one, accumulator, variables).union(self._step(other, accumulator, variables))
            case CallExpression(function, (Ident(name), *added), _) if (function, name) == (_MAP_INSERT, accumulator):
                values = [self.value(each, variables) for each in added]
                most, mean = total(values), reduce(Extent.plus, (each.mean for each in values))
                return SizedValue(most, mean)
            case Ident(name) if name == accumulator:
                return NO_SIZE
        return self.value(step, variables)

    def _collect(self, over: SizedValue, made: SizedValue, *, python: bool) -> SizedValue:
        """The list or the map of a loop; maps are made in `python`, by a call for each entry."""
        entries = min(ITERATIONS, over.most.entries)
        # The engine limits all iterations together, and so the number of lists of this length.
        lists = min(self._rounds, ITERATIONS / max(entries, 1.0))
        if python:
            # The map so far is passed to a function for each entry, and back. It is half full on average.
            passed = entries**2 * (2 + made.mean.all_entries), entries**2 * made.mean.all_chars
            self.nanoseconds += lists * (entries * PYTHON_CALL + passed[0] * PASSED_ENTRY + _PASSED_CHAR * passed[1])
            self.bytes += lists * (2 * passed[0] * PASSED_ENTRY_BYTES + passed[1])
        else:
            self.nanoseconds += lists * _APPENDED * entries**2
            self.bytes += lists * _APPENDED_BYTES * entries**2
        most = Extent(0.0, entries, entries * made.most.all_chars, entries * (1 + made.most.all_entries))
        average = over.mean.entries
        mean = Extent(0.0, average, average * made.mean.all_chars, average * (1 + made.mean.all_entries))
        return SizedValue(most, mean, lambda: made)


def _bound(names: tuple[str, ...], over: SizedValue) -> dict[str, SizedValue]:
    if len(names) == 2:
        return {names[0]: over.key(), names[1]: over.item()}
    # A loop over a map visits its keys, one over a list its items. Which it is may not be known.
    return {names[0]: _ItemOrKey(over.item(), over.key())}


class _ItemOrKey(SizedValue):
    """An item of a list or a key of a map. Fields are the fields of the item."""

    def __init__(self, item: SizedValue, key: SizedValue) -> None:
        super().__init__(item.most.union(key.most), item.mean.union(key.mean), item.item)
        self._found = item

    def field(self, name: str) -> SizedValue:
        return self._found.field(name)


def _listed(values: list[SizedValue]) -> SizedValue:
    inside = total(values)
    count = float(len(values))
    most = Extent(0.0, count, inside.all_chars, count + inside.all_entries)

    def item() -> SizedValue:
        result = NO_SIZE
        for value in values:
            result = result.union(value)
        return result.fixed()

    return SizedValue(most, None, item)


_STRICT = ("@not_strictly_false", "__not_strictly_false__")
_OF_ANY_TYPE = frozenset(("_+_", "min", "max", "sum"))
"""Functions that may return a text or a list where the engine's checker expects a number: its types are the types of
one declaration of a function, and the values of a document have any type."""
_ARITHMETIC = frozenset(("_-_", "_*_", "_/_", "_%_", "-_", "!_", "_&&_", "_||_", *_STRICT))


def _first(arguments: list[SizedValue], node: CallExpression) -> SizedValue:
    return arguments[0] if arguments else NO_SIZE


def _either(arguments: list[SizedValue], node: CallExpression) -> SizedValue:
    return arguments[-2].union(arguments[-1])


def _picked(arguments: list[SizedValue], node: CallExpression) -> SizedValue:
    """`a[i]`, `a[?i]`: one item, or one field if the key is a constant."""
    key = node.arguments[1]
    if isinstance(key, Constant) and key.text is not None:
        return arguments[0].field(key.text)
    return arguments[0].item().fixed()


_PASSING: dict[str, Callable[[list[SizedValue], CallExpression], SizedValue]] = {
    **dict.fromkeys(("value", "optional.of", "optional.ofNonZeroValue", "dyn", "optional.none"), _first),
    **dict.fromkeys(("_?_:_", "orValue", "or"), _either),
    **dict.fromkeys(("_[_]", "_[?_]", "_?._"), _picked),
    **dict.fromkeys(("first", "last"), lambda arguments, node: arguments[0].item().fixed()),
    **dict.fromkeys(("_&&_", "_||_", "!_", *_STRICT, "hasValue"), lambda arguments, node: NO_SIZE),
}
"""Functions that return an operand, a part of it or a bool, at the cost of a node."""
