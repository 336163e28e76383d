"""`make bench-etcd`: `pilotage serve` and kube-apiserver on the same etcd, with the same requests of a Go program."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pilotage as pt
from bench.beside import program
from bench.disk import synced
from bench.figures import Figure, cpu_of
from bench.objects import Widget, widget
from bench.serving import served
from hack.cluster.members import etcd_cluster
from hack.cluster.running import binaries, processes_of, real_cluster
from pilotage.meta import objects

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
LEAST = 0.7
"""What our rate must be at least, as a part of that of kube-apiserver."""


@dataclass(frozen=True, slots=True)
class Phase:
    """The requests that are measured together."""

    verb: str
    count: int
    in_flight: int
    bound: bool = True
    """Whether our rate has a bound."""

    def __str__(self) -> str:
        return f"{self.verb}, {f'{self.in_flight} in flight' if self.in_flight > 1 else 'one after another'}"


PHASES = (
    Phase("create", 1000, 64),
    Phase("create", 200, 1),
    Phase("update", 1000, 64),
    Phase("update", 200, 1),
    Phase("get", 1000, 64),
    Phase("get", 500, 1),
    Phase("list", 5, 1, bound=False),
)


class Load:
    """The Go program, connected to one server."""

    def __init__(self, name: str, process: subprocess.Popen[str], pids: tuple[int, ...], etcd: tuple[int, ...]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.name = name
        self.best: dict[Phase, tuple[Figure, float]] = {}
        """The fastest round of each phase, and the CPU time of etcd in it."""
        self._orders: IO[str] = process.stdin
        self._answers: IO[str] = process.stdout
        self._pids = pids
        self._etcd = etcd
        self._created = 0

    def run(self, phase: Phase) -> None:
        first = self._created if phase.verb == "create" else 0
        before, etcd = sum(map(cpu_of, self._pids)), sum(map(cpu_of, self._etcd))
        self._orders.write(f"{phase.verb} {first} {phase.count} {phase.in_flight}\n")
        self._orders.flush()
        answer = json.loads(self._answers.readline())
        used = sum(map(cpu_of, self._pids)) - before
        note = f"median {answer['median'] * 1e3:.1f} ms, 99 % within {answer['p99'] * 1e3:.1f} ms"
        figure = Figure(self.name, phase.count, answer["wall"], used, note)
        if phase.verb == "create":
            self._created += phase.count
        if phase not in self.best or figure.rate > self.best[phase][0].rate:
            self.best[phase] = figure, sum(map(cpu_of, self._etcd)) - etcd


@contextmanager
def loads() -> Iterator[tuple[Load, Load]]:
    """Ours and that of kube-apiserver."""
    found = binaries()
    if isinstance(found, str):
        sys.exit(f"{found}; `make cluster-binaries` builds it")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        body = folder / "widget.json"
        body.write_bytes(objects.encode(widget(7)).replace(b"widget-000007", b"NAME"))
        etcd = stack.enter_context(etcd_cluster(found, durable=True))
        port, members = etcd.members[0].port, tuple(processes_of(etcd.members[0].group))
        ours = stack.enter_context(served(etcd.url))
        theirs = stack.enter_context(real_cluster(found, etcd_port=port))
        load = program("load")
        if load is None:
            sys.exit("there is no Go to build the program with that sends the requests")

        def start(name: str, url: str, token: str, ca_file: Path, pids: tuple[int, ...]) -> Load:
            asyncio.run(install(pt.Cluster.connect(url, token=token, ca_file=str(ca_file))))
            command = [str(load), url, token, str(ca_file), str(body)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.terminate)
            return Load(name, process, pids, members)

        yield (
            start("pilotage serve", ours.url, ours.token, ours.ca_file, (ours.pid,)),
            start("kube-apiserver", theirs.url, theirs.token, theirs.ca_file, tuple(processes_of(theirs.group))),
        )


async def install(cluster: pt.Cluster) -> None:
    async with cluster:
        await cluster.install(Widget)
        await asyncio.sleep(2.5)  # kube-apiserver delays creates for 2 s after a CRD is established


def main() -> int:
    broken = []
    with loads() as (ours, theirs), tempfile.TemporaryDirectory() as folder:
        print(f"Widgets of 2 KB on one durable etcd over HTTPS, best of {ROUNDS} rounds, both servers in each")
        print(f"  {'fdatasync of 4 KiB, one after another':<46} {synced(Path(folder)):>12,.0f}/s")
        for _ in range(ROUNDS):
            for phase in PHASES:
                ours.run(phase)
                theirs.run(phase)
    for phase in PHASES:
        print(f"\n{phase}")
        anchor = theirs.best[phase][0]
        for load in (theirs, ours):
            figure, etcd = load.best[phase]
            print(figure.line(None if figure is anchor else anchor))
            print(f"  {'':<46} {'':>14} {etcd / figure.count * 1e6:>9.1f} us CPU in etcd")
        ratio = ours.best[phase][0].rate / anchor.rate
        if phase.bound and ratio < LEAST:
            broken.append(f"{phase}: {ratio:.2f} of the rate of kube-apiserver, the bound is {LEAST}")
    for line in broken:
        print(f"  BROKEN: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
