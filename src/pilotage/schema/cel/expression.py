"""One CEL expression: compiled, checked against the node of the schema that it belongs to, evaluated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pilotage import errors
from pilotage.schema.cel import environment as environments
from pilotage.schema.cel import values as cel_values
from pilotage.schema.cel.ast import Expr, indexed, read_expr, renamed
from pilotage.schema.cel.costs.bounds import Cost, cost
from pilotage.schema.cel.costs.estimate import WrongTypes, estimate
from pilotage.schema.cel.costs.sizes import NO_EXTENT, Extent, Observed, Opaque, encoded_size
from pilotage.schema.cel.declared import declared_at, most_runs
from pilotage.schema.cel.fields import UsedFields, only_fields, used_fields
from pilotage.schema.cel.literals import literal_problems, pattern_problem
from pilotage.schema.cel.patterns import COST_EXCEEDED, INDEXED, REPLACED, CostMeter, constant_patterns, is_metered
from pilotage.schema.cel.source import uses_old_self
from pilotage.schema.structural.node import Node

NO_BOOL = "cel expression must evaluate to a bool"
_ONE_ERROR = re.compile(r"\n(?=ERROR: )")
_MIXED_NUMBERS = re.compile(r"'_(?:<|<=|>|>=)_' applied to '\((?:int|uint|double), (?:int|uint|double)\)'")


class CompileError(errors.InvalidDefinition):
    """An expression that does not compile. The message is the compiler's."""

    stage = "compilation"

    @property
    def failure(self) -> str:
        """What has failed, as kube-apiserver reports it for a rule."""
        return f"{self.stage} failed: {self}"


class InstantiationError(CompileError):
    """An expression that compiles, but from which no program can be created."""

    stage = "program instantiation"


OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class EvaluationError(Exception):
    """An expression that failed while it ran."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression over `self` and, in transition rules, `oldSelf`."""

    text: str
    program: Any
    expr: Expr
    size: int
    """The bytes of the program. Macros can expand a short text to a large one."""
    uses_old: bool
    returns: str
    """CEL's name for the type of the result."""
    cost_estimate: int
    """The most that it costs on a value of the schema, in Kubernetes' units."""
    runs: int
    """How often its value can be in one request, if nothing in the schema limits that."""
    wrapped: bool
    fields: UsedFields
    old_fields: UsedFields
    """The fields of `self` and `oldSelf` that it uses; None if it may use all of them."""
    patterns: dict[str, Any]
    """Its constant regular expressions, compiled."""
    metered: bool
    """Whether it calls functions that count their cost while they run."""
    _rough: dict[tuple[int, int], Cost] = field(default_factory=dict)

    @property
    def may_be_bool(self) -> bool:
        """Whether the result can be one of a rule."""
        return self.returns in ("bool", "dyn")

    def evaluate(self, value: Any, old: Any, present: bool, meter: CostMeter) -> Any:
        """The result as a plain value. Raises EvaluationError if the expression fails."""
        data = self._data(value, old, present)
        try:
            if not self.metered:
                result = environments.evaluated(self.program, data)
            else:
                with meter.measuring(self.patterns):
                    result = environments.evaluated(self.program, data)
            if result.type() != environments.binding().Type.ERROR:
                found = result.plain_value()
                if not meter.exceeded:
                    return found
            message = str(result.value())
        except Exception as error:  # the binding raises RuntimeError, TypeError and whatever a function raised
            message = str(error)
        raise EvaluationError(COST_EXCEEDED if meter.exceeded else translated(message))

    def rough_cost(self, size: int, entries: int) -> Cost:
        """An upper bound for any values with this many bytes and entries."""
        key = size.bit_length(), entries.bit_length()
        found = self._rough.get(key)
        if found is None:
            chars, count = (float(1 << bits) for bits in key)
            most = Extent(chars, count, chars, count)
            found = self._rough[key] = cost(self.expr, dict.fromkeys(environments.VARIABLES, Opaque(most)), most)
        return found

    def cost(self, value: Any, old: Any) -> Cost:
        """An upper bound for these values, from the sizes of the fields that the expression uses."""
        data = self._data(value, old, present=True)
        passed = NO_EXTENT
        for each in (data["self"], data["oldSelf"]):
            size, entries = encoded_size(each)
            passed = passed.plus(Extent(all_chars=size, all_entries=entries))
        return cost(self.expr, {name: Observed([each]) for name, each in data.items()}, passed)

    def _data(self, value: Any, old: Any, present: bool) -> dict[str, Any]:
        # The binding converts every value that it passes to the engine, so unused fields are left out.
        value, old = only_fields(value, self.fields), only_fields(old, self.old_fields) if self.uses_old else None
        if not self.wrapped:
            return {"self": value, "oldSelf": old}
        return {"self": value, "oldSelf": old, "__self": value, "__oldSelf": old, "__present": present}


