"""Random sequences on both servers: what differs is made small, and reported once."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hack.cluster.running import RealCluster
from pilotage.server.assembly import cluster_context
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ..server.differential import Saved, Scenario, Step
from ..server.replaying import TOKEN, Answers, replay_on_ours, replay_on_real
from .generator import Batch
from .known import Found, unknown
from .shrinking import shrunk

SEQUENCES_IN_A_BATCH = 60
ALLOCATED = re.compile(r"\b10\.0\.0\.\d+\b")
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
        if value.get("kind") == "Table":  # the version of a list is that of the whole storage
            value = {**value, "metadata": {**value["metadata"], "resourceVersion": "<any>"}}
        return {name: masked(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [masked(item, key) for item in value]
    if isinstance(value, str):
        if key == "cells" and AGE.fullmatch(value):
            return "<age>"
        value = re.sub(r"\\x([0-9a-f]{2})", r"\\u00\1", value)  # Go quotes texts of some types as JSON
        return NODE_PORT.sub(":<allocated>/", ALLOCATED.sub("<allocated>", value))
    if key in ("nodePort", "healthCheckNodePort") and value >= 30000:
        return "<allocated>"
    return value


@dataclass
class Fuzzer:
    """A run on one real server; ours is a new one for each sequence."""

    cluster: RealCluster
    report: Callable[[str], None]
    sequences: int = 0
    requests: int = 0
    unstable: int = 0
    """Differences that did not show again."""
    unanswered: int = 0
    """Sequences in which the real server closed the connection without an answer."""
    findings: dict[str, Finding] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _attempts: int = 0

    async def batch(self, batch: Batch, more: Callable[[], bool], only: int | None = None) -> None:
        """Sequences while there is to be more."""
        definitions = [subject.definition for subject in batch.kinds if subject.definition]
        await asyncio.to_thread(replay_on_real, Scenario(batch.name, [], definitions), self.cluster)
        for number in range(SEQUENCES_IN_A_BATCH) if only is None else [only]:
            if not more():
                return
            await self._sequence(batch.sequence(number))

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
        self._attempts += 1
        run = replace(scenario, name=f"{scenario.name}-{self._attempts}", steps=steps)
        try:
            real, ours = await asyncio.gather(
                asyncio.to_thread(replay_on_real, replace(run, definitions=()), self.cluster), _on_ours(run)
            )
        except (http.client.HTTPException, OSError):  # the real server has failed, and closed the connection
            self.unanswered += 1
            return None
        except (AssertionError, KeyError):  # an answer that a later step uses is missing, or is an error
            return None
        for index, (one, other) in enumerate(zip(masked(real), masked(ours), strict=True)):
            if found := unknown(one, other):
                return Finding(scenario, steps[: index + 1], found)
        return None


async def _on_ours(scenario: Scenario) -> Answers:
    # As the real server is started: no kube-controller-manager, and all admission plugins but ServiceAccount.
    context = cluster_context(MemoryStorage(), disable=["ServiceAccount"])
    registry = Registry(replace(context, garbage_collection=False, contents=None))  # not entered: no background loops
    return await replay_on_ours(scenario, HTTPHandler(registry, TOKEN))
