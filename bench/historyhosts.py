"""What the history costs where reconciles read and write: in memory, on SQLite, and on a real kube-apiserver.

    python -m bench.historyhosts

Each reconcile gets its object from the cache and patches it, after a patch of another client in the same process.
Rounds with the history on and off alternate; the figures are the CPU time of this process, and by how much its memory
has grown after them. The real cluster is left out where its binaries are not built.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time

import pilotage as pt
from bench.figures import memory
from bench.objects import Widget, widget
from bench.recording import WidgetReconciler
from hack.cluster import running
from pilotage.history import HistoryOptions

ROUNDS = 5
TURNS = 5
OBJECTS = 200


async def _round(cluster: pt.Cluster, seed: int, *, enabled: bool) -> float:
    """Seconds of CPU for each event, with its reconcile and both writes."""
    options = pt.ManagerOptions(history=HistoryOptions(enabled=enabled), handle_signals=False)
    async with pt.Manager(cluster, options) as manager:
        WidgetReconciler(manager).setup_with_manager(manager)
        await manager.run_until_idle(None)
        gc.collect()
        began = time.process_time()
        for turn in range(TURNS):
            for number in range(OBJECTS):
                name, patch = widget(number).metadata.name, {"spec": {"size": seed * TURNS + turn}}
                await manager.cluster.client.patch(Widget, patch, name=name, namespace="default")
            await manager.run_until_idle(None)
        return (time.process_time() - began) / (TURNS * OBJECTS)


async def _measure(title: str, cluster: pt.Cluster) -> None:
    async with cluster:
        await cluster.install(Widget)
        for number in range(OBJECTS):
            await cluster.client.create(widget(number))
        await _round(cluster, 1, enabled=True)
        before, rounds = memory(), []
        for number in range(ROUNDS):
            order = (True, False) if number % 2 else (False, True)
            took = {enabled: await _round(cluster, 2 * number + 2 + enabled, enabled=enabled) for enabled in order}
            rounds.append((took[True], took[False]))
        grown = (memory() - before) / 2**20
    on, off = (statistics.median(each) * 1e6 for each in zip(*rounds, strict=True))
    ratio = statistics.median(one / other for one, other in rounds)
    print(f"  {title:<20} {off:>9.1f} us CPU, with the history {on:.1f} us: ratio {ratio:.3f}; memory {grown:+.1f} MiB")


def main() -> None:
    print("\nHistory: an event, a reconcile, a cached get and two writes")
    asyncio.run(_measure("in memory", pt.Cluster.embedded("memory:")))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure("SQLite", pt.Cluster.embedded(f"sqlite:{folder}/bench.db")))
    binaries = running.binaries()
    if isinstance(binaries, str):
        print(f"  {binaries}")
        return
    with running.real_cluster(binaries) as found:
        cluster = pt.Cluster.connect(found.url, token=found.token, ca_file=str(found.ca_file))
        asyncio.run(_measure("kube-apiserver", cluster))


if __name__ == "__main__":
    main()
