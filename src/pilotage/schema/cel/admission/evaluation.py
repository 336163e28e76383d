"""Evaluates the CEL expressions of admission: match conditions of webhooks, and what policies validate and change.

An expression may ask what a user is allowed to do. That needs a read of the storage, which cannot be awaited within an
evaluation: the questions are recorded (`Decisions`), the caller answers them, and the evaluation is repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from pilotage.schema.cel import environment as environments
from pilotage.schema.cel.admission.budget import MAXIMUM_CHECKS, RequestBudget
from pilotage.schema.cel.admission.constructions import TYPE
from pilotage.schema.cel.admission.patches import as_functions
from pilotage.schema.cel.admission.unevaluated import CONSTRUCTORS
from pilotage.schema.cel.ast import Expr, guarded, read_expr
from pilotage.schema.cel.costs.bounds import Cost, cost
from pilotage.schema.cel.costs.sizes import NO_EXTENT, Extent, Observed, encoded_size
from pilotage.schema.cel.expression import EvaluationError, compiled, executable, translated
from pilotage.schema.cel.fields import UsedFields, only_fields, used_fields
from pilotage.schema.cel.patterns import COST_EXCEEDED, constant_patterns

VARIABLES = ("object", "oldObject", "request", "namespaceObject", "params", "variables", "authorizer")
"""The names of all variables that any expression of admission can use."""
_FIELD_OF_NULL = ("Applying SELECT to non-message type", "Invalid container type: 'null_type'", "_?._(null_type")
"""In the errors of the engine for `a.x`, `a['x']` and `a.?x` where `a` is null."""
_MEASURED_CHAR = 2.0
"""Nanoseconds for each character of the variables, to measure them."""
_UNANSWERED = "the authorizer has not answered yet"
_MAP = "map(string, dyn)"


class Question(NamedTuple):
    """A question of an expression to the authorizer. Empty fields are not part of the question."""

    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    service_account: str = ""
    """`namespace:name` of the service account that the question is about, if it is not the user of the request."""
    field_selector: str = ""
    label_selector: str = ""


class AuthorizerDecision(NamedTuple):
    """The decision of the authorizer."""

    allowed: bool
    reason: str = ""
    error: str = ""


class Decisions:
    """The answers that an evaluation has, and the question that it has asked without one."""

    def __init__(self) -> None:
        self.answers: dict[Question, AuthorizerDecision] = {}
        self.open: list[Question] = []
        """At most one: the answer decides which question is the next."""
        self.checks = 0
        """How many questions the evaluation has asked."""

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Questions of evaluations in the block are answered by this, or recorded."""
        self.open.clear()
        self.checks = 0
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Decisions] = ContextVar("decisions")


class AdmissionExpression:
    """A compiled expression. Its types were checked when the object that has it was created."""

    def __init__(self, text: str) -> None:
        self.text = text
        environment = _environment()
        program = compiled(environment, text)
        plain: Expr = read_expr(program.serialize())
        self._patterns = constant_patterns(plain)
        self._program, self._tree, _ = executable(environment, program)
        self._environment = environment
        self._fields: dict[str, UsedFields] = {name: used_fields(plain, name) for name in VARIABLES}

    def fields_of(self, variable: str, known: Iterable[str]) -> list[str]:
        """The known fields of a variable that the expression uses."""
        fields = self._fields[variable]
        return [name for name in known if fields is None or name in fields]

    def evaluate(
        self, variables: Mapping[str, Any], decisions: Decisions | None = None, budget: RequestBudget | None = None
    ) -> Any:
        """The result as a plain value. Raises EvaluationError; OutOfBudgetError if the request has cost too much.

        If that happens with `decisions.open`, the question has to be answered, and the evaluation repeated.
        """
        # The binding converts every value that it passes to the engine, so unused fields are left out.
        data = {
            name: only_fields(variables.get(name), fields) if fields != {} else None
            for name, fields in self._fields.items()
        }
        decisions, budget = decisions or Decisions(), budget or RequestBudget()
        with budget.spending() as meter, decisions.asked(), meter.measuring(self._patterns):
            result, message = self._run(self._program, self._tree, data, budget)
            if any(part in message for part in _FIELD_OF_NULL) and not meter.exceeded:
                decisions.checks = 0
                result, message = self._run(*self._guarded, data, budget)
        if decisions.open:  # also if the result does not depend on the answer, because each check has a cost
            raise EvaluationError(_UNANSWERED)
        if meter.exceeded or decisions.checks > MAXIMUM_CHECKS:
            raise EvaluationError(COST_EXCEEDED)
        if message:
            raise EvaluationError(self._of_null(message, data) or translated(message))
        return result

    def _run(self, program: Any, tree: Expr, data: Mapping[str, Any], budget: RequestBudget) -> tuple[Any, str]:
        budget.check(_bound(tree, data))
        return _evaluated(program, data)

    @cached_property
    def _guarded(self) -> tuple[Any, Expr]:
        serialized = guarded(self._program.serialize())
        return self._environment.deserialize(serialized), read_expr(serialized)

    def _of_null(self, message: str, data: Mapping[str, Any]) -> str:
        """The error of a field of a variable that is null; the engine does not report which field."""
        if not any(part in message for part in _FIELD_OF_NULL):
            return ""
        nulls = (fields for name, fields in self._fields.items() if fields and data[name] is None)
        return next((f"no such key: {next(iter(fields))}" for fields in nulls), "")


