"""Random sequences of requests, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from ..server.differential import Scenario, Step
from . import definitions, subjects
from .reads import Reads
from .subjects import Subject
from .writes import Writes

CUSTOM_KINDS = 4
"""In each batch: a definition takes seconds on the real server."""
LENGTH = 9
"""Requests in a sequence, at least."""


@dataclass(frozen=True)
class Batch:
    """Sequences that share their custom kinds."""

    seed: int
    number: int
    kinds: list[Subject] = field(init=False)
    builtin: list[Subject] = field(init=False)

    def __post_init__(self) -> None:
        chance = Random(f"kinds-{self.seed}-{self.number}")
        made = [definitions.custom(chance, f"{self.name}.example.com", index) for index in range(CUSTOM_KINDS)]
        object.__setattr__(self, "kinds", [*made, definitions.owned_part(f"parts.{self.name}.example.com")])
        object.__setattr__(self, "builtin", subjects.builtin())

    @property
    def name(self) -> str:
        return f"batch-{self.seed}-{self.number}"

    def sequence(self, number: int) -> Scenario:
        """The sequence of a number."""
        chance = Random(f"{self.name}-{number}")
        name = f"{self.name}-{number}"
        roll = chance.random()
        if roll < 0.03:
            return Scenario(name, _definitions(chance), managed_fields=True, lenient=True)
        subject = chance.choice(self.kinds if roll < 0.43 else self.builtin)
        steps = Steps(subject, chance)
        while len(steps.made) < LENGTH:
            steps.add()
        found = [subject.definition] if subject.definition else []
        return Scenario(name, steps.made, found, managed_fields=True, lenient=True)


def _definitions(chance: Random) -> list[Step]:
    target = f"{definitions.DEFINITIONS}?dryRun=All"
    made = [definitions.odd_definition(chance) for _ in range(LENGTH)]
    return [Step(f"{number} define", "POST", target, body) for number, body in enumerate(made, start=1)]


class Steps(Writes, Reads):
    """The requests about the objects of one kind."""

    def add(self) -> None:
        """Add one request, or two that belong together."""
        self._subject = self._chance.choice(self._subjects)
        if not self.made or self._subject.dry_run:
            return self._chance.choice([self._create, self._create, self._apply])()
        choices: list[tuple[int, Callable[[], None]]] = [
            (3, self._create),
            (5, self._update),
            (2, self._replace),
            (4, self._merge),
            (3, self._json),
            (5, self._apply),
            (2, self._delete),
            (2, self._get),
        ]
        if "." not in self._subject.api_version.partition("/")[0] or self._likely(0.05):
            choices.append((4, self._strategic))
        if self._subject.status or self._likely(0.05):
            choices.append((4, self._status))
        if self._subject.scale or self._likely(0.05):
            choices.append((3, self._scale))
        if self._subject.namespaced:
            choices += [(4, self._list), (1, self._delete_collection), (2, self._watch)]
        weights = [weight for weight, _ in choices]
        return self._chance.choices([make for _, make in choices], weights)[0]()
