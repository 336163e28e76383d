"""`python -m tests.differential --seconds 600`: random sequences on a real kube-apiserver and on ours."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import time

from hack.cluster.running import binaries, real_cluster

from .fuzzing import Fuzzer
from .generator import Batch


async def fuzz(fuzzer: Fuzzer, arguments: argparse.Namespace) -> None:
    """Batch after batch, until the time is over."""
    end = time.monotonic() + arguments.seconds
    numbers = itertools.count() if arguments.batch is None else [arguments.batch]
    for number in numbers:
        if time.monotonic() > end:
            break
        await fuzzer.batch(Batch(arguments.seed, number), lambda: time.monotonic() < end, arguments.sequence)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, help="only this batch of the seed")
    parser.add_argument("--sequence", type=int, help="only this sequence of each batch")
    arguments = parser.parse_args()
    found = binaries()
    if isinstance(found, str):
        print(found, file=sys.stderr)
        return 3
    with real_cluster(found) as cluster:
        fuzzer = Fuzzer(cluster, lambda text: print(f"\n{text}", flush=True))
        asyncio.run(fuzz(fuzzer, arguments))
    print(f"\n{fuzzer.sequences} sequences, {fuzzer.requests} requests, {len(fuzzer.findings)} differences")
    if fuzzer.unstable:
        print(f"{fuzzer.unstable} more did not show again")
    if fuzzer.unanswered:
        print(f"{fuzzer.unanswered} times the real server closed the connection without an answer")
    for signature, count in fuzzer.counts.most_common():
        print(f"{count:6} {signature}")
    return 1 if fuzzer.findings else 0


if __name__ == "__main__":
    sys.exit(main())