def bound_of(expression: AdmissionExpression, variables: Mapping[str, Any]) -> Cost:
    """The bound that an evaluation with these variables has."""
    return _bound(expression._tree, variables)


@lru_cache(maxsize=1024)
def expression_of(text: str) -> AdmissionExpression:
    """The compiled expression. Raises CompileError, MissingExtra."""
    return AdmissionExpression(text)


@lru_cache(maxsize=1024)
def patch_expression_of(text: str) -> AdmissionExpression:
    """The compiled expression of a mutation, which constructs an `Object` or a list of `JSONPatch`, as documents.

    Objects in them have the names of their types: `constructions.plain` checks and removes these.
    """
    return AdmissionExpression(as_functions(text).text)


@lru_cache(maxsize=1)
def _environment() -> Any:
    return environments.evaluating(VARIABLES, _functions())


def _bound(tree: Expr, data: Mapping[str, Any]) -> Cost:
    passed = NO_EXTENT
    for value in data.values():
        size, entries = encoded_size(value)
        passed = passed.plus(Extent(all_chars=size, all_entries=entries))
    bound = cost(tree, {name: Observed([value]) for name, value in data.items()}, passed)
    return bound._replace(nanoseconds=bound.nanoseconds + _MEASURED_CHAR * passed.all_chars)


def _evaluated(program: Any, data: Mapping[str, Any]) -> tuple[Any, str]:
    """The result as a plain value, and the message of an error; empty if there is none."""
    try:
        result = environments.evaluated(program, data)
        if result.type() != environments.binding().Type.ERROR:
            return result.plain_value(), ""
        return None, str(result.value())
    except Exception as error:  # the binding raises RuntimeError, TypeError and whatever a function raised
        return None, str(error) or type(error).__name__


def _functions() -> environments.Functions:
    """The functions of the authorizer and of mutations. What is asked, and what is constructed, are maps."""
    setters = {name: name for name in ("path", "group", "resource", "subresource", "namespace", "name")}
    setters |= {"fieldSelector": "field_selector", "labelSelector": "label_selector"}
    return {
        **{f"{_MAP}:{name}(string) -> {_MAP}": _setter(field) for name, field in setters.items()},
        f"{_MAP}:serviceAccount(string, string) -> {_MAP}": _with_service_account,
        f"{_MAP}:check(string) -> {_MAP}": _check,
        f"{_MAP}:allowed() -> bool": lambda answer: answer["allowed"],
        f"{_MAP}:errored() -> bool": lambda answer: answer["error"] != "",
        f"{_MAP}:error() -> string": lambda answer: answer["error"],
        f"{_MAP}:reason() -> string": lambda answer: answer["reason"],
        f"{CONSTRUCTORS['Object']}(string, {_MAP}) -> {_MAP}": lambda name, values: {TYPE: name, **values},
        f"{CONSTRUCTORS['JSONPatch']}({_MAP}) -> {_MAP}": dict,
        "jsonpatch.escapeKey(string) -> string": lambda key: key.replace("~", "~0").replace("/", "~1"),
    }


def _setter(name: str) -> Any:
    return lambda asked, value: {**asked, name: value}


def _with_service_account(asked: dict[str, Any], namespace: str, name: str) -> dict[str, Any]:
    return {**asked, "service_account": f"{namespace}:{name}"}


def _check(asked: dict[str, Any], verb: str) -> dict[str, Any]:
    question = Question(verb, **{key: value for key, value in asked.items() if key in Question._fields})
    decisions = _current.get()
    decisions.checks += 1
    if decisions.open or decisions.checks > MAXIMUM_CHECKS:
        raise LookupError(_UNANSWERED)
    answer = decisions.answers.get(question)
    if answer is None:
        decisions.open.append(question)
        raise LookupError(_UNANSWERED)
    return answer._asdict()
