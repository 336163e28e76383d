"""The cost of a recording, in a loop with a write in each reconcile, and of its replay by two versions of a program."""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pilotage as pt
from bench.figures import memory
from bench.objects import Widget, widget
from pilotage.history import HistoryOptions
from pilotage.recording import read
from pilotage.replay import Verdict, replay

COUNT = int(os.environ.get("BENCH_RECONCILES", "100000"))
ROUNDS = 5
EVENTS = 2000
MOST_SECONDS = 300.0
"""What the comparison of two versions is to take for 100,000 reconciles."""
FILE_BYTES = 400 * 2**20


class WidgetReconciler:
    """Reads its object from the cache, and writes a label that says how large it is."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Widget, predicates=[pt.generation_changed]).complete(self)

    async def reconcile(self, request: pt.Request) -> None:
        found = await self.client.get(Widget, request)
        patch = {"metadata": {"labels": {"size": self.label(found)}}}
        await self.client.patch(Widget, patch, name=request.name, namespace=request.namespace)

    def label(self, found: Widget) -> str:
        return f"{found.spec.size}"


class OtherReconciler(WidgetReconciler):
    """Another version: it differs for one object in a hundred."""

    def label(self, found: Widget) -> str:
        return super().label(found) + ("x" if found.metadata.name.endswith("00") else "")


async def _loop(count: int, objects: int, file: str = "", size: int = 32 * 2**20) -> float:
    """Seconds of CPU for so many reconciles."""
    history = HistoryOptions(file=file, max_file_bytes=size)
    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(history=history, handle_signals=False)) as manager:
        await manager.cluster.install(Widget)
        for number in range(objects):
            await manager.cluster.client.create(widget(number))
        WidgetReconciler(manager).setup_with_manager(manager)
        await manager.run_until_idle(None)
        gc.collect()
        began = time.process_time()
        for turn in range(count // objects):
            for number in range(objects):
                patch: dict[str, Any] = {"spec": {"size": turn + 2}}
                name = widget(number).metadata.name
                await manager.cluster.client.patch(Widget, patch, name=name, namespace="default")
            await manager.run_until_idle(None)
        return time.process_time() - began


def _cost(folder: Path) -> None:
    """Rounds with and without a file, in turns."""
    rounds: dict[bool, list[float]] = {True: [], False: []}
    for number in range(ROUNDS):
        for recorded in (True, False) if number % 2 else (False, True):
            file = str(folder / f"{number}.rec") if recorded else ""
            rounds[recorded].append(asyncio.run(_loop(EVENTS, 200, file)) / EVENTS)
    on, off = (statistics.median(rounds[each]) * 1e6 for each in (True, False))
    ratio = statistics.median(one / other for one, other in zip(rounds[True], rounds[False], strict=True))
    print(f"  {'patch, event, reconcile, cached get, patch':<46} {off:>9.1f} us CPU, recorded {on:.1f} us: {ratio:.3f}")
    for path in folder.iterdir():
        path.unlink()


def _comparison(folder: Path) -> None:
    """Two versions of a program on a long recording."""
    path = folder / "long.rec"
    asyncio.run(_loop(COUNT, 500, str(path), FILE_BYTES))
    began, before = time.monotonic(), memory()
    (session,) = read(str(path)).sessions
    took_read = time.monotonic() - began
    first = replay(session, lambda manager: WidgetReconciler(manager).setup_with_manager(manager))
    second = replay(session, lambda manager: OtherReconciler(manager).setup_with_manager(manager))
    took = time.monotonic() - began
    count = len(first)
    identical = sum(one.verdict is Verdict.IDENTICAL for one in first)
    different = sum(one.verdict is Verdict.DIFFERENT for one in second)
    size = path.stat().st_blocks * 512 / 2**20
    print(f"  {f'{count:,} reconciles of two versions, compared':<46} {took:>9.1f} s, of which read {took_read:.1f} s")
    print(f"  {'the same for 100,000':<46} {took / count * 100_000:>9.1f} s (aim: {MOST_SECONDS:.0f} s)")
    print(f"  {'identical with the same version':<46} {identical / count:>9.3%}; other version: {different:,} differ")
    print(f"  {'memory for it':<46} {(memory() - before) / 2**20:>9.0f} MiB; the file has room for {size:.0f} MiB")


def main() -> None:
    print("\nRecording and replay")
    with tempfile.TemporaryDirectory() as name:
        _cost(Path(name))
        _comparison(Path(name))


if __name__ == "__main__":
    main()
