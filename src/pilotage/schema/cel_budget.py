"""How much a CEL rule may cost. There is no cost model in the binding, so this bounds the work from outside.

The binding itself stops an expression after 10,000 iterations. What one iteration costs is bounded here, before it
runs, from the text of the expression and the sizes in the document: how often it can loop, how large a value it can
build, how many steps look at that value. The bounds are some twenty times above Kubernetes' own run-time limit, and
small enough that nothing runs for more than about a second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

ITERATIONS = 10_000
WORK_OF_ONE = 2e8
WORK_OF_ALL = 1e9
_SMALLEST = 16  # even a look at nothing costs something

_QUOTED = re.compile(
    r"""[bB]?[rR]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*""",
    re.DOTALL,
)
_LOOPS = ("all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy", "transformList", "transformMap")
_BINDERS = (*_LOOPS, "bind", "optMap", "optFlatMap")
_TOKEN = re.compile(r"(\w+)\s*\(|[()]")
_LITERAL_REPLACE = re.compile(r"replace\s*\(\s*(?:''|\"\")\s*,\s*(?:''|\"\")")
_BUILDING = re.compile(r"\b(?:replace|join|format)\s*\(")
_STEP = re.compile(r"\(|==|!=|<|>|\+|\bin\b")


@dataclass(frozen=True)
class Shape:
    """What the text of an expression says about its cost."""

    loops: int
    nesting: int
    binders: int
    additions: int
    building: int
    steps: int


@dataclass(frozen=True)
class Sizes:
    """The longest string and the largest collection of a document."""

    longest: int
    largest: int


def without_literals(text: str) -> str:
    """An expression with its strings emptied and its comments gone, at the same columns' order of tokens."""
    return _QUOTED.sub(lambda found: "" if found.group(0).startswith("//") else "''", text)


def shape(text: str) -> Shape:
    bare = without_literals(text)
    loops = binders = nesting = depth = deepest = 0
    stack: list[bool] = []
    for token in _TOKEN.finditer(bare):
        if token.group(0) == ")":
            depth -= bool(stack and stack.pop())
            continue
        name = token.group(1)
        looping = name in _LOOPS
        loops += looping
        binders += name in _BINDERS
        stack.append(looping)
        depth += looping
        deepest = max(deepest, depth)
    nesting = deepest
    building = len(_BUILDING.findall(bare)) - len(_LITERAL_REPLACE.findall(bare))
    return Shape(loops, nesting, binders, bare.count("+"), building, 1 + len(_STEP.findall(bare)))


def work(of: Shape, sizes: Sizes) -> float:
    """An upper bound for the characters and items that an evaluation looks at or builds."""
    longest = float(max(sizes.longest, sizes.largest, _SMALLEST))
    rounds = min(ITERATIONS, of.loops * float(sizes.largest) ** of.nesting) if of.loops else 1.0
    # Values grow by + most where each step binds the last one's result: (a + a), (b + b) …
    chains = max(1, min(of.binders, of.additions))
    growth = min(1e30, (of.additions / chains + 1) ** chains) * min(1e30, longest**of.building)
    small = growth * longest < WORK_OF_ONE / ITERATIONS
    return rounds * of.steps * longest * (1.0 if small else growth)


def measure(document: Any) -> Sizes:
    longest = largest = 0
    stack = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            longest = max(longest, len(value))
        elif isinstance(value, dict):
            largest = max(largest, len(value))
            stack.extend(value.values())
        elif isinstance(value, list):
            largest = max(largest, len(value))
            stack.extend(value)
    return Sizes(longest, largest)


class Budget:
    """What is left for the rules of one object."""

    def __init__(self, *documents: Any) -> None:
        measured = [measure(document) for document in documents]
        self._sizes = Sizes(max(each.longest for each in measured), max(each.largest for each in measured))
        self._left = WORK_OF_ALL

    def allows(self, expression: Shape) -> bool:
        """Take the cost of one evaluation; False if that is too much, or too much is gone already."""
        cost = work(expression, self._sizes)
        if cost > WORK_OF_ONE or cost > self._left:
            return False
        self._left -= cost
        return True
