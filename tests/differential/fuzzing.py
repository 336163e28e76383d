"""Random sequences on both servers: what differs is made small, and reported once."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hack.cluster.running import RealCluster
from pilotage.kubernetes.assembly import cluster_context
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ..server.differential import DEFINITIONS, Saved, Scenario, Step
from ..server.replaying import TOKEN, Answers, replay_on_ours, replay_on_real
from .generator import Batch
from .known import Found, ends, unknown
from .shrinking import shrunk

SEQUENCES_IN_A_BATCH = 60
AT_ONCE = 4
ALLOCATED = re.compile(r"\b10\.0\.\d+\.\d+\b")
NODE_PORT = re.compile(r":3\d{4}/")
AGE = re.compile(r"\d+[sm]")


@dataclass(frozen=True)
class Finding:
    """A step that is answered differently, after those before it."""

    scenario: Scenario
    steps: Sequence[Step]
    found: Sequence[Found]

    @property
    def signature(self) -> str:
        """What two findings of the same cause have in common, most of the time."""
        step = self.steps[-1]
        place, real, ours = self.found[0]
        values = (
            "" if place not in (".status", ".body.message") else f" {_without_names(real)} / {_without_names(ours)}"
        )
        resource = re.sub(r"<[^>]*>|\?.*|/-?(one|two)|batch-[0-9-]+", "", step.target)
        return f"{step.what.partition(' ')[2]} {resource} {re.sub(r'[0-9]+', '#', place)}{values}"

    def __str__(self) -> str:
        lines = [f"{self.scenario.name}: {self.signature}"]
        for definition in self.scenario.definitions:
            lines.append(f"  definition: {json.dumps(definition['spec']['versions'][0]['schema'])}")
        for step in self.steps:
            saved = f" saved as {step.save}" if step.save else ""
            lines.append(f"  {step.method} {step.target} {step.content_type}{step.accept}{saved}")
            if step.body is not None:
                lines.append(f"    {_body(step.body)}")
        for place, real, ours in self.found[:8]:
            lines += [f"  {place}", f"    real: {json.dumps(real)}", f"    ours: {json.dumps(ours)}"]
        return "\n".join(lines)


def _without_names(value: Any) -> str:
    return re.sub(r'"[^"]*"|[0-9]+', "#", str(value))[:120]


def _body(body: Any) -> str:
    return f"<{body.name}> with {json.dumps(body.changes)}" if isinstance(body, Saved) else json.dumps(body)


def masked(value: Any, key: str = "") -> Any:
    """An answer without ages, and the addresses and ports that each server allocates as it likes."""
    if isinstance(value, dict):
        return {name: masked(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [masked(item, key) for item in value if not _occasional(item)]
    if isinstance(value, str):
        if key == "cells" and AGE.fullmatch(value):
            return "<age>"
        if "errors:\n" in value:  # of the fields of a map, in random order
            value = "\n".join(sorted(value.split("\n")))
        value = re.sub(r"\\x([0-9a-f]{2})", r"\\u00\1", value)  # Go quotes texts of some types as JSON
        return NODE_PORT.sub(":<allocated>/", ALLOCATED.sub("<allocated>", value))
    if key in ("nodePort", "healthCheckNodePort") and value >= 30000:
        return "<allocated>"
    return value


def _occasional(event: Any) -> bool:
    """Whether it is a bookmark that is sent from time to time, not the one at the end of the initial events."""
    if not isinstance(event, dict) or event.get("type") != "BOOKMARK":
        return False
    return "initial-events-end" not in json.dumps(event)


@dataclass
class Fuzzer:
    """A run on one real server; ours is a new one for each sequence."""

    cluster: RealCluster
    report: Callable[[str], None]
    sequences: int = 0
    requests: int = 0
    unstable: int = 0
    """Differences that could not be reproduced."""
    unanswered: int = 0
    """Sequences in which the real server closed the connection without an answer."""
    findings: dict[str, Finding] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _attempts: int = 0

    async def batch(self, batch: Batch, more: Callable[[], bool], only: int | None = None) -> None:
        """Run sequences until the time is over, several at once: most of their time they wait."""
        definitions = [subject.definition for subject in batch.kinds if subject.definition]
        accepted = await asyncio.gather(*(self._define(batch.name, definition) for definition in definitions))
        refused = [definition for definition, good in zip(definitions, accepted, strict=True) if not good]
        numbers = iter(range(SEQUENCES_IN_A_BATCH) if only is None else [only])

        async def worker() -> None:
            for number in numbers:
                scenario = batch.sequence(number)
                if more() and not any(each in refused for each in scenario.definitions):
                    await self._sequence(scenario)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(worker())

    async def _define(self, name: str, definition: Mapping[str, Any]) -> bool:
        """Whether both servers accept a definition, which is then served by the real one."""
        plural = definition["spec"]["names"]["plural"]
        asked = Step("1 define", "POST", f"{DEFINITIONS}?dryRun=All", definition)
        scenario = Scenario(f"{name}-{plural}", [asked], managed_fields=True)
        await self._sequence(scenario)
        if any(answers[0]["status"] >= 400 for answers in await self._answers(scenario)):
            return False
        await asyncio.to_thread(replay_on_real, Scenario(f"{name}-{plural}", [], [definition]), self.cluster)
        return True

    async def _sequence(self, scenario: Scenario) -> None:
        found = await self._difference(scenario, scenario.steps)
        self.sequences += 1
        self.requests += len(scenario.steps)
        if found is None:
            return
        self.counts[found.signature] += 1
        if found.signature in self.findings:
            return
        if (again := await self._difference(scenario, found.steps)) is None:
            self.unstable += 1
            return
        self.findings[found.signature] = again
        self.findings[found.signature] = smallest = await self._smallest(again)
        self.report(str(smallest))

    async def _smallest(self, finding: Finding) -> Finding:
        best = finding

        async def shows(steps: Sequence[Step]) -> bool:
            nonlocal best
            found = await self._difference(finding.scenario, steps)
            if found is None or len(found.steps) != len(steps) or found.signature != finding.signature:
                return False
            best = found
            return True

        await shrunk(finding.steps, shows)
        return best

    async def _difference(self, scenario: Scenario, steps: Sequence[Step]) -> Finding | None:
        """The first step that is answered differently."""
        try:
            real, ours = await self._answers(replace(scenario, steps=steps))
        except (http.client.HTTPException, OSError):  # the real server has failed, and closed the connection
            self.unanswered += 1
            return None
        except (AssertionError, KeyError):  # an answer that a later step uses is missing, or is an error
            return None
        for index, (one, other) in enumerate(zip(masked(real), masked(ours), strict=True)):
            if ends(one, other):
                return None
            if found := unknown(one, other):
                return Finding(scenario, steps[: index + 1], found)
        return None

    async def _answers(self, scenario: Scenario) -> tuple[Answers, Answers]:
        """Those of both servers, in a namespace that no other run has."""
        self._attempts += 1
        run = replace(scenario, name=f"{scenario.name}-{self._attempts}")
        real = asyncio.to_thread(replay_on_real, replace(run, definitions=()), self.cluster)
        both: tuple[Answers, Answers] = await asyncio.gather(real, _on_ours(run))
        return both


async def _on_ours(scenario: Scenario) -> Answers:
    # As the real server is started: no kube-controller-manager, and all admission plugins but ServiceAccount.
    context = cluster_context(MemoryStorage(), disable=["ServiceAccount"])
    registry = Registry(replace(context, controllers=frozenset(), contents=None))  # not entered: no background loops
    return await replay_on_ours(scenario, HTTPHandler(registry, TOKEN))
