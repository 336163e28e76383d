"""The operators of the examples as scenarios for chaos."""

from __future__ import annotations

import pilotage as pt
from pilotage.meta.documents import copied
from pilotage.testing import Environment, chaos
from tests.faults.operators import OPERATORS, Operator
from tests.faults.simulation import _definition


def scenario_of(name: str) -> chaos.Scenario:
    """Users act one after the other, and the program is idle in between."""
    operator: Operator = OPERATORS[name]

    async def scenario(env: Environment) -> None:
        for kind in operator.installed:
            await env.cluster.client.create(pt.Unstructured(copied(_definition(kind))))
        users = env.client.with_namespace("default")
        async with env.running(operator.setup):
            for step in operator.steps:
                await step(users)
                await env.run_until_idle()

    scenario.__qualname__ = name
    return scenario
