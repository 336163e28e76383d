"""The flags of simulated workloads, which `pilotage serve` and `pilotage run` have, and the workloads themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.errors import InvalidDefinition, MissingExtra
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags.fields import flag
from pilotage.kit.console.flags.types import positive

if TYPE_CHECKING:
    from pilotage.cluster.cluster import Cluster
    from pilotage.manager.manager import Manager
    from pilotage.workloads import WorkloadOptions, Workloads

NODES = 3
"""How many nodes there are by default."""


def nodes(switch: str) -> Any:
    """The flag for the number of nodes. `switch` is the flag that it needs."""
    return flag("N", f"with {switch}: the number of simulated nodes (default: {NODES})", None, type=positive)


def faults() -> Any:
    return flag(
        "FAULT",
        "a fault of simulated Pods, such as 'crash-loop labels=app=shop after=10s'; may be repeated",
        (),
        action="append",
    )


def stages(switch: str) -> Any:
    """The flag for Stage files. `switch` is the flag that it needs."""
    return flag(
        "FILE",
        f"with {switch}: a Stage file of kwok, or a folder of such files, whose stages objects go through; may be "
        "repeated",
        (),
        type=Path,
        action="append",
    )


def workload_options(number: int | None, fault: Sequence[str], stage: Sequence[Path] = ()) -> WorkloadOptions:
    """The options that the flags ask for. Raises CommandError."""
    from pilotage.workloads import WorkloadOptions
    from pilotage.workloads.faults.fault import parse
    from pilotage.workloads.stages import stagefiles

    try:
        for text in fault:
            parse(text)
    except InvalidDefinition as error:
        raise CommandError(f"--fault: {error}") from error
    try:
        found = [each for path in stage for each in stagefiles.read_path(path)]
    except (InvalidDefinition, MissingExtra) as error:
        raise CommandError(f"--stages: {error}") from error
    return WorkloadOptions(nodes=number or NODES, faults=tuple(fault), stages=tuple(found))


def check_flags(switch: str, is_on: bool, number: int | None, fault: Sequence[str], stage: Sequence[Path]) -> None:
    """Raise CommandError for flags that need the switch. Reads faults and stages, before anything is started."""
    flags = (("--nodes", number), ("--fault", fault), ("--stages", stage))
    given = [name for name, value in flags if value]
    if given and not is_on:
        raise CommandError(f"{', '.join(given)} needs {switch}")
    if fault or stage:
        workload_options(number, fault, stage)


async def run_until_idle(
    manager: Manager, workloads: Sequence[Workloads], timeout: float | None, horizon: float
) -> None:
    """Run a manager until nothing is left to do, with the simulated workloads beside it."""
    if not workloads:
        await manager.run_until_idle(timeout, horizon)
        return
    from pilotage.workloads import idle

    await idle.run_until_idle(manager, workloads, timeout, horizon)


@asynccontextmanager
async def simulated(cluster: Cluster, options: WorkloadOptions | None) -> AsyncIterator[list[Workloads]]:
    """The workloads, inside the block; none without options."""
    if options is None:
        yield []
        return
    from pilotage.workloads import Workloads

    async with Workloads(cluster, options) as workloads:
        yield [workloads]
