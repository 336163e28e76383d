"""`make bench-abuse`: latency of other clients during attacks; exit code 1 if it exceeds a limit.

BENCH_SECONDS (6) is how long each attack goes on, in two rounds. Needs root: the attacker is another user.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys

from bench.device.attacked import BOUND, Abuse, ground, measure
from hack.device.attacks import ATTACKS

SECONDS = float(os.environ.get("BENCH_SECONDS", "6"))
ROUNDS = 2


async def main(names: list[str]) -> int:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    broken = []
    async with ground() as found:
        for name in names:
            abuse = Abuse(name)
            for _ in range(ROUNDS):
                await measure(found, abuse, SECONDS / ROUNDS)
            print(abuse.line(), flush=True)
            if abuse.ratio > BOUND:
                broken.append(f"{name}: the p99 of others is {abuse.ratio:.1f} times as long, not {BOUND:g}")
    for line in broken:
        print(f"BROKEN: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    if os.geteuid():
        sys.exit("make bench-abuse needs root: the attacker is another user than the client")
    sys.exit(asyncio.run(main(sys.argv[1:] or list(ATTACKS))))
