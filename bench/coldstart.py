"""The start of a command that reads: `python -m bench.coldstart [RUNS]`.

Prints the least and the median time of `inventory get items` with 1,000 items in a SQLite file, beside that of the bare
interpreter, and the memory of the command.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "inventory"
FILL = """
from inventory.kinds import Category, CategorySpec, Item, ItemSpec
import pilotage as pt
import sys

with pt.LightCluster(sys.argv[1], kinds=[Item, Category]) as cluster:
    for number in range(1000):
        spec = ItemSpec(name=f"Item {number}", category="tools", description="x" * 400)
        meta = pt.ObjectMeta(name=f"item-{number}", namespace="default")
        cluster.run(cluster.client.create(Item(metadata=meta, spec=spec)))
"""
BUDGET_MILLISECONDS = 60


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:{folder}/inventory.db"
        environment = {**os.environ, "PYTHONPATH": str(EXAMPLE)}
        subprocess.run([sys.executable, "-c", FILL, storage], env=environment, check=True)
        bare = timed([sys.executable, "-c", "pass"], environment, runs)
        get = [sys.executable, "-m", "inventory", "get", "items", "--storage", storage]
        command = timed(get, environment, runs)
        process = subprocess.Popen(get, env=environment, stdout=subprocess.DEVNULL)
        memory = os.wait4(process.pid, 0)[2].ru_maxrss / 1024
    least, median = min(command) - min(bare), statistics.median(command) - statistics.median(bare)
    print(f"interpreter: {min(bare):.1f} ms least, {statistics.median(bare):.1f} ms median of {runs}")
    print(f"get of 1,000 items over that: {least:.1f} ms least, {median:.1f} ms median (budget {BUDGET_MILLISECONDS})")
    print(f"memory of the command: {memory:.0f} MiB")


def timed(command: list[str], environment: dict[str, str], runs: int) -> list[float]:
    """The milliseconds of each run."""
    found: list[float] = []
    for _ in range(runs + 1):
        before = time.perf_counter()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        found.append((time.perf_counter() - before) * 1000)
    return found[1:]  # the first one fills caches


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 20)