def compile_expression(text: str, node: Node, *, resource: bool = False, optional_old: bool = False) -> Expression:
    """Compile an expression for a node of the schema. Raises CompileError with the compiler's message."""
    uses_old = uses_old_self(text)
    environment = environments.untyped()
    refused = None
    try:
        plain = compiled(environment, text)
    except CompileError as error:
        if not 0 < str(error).count("ERROR: ") == str(error).count(": found no matching overload"):
            raise
        # The engine does not know the types of the schema, which the message has to show.
        plain, refused = environment.compile(text, disable_check=True), error
    serialized = plain.serialize()
    plain_expr = read_expr(serialized)
    declared = declared_at(node, resource)
    estimated = estimate(plain_expr, declared, optional_old=optional_old)
    check(plain_expr, text, estimated.problems)
    if refused is not None:
        raise refused
    program = plain
    wrapped = (uses_old and optional_old) or cel_values.typed(node, "__self") is not None
    if wrapped:
        environment = environments.wrapping()
        program = compiled(environment, _wrapped(text, node, uses_old, optional_old))
    made = executable(environment, program)
    return Expression(
        text,
        program=made.program,
        expr=made.tree,
        size=made.size,
        uses_old=uses_old,
        returns=str(estimated.type),
        cost_estimate=estimated.cost,
        runs=most_runs(declared),
        wrapped=wrapped,
        fields=used_fields(plain_expr, "self"),
        old_fields=None if optional_old else used_fields(plain_expr, "oldSelf"),
        patterns=constant_patterns(plain_expr),
        metered=is_metered(plain_expr),
    )


class Executable(NamedTuple):
    """A program as it runs: with our functions in place of the engine's functions."""

    program: Any
    tree: Expr
    """The names of functions in it are those that costs are found by."""
    size: int
    """The bytes of the program."""


def executable(environment: Any, program: Any) -> Executable:
    """A compiled program as it runs. Every program is made by this before it is evaluated or its cost is bounded."""
    serialized = program.serialize()
    if any(name.encode() in serialized for name in (*REPLACED, *INDEXED)):
        serialized = indexed(renamed(serialized, REPLACED), INDEXED)
        program = environment.deserialize(serialized)
    return Executable(program, read_expr(serialized), len(serialized))


def check(tree: Expr, text: str, problems: Sequence[WrongTypes] = ()) -> None:
    """Raise CompileError for these problems, or else for invalid literals."""
    if found := problems or literal_problems(tree):
        raise CompileError("\n".join(diagnosis(problem, text) for problem in found))
    if message := pattern_problem(tree):
        raise InstantiationError(message)


def compares_mixed_numbers(message: str) -> bool:
    """Whether the only errors in a compiler's message are comparisons of int with double, which Kubernetes allows."""
    found = message.count("ERROR: ")
    return found > 0 and found == len(_MIXED_NUMBERS.findall(message))


def _wrapped(text: str, node: Node, uses_old: bool, optional_old: bool) -> str:
    """The expression inside bindings that convert `self` and `oldSelf` to CEL types, and make `oldSelf` an optional."""
    result = f"(\n{text}\n)"
    if uses_old:
        old = cel_values.typed(node, "__oldSelf") or "__oldSelf"
        bound = f"__present ? optional.of({old}) : optional.none()" if optional_old else old
        result = f"cel.bind(oldSelf, {bound}, {result})"
    conversion = cel_values.typed(node, "__self")
    return f"cel.bind(self, {conversion}, {result})" if conversion else result


def compiled(environment: Any, text: str) -> Any:
    """The program of an expression. Raises CompileError with the compiler's message.

    The engine evaluates comparisons of an int with a double, but its checker refuses them.
    """
    try:
        return compiled_strictly(environment, text)
    except CompileError as error:
        if not compares_mixed_numbers(str(error)):
            raise
        return environment.compile(text, disable_check=True)


def compiled_strictly(environment: Any, text: str) -> Any:
    """The program of an expression whose types the engine has checked. Raises CompileError."""
    try:
        return environment.compile(text)
    except Exception as error:  # the binding raises RuntimeError
        raise CompileError(_bare(str(error))) from error


def _bare(message: str) -> str:
    """The compiler's message without the status code around it, its errors in the order of the text."""
    message = re.sub(r" \[[A-Z_]+\]$", "", re.sub(r"^[A-Z_]+: (?=ERROR)", "", message))
    message = message.replace("has() argument must be a field selection", "invalid argument to has() macro")
    return "\n".join(sorted(_ONE_ERROR.split(message), key=_position))


def _position(error: str) -> list[int]:
    found = re.match(r"ERROR: <input>:(\d+):(\d+): ", error)
    return [int(number) for number in found.groups()] if found else []


def diagnosis(problem: WrongTypes, text: str) -> str:
    """A problem as the compiler reports it."""
    lines = text[: problem.offset].split("\n")
    line, column = len(lines), len(lines[-1])
    return (
        f"ERROR: <input>:{line}:{column + 1}: {problem.message}\n | {text.split(chr(10))[line - 1]}\n | {'.' * column}^"
    )


def translated(message: str) -> str:
    """The engine's error with the message that Kubernetes' engine has for it."""
    message = re.sub(r"^[A-Z_]+: ", "", message).removesuffix(" [INTERNAL]").removesuffix(" [INVALID_ARGUMENT]")
    if "Iteration budget exceeded" in message:
        return COST_EXCEEDED
    if message.startswith(("No matching overloads found", "Non-CEL value type for 'Python function")):
        return "no such overload"
    if found := re.match(r'Key not found in map : "?(.*?)"?$', message, re.DOTALL):
        return f"no such key: {found.group(1)}"
    if found := re.match(r"Index error: index=(-?\d+)", message):
        return f"index out of bounds: {found.group(1)}"
    if found := re.match(r"cannot convert (\w+) to (\w+)$", message):
        return f"type conversion error from '{found.group(1)}' to '{found.group(2)}'"
    return {"divide by zero": "division by zero", "modulus by zero": "modulus by zero"}.get(message, message)
