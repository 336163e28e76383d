"""Random CEL expressions of admission, and the time of each beside the bound that was computed before it ran."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from pilotage.schema.cel.admission.budget import RequestBudget
from pilotage.schema.cel.admission.evaluation import AdmissionExpression, bound_of
from pilotage.schema.cel.expression import CompileError, EvaluationError

DOCUMENT: dict[str, Any] = {
    "s": "ab" * 500,
    "n": list(range(300)),
    "l": [f"text {number}" for number in range(300)],
    "m": {f"k{number}": "v" * 10 for number in range(100)},
}
TEXTS = (
    "object.s",
    "'abc'",
    "({t} + {t})",
    "{t}.lowerAscii()",
    "{t}.replace('a', {t})",
    "{l}.join('-')",
    "string({n})",
)
LISTS = (
    "object.l",
    "{t}.split('b')",
    "{l}.map(x, x + {t})",
    "{l}.filter(x, dyn(x) != {t})",
    "({l} + {l})",
    "{i}.map(i, {t})",
    "{l}.sortBy(x, x)",
    "{l}.distinct()",
    "{l}.reverse()",
    "object.m.map(k, object.m[k])",
)
INTEGERS = (
    "object.n",
    "lists.range(200)",
    "lists.range({n})",
    "{i}.map(i, i + 1)",
    "{i}.sort()",
    "{i}.filter(i, i > 9)",
)
NUMBERS = ("{t}.size()", "{l}.size()", "{i}.size()", "{i}.sum()", "{l}.indexOf({t})", "7")
TESTS = (
    "{t} == {t}",
    "{l} == {l}",
    "{l}.all(x, {t} != dyn(x))",
    "{l}.exists(x, string(dyn(x)).contains({t}))",
    "{i}.all(i, {i}.exists(j, i == j))",
    "sets.contains({l}, {l})",
    "{n} in {i}",
    "{t}.startsWith({t})",
    "{l}.transformMap(i, v, v).size() > {n}",
    "{i}.map(i, {i}).size() > 0",
    "'%s %s'.format([{t}, {n}]) != ''",
    "{i}.isSorted() && {l}.isSorted()",
)
_MOST = 60e6
KINDS = {"t": TEXTS, "l": LISTS, "i": INTEGERS, "n": NUMBERS, "b": TESTS}


def _random(choose: random.Random, kind: str, depth: int) -> str:
    """A random expression; the first ones of a kind have no parts."""
    text = choose.choice(KINDS[kind][: 1 if depth <= 0 and kind != "b" else None])
    for part in KINDS:
        while f"{{{part}}}" in text:
            text = text.replace(f"{{{part}}}", _random(choose, part, depth - 1), 1)
    return text


class Measured(NamedTuple):
    """The faster one of two evaluations of an expression."""

    text: str
    nanoseconds: float
    bound: float


def measured(seed: int, count: int) -> Iterator[Measured]:
    """Those of so many random expressions that are cheap enough to be evaluated."""
    choose = random.Random(seed)
    for _ in range(count):
        with suppress(EvaluationError, CompileError):  # too expensive; or the checker misjudges the type of an item
            expression = AdmissionExpression(_random(choose, "b", 3))
            bound = bound_of(expression, {"object": DOCUMENT})
            RequestBudget().check(bound)
            if bound.nanoseconds < _MOST:
                took = min(_evaluated(expression), _evaluated(expression))
                yield Measured(expression.text, took, bound.nanoseconds)


def _evaluated(expression: AdmissionExpression) -> float:
    begin = time.thread_time_ns()
    with suppress(EvaluationError):
        expression.evaluate({"object": DOCUMENT})
    return float(time.thread_time_ns() - begin)
