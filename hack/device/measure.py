"""Measurements that need a machine with a GPU, in one run: `python hack/device/measure.py FOLDER`.

It needs no network: only Python, the packages (PYTHONPATH will do) and a driver. Into the folder go

- inventory.json: what each call of NVML answers, and how long it takes
- recording.json: the answers over time, at idle, under load and at rest again: for the provider `replay`
- cost.json: the share of a core that polling takes
- latency.json: from a condition set by a provider to the reconcile that it starts, over the socket

Each part is tried by itself; what fails is printed and left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from pilotage.device.providers.nvml.bindings import BoundLibrary
from pilotage.device.providers.nvml.calls import DEVICE_CALLS, IDENTITY_CALLS, SYSTEM_CALLS
from pilotage.device.providers.nvml.library import Library, NVMLError
from pilotage.device.providers.nvml.opening import open_library
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.provider import NVMLProvider
from pilotage.device.providers.nvml.worker import WorkerThread
from pilotage.device.providers.record import record
from pilotage.device.providers.recording import load
from pilotage.device.providers.replay import ReplayLibrary

LIBRARY: Callable[[], Library] = BoundLibrary
PARTS = ("inventory", "record", "cost", "latency")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of recording at idle and under load each (60)")
    parser.add_argument("--changes", type=int, default=3000, help="whose latency is measured (3000)")
    parser.add_argument("--rate", type=float, default=100.0, help="changes in a second (100)")
    parser.add_argument("--replay", help="a recording to ask instead of a driver: to try this program")
    parser.add_argument("--role", choices=("writer", "load"), help=argparse.SUPPRESS)
    parser.add_argument("--target", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "load":
        return burn()
    if options.role == "writer":
        asyncio.run(write(options.target, options.changes, options.rate))
        return 0
    if options.replay:
        global LIBRARY
        LIBRARY = partial(ReplayLibrary, load(options.replay), loop=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[], object]] = {
        "inventory": inventory,
        "record": lambda: recorded(options.folder, options.seconds),
        "cost": lambda: asyncio.run(cost(options.seconds)),
        "latency": lambda: asyncio.run(latency(options.changes, options.rate)),
    }
    failed = [part for part in options.only if not tried(part, parts[part], options.folder)]
    print(f"failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def tried(part: str, measure: Callable[[], object], folder: Path) -> bool:
    print(f"== {part}", flush=True)
    started = time.monotonic()
    try:
        result = measure()
    except Exception:
        traceback.print_exc()
        return False
    if result is not None:
        text = json.dumps(result, indent=1)
        (folder / f"{part}.json").write_text(text)
        print(text if len(text) < 6000 else text[:6000] + " …")
    print(f"== {part} took {time.monotonic() - started:.1f} s", flush=True)
    return True


# Answers of NVML


def inventory() -> dict[str, Any]:
    library = LIBRARY()
    shown = open_library(library)
    answers: dict[str, Any] = {call: answered(library, call, -1) for call in SYSTEM_CALLS}
    answers["telling"] = sorted(shown.event_gpus)
    for identity in shown.identities:
        answers[f"device {identity.index}"] = {call: answered(library, call, identity.index) for call in DEVICE_CALLS}
    library.close()
    return {"machine": machine(), "answers": answers}


def answered(library: Library, call: str, device: int) -> dict[str, Any]:
    """The answer and its median duration."""
    times = []
    said: dict[str, Any] = {}
    for _ in range(1 if call in IDENTITY_CALLS else 7):
        started = time.perf_counter()
        try:
            said = {"value": library.ask(call, device)}
        except NVMLError as error:
            said = {"code": error.code, "error": str(error)}
        times.append(time.perf_counter() - started)
    return {**said, "microseconds": round(statistics.median(times) * 1e6, 1)}


def machine() -> dict[str, Any]:
    return {"python": platform.python_version(), "kernel": platform.release(), "cores": os.cpu_count()}


# A recording


def recorded(folder: Path, seconds: float) -> dict[str, Any]:
    """Idle, load, idle: clocks, power and temperature rise and fall; no setting is changed."""
    happenings = Happenings()
    marks = [(0.0, "idle"), (seconds, "load"), (seconds * 2, "rest")]
    try:
        recording = record(LIBRARY(), seconds * 2 + 20, 1.0, marks=marks, at_mark=happenings.happen)
    finally:
        happenings.end()
    file = folder / "recording.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1))
    return {
        "seconds": recording.seconds,
        "events": len(recording.events),
        "bytes": file.stat().st_size,
        "marks": recording.marks,
        "notes": happenings.notes,
    }


class Happenings:
    """The load on the GPU while it is recorded."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._load: subprocess.Popen[bytes] | None = None

    def happen(self, mark: str) -> None:
        print(mark, flush=True)
        if mark == "load":
            self._load = subprocess.Popen([sys.executable, __file__, "-", "--role", "load"])
        elif mark == "rest":
            self._stop()

    def end(self) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._load is not None:
            self.notes.append(f"load: {'ran' if self._load.poll() is None else f'ended with {self._load.poll()}'}")
            self._load.kill()
            self._load.wait()
            self._load = None


def burn() -> int:
    """Keep the GPU busy until killed: with matrices, or without torch, with writes to its memory."""
    try:
        import torch  # type: ignore[import-not-found]  # only where there is a GPU
    except ImportError:
        return burn_memory()
    one = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    other = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    print("load: torch", flush=True)
    while True:
        for _ in range(50):
            torch.matmul(one, other)
        torch.cuda.synchronize()


