"""`make bench-device`: cost and latency of the Device API server; exit code 1 if a limit is exceeded.

BENCH_SECONDS (120) is how long the load goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from bench.device import fanout, load
from bench.figures import cpu_of, memory
from hack.device.running import device_server
from pilotage.device.client.target import Target

SECONDS = float(os.environ.get("BENCH_SECONDS", "120"))
LIMITS = ("--requests-per-second", "0", "--connections", "200", "--connections-per-uid", "200")
SERVER = ("--gate-seconds", "0", "--log-level", "error", *LIMITS)

broken: list[str] = []


def bound(what: str, value: float, limit: float) -> None:
    if not value < limit:
        broken.append(f"{what} is {value:.1f}, not below {limit:g}")


async def under_load(folder: Path, storage: str) -> None:
    mix = load.Mix(seconds=SECONDS)
    print(
        f"\nLoad: {mix.gpus} GPUs, {mix.watchers} watchers that reconnect, {SECONDS:.0f} s, {storage.partition(':')[0]}"
    )
    with device_server(folder, "--storage", storage, *SERVER) as server:
        before, begun = cpu_of(server.pid), time.monotonic()
        outcome = await load.run(Target.parse(server.target), mix)
        share = (cpu_of(server.pid) - before) / (time.monotonic() - begun)
    for kind, latencies in sorted(outcome.calls.items()):
        print(latencies.line(kind))
        p95, p99 = load.BOUNDS[kind == "list"]
        bound(f"p95 of {kind}", latencies.percentile(95), p95)
        bound(f"p99 of {kind}", latencies.percentile(99), p99)
    print(
        f"  {len(outcome.written):,} status writes, {outcome.conflicts} conflicts, {outcome.given_up} given up; "
        f"{outcome.events:,} events to the watchers, {outcome.reconnects} reconnects; "
        f"{'; '.join(outcome.faults) or 'every version seen once by each watcher'}; server {share:.1%} of a core"
    )
    broken.extend(outcome.faults)


async def many_watchers(folder: Path) -> None:
    plan = fanout.Fanout()
    print(f"\nFan-out: {plan.watchers} watchers in {plan.processes} processes, {plan.rate:.0f} changes a second")
    with device_server(folder, *SERVER) as server:
        target = Target.parse(server.target)
        writes = await fanout.writes_alone(target, server.pid, plan)
        print(f"  writes alone cost the server {writes / plan.changes * 1e6:.0f} us of CPU each")
        whole = await fanout.ours(target, server.pid, plan)
    print(whole.lines("ours, watched by the SDK", writes))
    with device_server(folder, *SERVER) as server:
        bare = await fanout.ours(Target.parse(server.target), server.pid, plan, way="channel")
    print(bare.lines("ours, watched by bare channels", writes))
    anchor = await asyncio.to_thread(fanout.plain_grpclib, folder, plan, 240)
    print(anchor.lines("plain grpclib, bare channels"))
    ratio = bare.microseconds(writes) / anchor.microseconds()
    print(f"  a delivery costs {ratio:.2f} of what it costs with plain grpclib")
    for name, found in (("the SDK", whole), ("bare channels", bare)):
        bound(f"p99 of the fan-out to {name}", found.latencies.percentile(99), fanout.BOUND)
        if found.short or found.repeated:
            broken.append(f"{found.short} watchers missed changes, {found.repeated} came twice")


async def beginnings(folder: Path) -> None:
    print("\nStart and memory")
    for count in (8, 256, 1024):
        with device_server(folder, "--provider", "fake", "--period", "0", "--count", str(count), *SERVER) as server:
            server.kill()
            accepting = server.start()
            begun = time.monotonic()
            async with load.connected(Target.parse(server.target)) as gpus, gpus.follow() as events:
                for _ in range(count):
                    await anext(events)
            serving = accepting + time.monotonic() - begun
            held = memory(server.pid) / 2**20
        print(
            f"  {count:>5} fake GPUs: accepts connections after {accepting * 1e3:.0f} ms, all are served after "
            f"{serving * 1e3:.0f} ms, {held:.0f} MiB"
        )


async def main() -> int:
    logging.getLogger("pilotage").setLevel(logging.CRITICAL)  # conflicts are part of the load
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        await under_load(Path(folder), "memory:")
        await under_load(Path(folder), f"sqlite:{folder}/gpus.db")
        await many_watchers(Path(folder))
        await beginnings(Path(folder))
    for line in broken:
        print(f"BROKEN: {line}")
    return 1 if broken else 0


sys.exit(asyncio.run(main()))
