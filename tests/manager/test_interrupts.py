"""Ctrl-C at any moment: no acknowledged write is lost, what is half done is reported, and the program ends in time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from pilotage.manager.shutdown import Shutdown
from pilotage.testing import loop

from .interrupts import interrupt, interrupt_process

SHORT = range(5)
MANY = [range(first, first + 20) for first in range(1000, 2000, 20)]


def run(*seeds: int) -> None:
    for seed in seeds:
        loop.run(interrupt(seed), seed=seed)


@pytest.mark.parametrize("seed", SHORT)
def test_ctrl_c_at_a_random_moment_with_50_reconciles_in_flight(seed: int) -> None:
    run(seed)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
def test_ctrl_c_at_1000_random_moments(seeds: range) -> None:
    run(*seeds)


@pytest.mark.parametrize("seed", range(2))
async def test_ctrl_c_of_a_process_on_sqlite(seed: int, tmp_path: Path) -> None:
    await interrupt_process(seed, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
async def test_ctrl_c_of_1000_processes_on_sqlite(seeds: range) -> None:
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            await interrupt_process(seed, Path(folder))


def test_the_simulation_finds_a_report_that_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    shut_down = Shutdown.run

    async def run_and_forget(self: Shutdown) -> tuple[str, ...]:
        return (await shut_down(self))[1:]

    monkeypatch.setattr(Shutdown, "run", run_and_forget)
    with pytest.raises(AssertionError, match="half done, but not in the report"):
        run(*SHORT)