def burn_memory() -> int:
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory, size = ctypes.c_void_p(), ctypes.c_uint64(), 4 << 30

    def call(name: str, *arguments: Any) -> None:
        if code := getattr(cuda, name)(*arguments):
            raise RuntimeError(f"{name}: {code}")

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
    print("load: memory", flush=True)
    value = 0
    while True:
        value = (value + 1) % 256
        for _ in range(50):
            call("cuMemsetD8_v2", memory, ctypes.c_ubyte(value), ctypes.c_size_t(size))
        call("cuCtxSynchronize")


# The cost of polling


async def cost(seconds: float) -> dict[str, Any]:
    """The CPU time of all threads while the provider runs on a registry in this process."""
    from pilotage.device.server.localproviders import LocalAccess
    from pilotage.device.server.registry import DeviceRegistry
    from pilotage.storage import open_storage

    class Access(LocalAccess):
        complete = asyncio.Event()

        def inventory_complete(self) -> None:
            super().inventory_complete()
            self.complete.set()

    async def share(poll_seconds: float, duration: float) -> dict[str, float]:
        storage = await open_storage("memory:")
        async with DeviceRegistry(storage) as registry:
            access = Access(registry, "nvml")
            provider = NVMLProvider(NVMLOptions(poll_seconds=poll_seconds), worker=lambda: WorkerThread(LIBRARY()))
            running = asyncio.create_task(provider.run(access))
            await access.complete.wait()
            await asyncio.sleep(2)
            wall, cpu = time.monotonic(), time.process_time()
            await asyncio.sleep(duration)
            wall, cpu = time.monotonic() - wall, time.process_time() - cpu
            running.cancel()
            await asyncio.wait({running})
        await storage.close()
        return {
            "poll_seconds": poll_seconds,
            "seconds": wall,
            "cpu_seconds": cpu,
            "per_cent_of_a_core": 100 * cpu / wall,
        }

    return {
        "default": await share(10.0, seconds),
        "every_second": await share(1.0, min(seconds, 30)),
        "hardly_ever": await share(1000.0, min(seconds, 20)),
    }


# From a change to its reconcile


async def latency(changes: int, rate: float) -> dict[str, Any]:
    """Server, provider and manager are three processes on one Unix socket."""
    with tempfile.TemporaryDirectory() as folder:
        target = f"unix://{folder}/device/device-api.sock"
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pilotage.cli", "device", "serve", "--target", target, "--gate-seconds", "0"),
            *("--log-level", "warning"),
        )
        try:
            samples = await reconciled(target, changes, rate)
        finally:
            with suppress(ProcessLookupError):
                server.terminate()
            await server.wait()
    samples.sort()
    return {
        "machine": machine(),
        "changes": changes,
        "reconciled": len(samples),
        "rate": rate,
        "milliseconds": {
            name: round(samples[min(int(len(samples) * share), len(samples) - 1)] * 1000, 3)
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
        },
    }


async def reconciled(target: str, changes: int, rate: float) -> list[float]:
    import pilotage as pt
    from pilotage.device.v1alpha1 import GPU

    samples: list[float] = []
    seen: dict[str, str] = {}

    class Reconciler:
        def __init__(self, client: pt.Client) -> None:
            self._client = client

        async def reconcile(self, request: pt.Request) -> pt.Result:
            now = time.monotonic_ns()
            gpu = await self._client.get(GPU, request.name)
            message = gpu.status.conditions[0].message if gpu.status.conditions else ""
            if message.isdigit() and seen.get(request.name) != message:
                seen[request.name] = message
                samples.append((now - int(message)) / 1e9)
            return pt.Result()

    async with pt.Manager(pt.Cluster.none(), pt.ManagerOptions(metrics_bind_address="0")) as manager:
        manager.add_device_api(target)
        pt.ControllerBuilder(manager).for_(GPU).named("gpu").complete(Reconciler(manager.client))
        running = asyncio.create_task(manager.start())
        writer = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "-", "--role", "writer", "--target", target),
            *("--changes", str(changes), "--rate", str(rate)),
        )
        await writer.wait()
        await asyncio.sleep(1)
        running.cancel()
        await asyncio.wait({running})
    return samples


async def write(target: str, changes: int, rate: float) -> None:
    """Set conditions as a provider does, one GPU after the other; the message has the time."""
    from pilotage import device
    from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
    from pilotage.meta.models import Condition, ObjectMeta

    async with device.connect(target, provider_id="measure") as devices:
        gpus = devices.v1alpha1.gpus
        held = [
            await gpus.create(GPU(metadata=ObjectMeta(name=f"gpu-{number}"), spec=GPUSpec(uuid=f"GPU-{number}")))
            for number in range(64)
        ]
        await asyncio.sleep(2)
        due = time.monotonic()
        for number in range(changes):
            due += 1 / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            gpu = held[number % len(held)]
            ready: Literal["True", "False"] = "True" if number // len(held) % 2 else "False"
            condition = Condition(type="Ready", status=ready, reason="Measured", message=str(time.monotonic_ns()))
            gpu.status = GPUStatus(conditions=[condition])
            await gpus.update_status(gpu)


if __name__ == "__main__":
    sys.exit(main())
