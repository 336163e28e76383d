"""`make bench`: the cost of the data, the embedded server and the client. Prints rates, CPU time, memory and ratios."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import msgspec

import pilotage as pt
from bench.disk import synced
from bench.figures import Figure, measured, measured_async, memory, peak_memory
from bench.objects import Widget, widget
from bench.processes import measure_processes
from bench.rules import MOST_SECONDS, measure_rules
from bench.serving import served
from pilotage.meta import objects
from pilotage.types.core.v1 import ConfigMap

COUNT = int(os.environ.get("BENCH_COUNT", "3000"))
IN_FLIGHT = 64
PARTS = 5
IN_MEMORY = Path("/dev/shm")


def title(text: str) -> None:
    print(f"\n{text}")


def decode() -> None:
    """Reading an object: its header alone, as its type, as a document."""
    made = widget(7)
    made.metadata.uid = "0b2c8b5e-2a4c-4f0e-9d1e-2b1f6f0f8a11"
    data = objects.encode(made)
    rounds = COUNT * 5
    title(f"Decode and encode of a {len(data):,} byte object, one core")
    anchor = measured("json.loads", rounds, lambda: repeat(lambda: json.loads(data), rounds))
    print(anchor.line())
    for name, work in (
        ("msgspec to a document", lambda: msgspec.json.decode(data)),
        ("header", lambda: objects.header(data)),
        ("typed object", lambda: objects.decode(Widget, data)),
        ("encode typed object", lambda: objects.encode(made)),
    ):
        print(measured(name, rounds, partial(repeat, work, rounds)).line(anchor))
    read = objects.decode(Widget, data)
    read.spec.size = 8
    update = partial(repeat, lambda: objects.updated(read), COUNT)
    print(measured("update: the difference on the bytes", COUNT, update).line())


def repeat(work: Callable[[], object], rounds: int) -> None:
    """Repeat the work and keep no results: kept objects would cost time in the garbage collector."""
    for _ in range(rounds):
        work()


async def together(work: Callable[[int], Awaitable[object]], numbers: Iterable[int], in_flight: int) -> None:
    rest = iter(numbers)

    async def one() -> None:
        for number in rest:
            await work(number)

    await asyncio.gather(*(one() for _ in range(in_flight)))


async def fastest(
    name: str, work: Callable[[int], Awaitable[object]], count: int, in_flight: int, *, pid: int
) -> Figure:
    """The fastest of some parts of the work: that of a quiet moment, if other programs run, too."""
    size = math.ceil(count / PARTS)
    parts = [range(first, min(first + size, count)) for first in range(0, count, size)]
    figures = [
        await measured_async(name, len(part), partial(together, work, part, in_flight), pid=pid) for part in parts
    ]
    return max(figures, key=lambda figure: figure.rate)


async def verbs(client: pt.Client, label: str, *, pid: int = 0, count: int = COUNT) -> dict[str, Figure]:
    """Create, get, list and watch through one client."""
    figures: dict[str, Figure] = {}

    made = [widget(number) for number in range(count)]
    gc.collect()
    gc.freeze()  # the collector must not scan the benchmark's own objects again and again

    async def create(number: int) -> object:
        return await client.create(made[number])

    async def get(number: int) -> object:
        return await client.get(Widget, f"widget-{number:06}", namespace="default")

    async def list_all() -> None:
        assert len(await client.list(Widget, namespace="default")) == count

    async def watch_all() -> None:
        async with client.watch(Widget, namespace="default") as events:
            seen = 0
            async for _ in events:
                seen += 1
                if seen == count:
                    return

    single = max(count // 5, 1)
    figures["create"] = await fastest(f"create, {IN_FLIGHT} in flight", create, count, IN_FLIGHT, pid=pid)
    figures["get"] = await fastest("get, one after another", get, count, 1, pid=pid)
    figures["get 64"] = await fastest(f"get, {IN_FLIGHT} in flight", get, count, IN_FLIGHT, pid=pid)
    figures["list"] = await measured_async("list, objects", count, list_all, pid=pid)
    figures["watch"] = await measured_async("watch, initial events", count, watch_all, pid=pid)
    await client.delete_all_of(Widget, namespace="default")
    made = [widget(number) for number in range(single)]
    figures["create 1"] = await fastest("create, one after another", create, single, 1, pid=pid)
    await client.delete_all_of(Widget, namespace="default")
    return figures


LEAST = {"create": 10_000, "create 1": 10_000, "get": 20_000, "get 64": 20_000}
LEAST_DURABLE = {"create": 3_000, "create 1": 1_000}
"""The rates in process that are aimed at on two quiet cores; those of SQLite where the disk is fast enough."""


async def durable(folder: Path, label: str) -> None:
    """SQLite storage in a folder, beside what its disk can do."""
    rate = synced(folder)
    await in_process(f"sqlite:{folder}/bench.db", f"SQLite storage {label}", LEAST_DURABLE)
    print(f"  {'fdatasync of 4 KiB there, one after another':<46} {rate:>12,.0f}/s")


async def in_process(url: str, label: str, least: Mapping[str, float]) -> None:
    started = time.perf_counter()
    async with pt.Cluster.embedded(url) as cluster:
        opened = time.perf_counter() - started
        await cluster.install(Widget)
        ready = time.perf_counter() - started
        title(f"In process, {label}: open in {opened * 1e3:.0f} ms, a CRD installed after {ready * 1e3:.0f} ms")
        figures = await verbs(cluster.client, label)
    for name, figure in figures.items():
        print(figure.line(), f" (aim: {least[name]:,}/s)" if name in least else "")


async def collection(url: str, label: str, count: int = 10_000) -> None:
    """The dependents of one owner, from its deletion until the last one is deleted."""
    async with pt.Cluster.embedded(url) as cluster:
        owner = await cluster.client.create(config_map("owner"))
        reference = pt.OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)

        async def create(number: int) -> object:
            return await cluster.client.create(config_map(f"dependent-{number}", reference))

        async def delete() -> None:
            await cluster.client.delete(owner)
            while cluster.busy():  # noqa: ASYNC110 - as `run_until_idle` waits for it
                await asyncio.sleep(0.001)

        await together(create, range(count), IN_FLIGHT)
        figure = await measured_async(f"garbage collection, {label}", count, delete)
        assert not await cluster.client.list(ConfigMap, namespace="default")
    print(figure.line())


def config_map(name: str, *owners: pt.OwnerReference) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default", owner_references=list(owners)))


async def over_https(storage: str, label: str) -> dict[str, Figure]:
    with served(storage) as server:
        async with server.connect() as cluster:
            await cluster.install(Widget)
            title(f"Over HTTPS, {label}, server in a separate process: ready {server.ready * 1e3:.0f} ms after start")
            figures = await verbs(cluster.client, label, pid=server.pid, count=min(COUNT, 2000))
    for figure in figures.values():
        print(figure.line())
    return figures


async def real(ours: dict[str, Figure]) -> None:
    """The reference: kube-apiserver and etcd, with the same client."""
    from hack.cluster import running

    binaries = running.binaries()
    if isinstance(binaries, str):
        title(f"Real kube-apiserver: {binaries}")
        return
    started = time.perf_counter()
    with running.real_cluster(binaries) as found:
        ready = time.perf_counter() - started
        cluster = pt.Cluster.connect(found.url, token=found.token, ca_file=str(found.ca_file))
        async with cluster:
            await cluster.install(Widget)
            await asyncio.sleep(2.5)  # kube-apiserver delays creates for 2 s after a CRD is established
            title(f"Real kube-apiserver and etcd (no fsync), the same client: ready {ready * 1e3:.0f} ms after start")
            figures = await verbs(cluster.client, "real", count=min(COUNT, 1000))
    for name, figure in figures.items():
        print(figure.line())
        print(f"  {'ours over HTTPS':<46} {ours[name].rate / figure.rate:12.1f} times that rate")


def stored_bytes() -> None:
    """Memory for each stored object, measured in a process that holds many."""
    title("Memory of the embedded server on memory storage")
    apart("bench.held")


def apart(module: str) -> None:
    """Measure in a separate process without other objects."""
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", module], check=True)


def imports() -> None:
    """The import of the package, compared with the imports that it needs at least."""

    def milliseconds(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (time.perf_counter() - started) * 1e3

    programs = (
        "import asyncio, msgspec",
        "import asyncio, msgspec, pilotage",
        "import asyncio, msgspec, pilotage.types.core.v1",
        "import asyncio, pilotage as pt\n"
        "async def main():\n"
        "    async with pt.Cluster.embedded('memory:'): pass\n"
        "asyncio.run(main())",
    )
    title("Start-up, best of 10, whole process")
    rounds = [[milliseconds(code) for code in programs] for _ in range(10)]  # in turns: other programs may run, too
    base, ours, types, embedded = (min(times) for times in zip(*rounds, strict=True))
    print(f"  import asyncio, msgspec {base:.0f} ms; and pilotage {ours:.0f} ms ({ours - base:+.0f})")
    print(f"  and pilotage.types.core.v1 {types - base:+.0f} ms")
    print(f"  an embedded server opened and closed, whole process: {embedded:.0f} ms")


async def main() -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {COUNT} objects")
    imports()
    decode()
    await in_process("memory:", "memory storage", LEAST)
    if IN_MEMORY.is_dir():  # noqa: ASYNC240
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            await durable(Path(folder), "without a disk: on a file system in memory")
    with tempfile.TemporaryDirectory() as folder:
        await durable(Path(folder), "(every create durable)")
        title("Garbage collection of 10,000 dependents, in process (under 3 s)")
        await collection("memory:", "memory storage")
        await collection(f"sqlite:{folder}/collection.db", "SQLite storage")
        ours = await over_https("memory:", "memory storage")
        await over_https(f"sqlite:{folder}/served.db", "SQLite storage")
    await real(ours)
    stored_bytes()
    title(f"Expensive CEL rules on large objects (under {MOST_SECONDS} s each)")
    measure_rules()
    title("Admission policies")
    apart("bench.policies")
    apart("bench.writes")
    apart("bench.tracking")
    apart("bench.definitions")
    await measure_processes()
    apart("bench.history")
    apart("bench.recording")
    apart("bench.loop")
    print(f"\npeak memory of this process: {peak_memory():.0f} MiB, now {memory() / 2**20:.0f} MiB")


asyncio.run(main())
