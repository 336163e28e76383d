"""A measurement as a value, and a table of them."""

from __future__ import annotations

import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of repetitions, their duration, and their CPU time (of this process, or of all given)."""

    name: str
    count: int
    wall: float
    cpu: float
    note: str = ""

    @property
    def rate(self) -> float:
        return self.count / self.wall

    @property
    def cpu_microseconds(self) -> float:
        return self.cpu / self.count * 1e6

    def line(self, anchor: Figure | None = None) -> str:
        ratio = f"{self.rate / anchor.rate:8.2f} x {anchor.name}" if anchor is not None else ""
        figures = f"{self.rate:>12,.0f}/s {self.cpu_microseconds:>9.1f} us CPU"
        return f"  {self.name:<46} {figures}  {ratio} {self.note}".rstrip()


def measured(name: str, count: int, work: Callable[[], object], *, note: str = "") -> Figure:
    """Run `work`, which repeats an operation `count` times."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Figure(name, count, time.perf_counter() - wall, time.process_time() - cpu, note)


async def measured_async(name: str, count: int, work: Callable[[], Awaitable[object]], *, pid: int = 0) -> Figure:
    """Await `work`, which repeats an operation `count` times; with `pid`, that process's CPU time is added."""
    wall, cpu, other = time.perf_counter(), time.process_time(), cpu_of(pid)
    await work()
    took, used = time.perf_counter() - wall, time.process_time() - cpu
    served = cpu_of(pid) - other
    note = f"(of it {served / count * 1e6:.0f} us in the server)" if pid else ""
    return Figure(name, count, took, used + served, note)


def cpu_of(pid: int) -> float:
    """The CPU time of a process in seconds; 0 without a process."""
    if not pid:
        return 0.0
    # The result of clock_getcpuclockid(3) on Linux: exact, while /proc counts in hundredths of a second.
    return time.clock_gettime((~pid << 3) | 2)


def peak_memory() -> float:
    """The peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(pid: int | str = "self") -> int:
    """The current memory of this process, or of another, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
