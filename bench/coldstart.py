"""The start of commands: `python -m bench.coldstart [RUNS]`.

For each command: the milliseconds over the start of the bare interpreter, the memory, and the modules that it loads.
The commands take turns with the interpreter, so that both see the same load of the machine. What disturbs a run makes
it longer, never shorter: besides the least time, the median is that of the faster half.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
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
SCRIPT = """import sys
from {module} import {name}
if __name__ == "__main__":
    sys.exit({name}{call}())
"""
"""What pip installs as a command."""
BUDGET_MILLISECONDS = 60
COUNTED = "import atexit, sys; atexit.register(lambda: print(len(sys.modules), file=sys.stderr)); "


class Run(NamedTuple):
    milliseconds: float
    processor_milliseconds: float
    mebibytes: float


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        storage = f"sqlite:{folder}/inventory.db"
        environment = {**os.environ, "PYTHONPATH": f"{EXAMPLES / 'inventory'}", "XDG_CACHE_HOME": name}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run([sys.executable, "-c", FILL, storage], env=environment, check=True)
        inventory, pilotage = folder / "inventory.command", folder / "pilotage.command"
        inventory.write_text(SCRIPT.format(module="inventory", name="tool", call=".main"))
        pilotage.write_text(SCRIPT.format(module="pilotage.cli", name="main", call=""))
        todo = [str(EXAMPLES / "todo.py"), "--storage", f"sqlite:{folder}/todo.db"]
        subprocess.run([sys.executable, todo[0], "create", "todo", "a", "--set=spec.text=b", *todo[1:]], check=True)
        print(f"budget of the first: {BUDGET_MILLISECONDS} ms over the interpreter, 40 MiB")
        for title, words in (
            ("inventory get items (1,000)", [str(inventory), "get", "items", "--storage", storage]),
            ("inventory get items -o yaml", [str(inventory), "get", "items", "-o", "yaml", "--storage", storage]),
            ("todo get todos", [todo[0], "get", "todos", *todo[1:]]),
            ("pilotage get items --storage", [str(pilotage), "get", "items", "--storage", storage]),
            (
                "todo label --no-reconcile",
                [todo[0], "label", "todo", "a", "b=c", "--overwrite", "--no-reconcile", *todo[1:]],
            ),
            (
                "pilotage label --storage",
                [str(pilotage), "label", "item", "item-1", "b=c", "--overwrite", "--storage", storage],
            ),
            ("pilotage --help", [str(pilotage), "--help"]),
        ):
            report(title, words, environment, runs)


def report(title: str, words: list[str], environment: dict[str, str], runs: int) -> None:
    bare: list[Run] = []
    command: list[Run] = []
    for _ in range(runs + 1):
        bare.append(timed(["-c", "pass"], environment))
        command.append(timed(words, environment))
    least, median = (
        of([run.milliseconds for run in command[1:]])
        - of([run.milliseconds for run in bare[1:]])  # the first fills caches
        for of in (min, faster_median)
    )
    processor = min(run.processor_milliseconds for run in command) - min(run.processor_milliseconds for run in bare)
    print(
        f"{title:30} {least:6.1f} ms least, {median:6.1f} ms median, {processor:6.1f} ms of processor time, "
        f"{max(run.mebibytes for run in command[1:]):3.0f} MiB, {modules(words, environment)} modules",
        flush=True,
    )


def timed(words: list[str], environment: dict[str, str]) -> Run:
    before = time.perf_counter()
    process = subprocess.Popen([sys.executable, *words], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, f"{words} failed"
    elapsed = time.perf_counter() - before
    return Run(elapsed * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024)


def faster_median(times: list[float]) -> float:
    return statistics.median(sorted(times)[: (len(times) + 1) // 2])


def modules(words: list[str], environment: dict[str, str]) -> int:
    """How many modules a command has loaded when it ends."""
    program = f"{COUNTED}import runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    ran = subprocess.run(
        [sys.executable, "-c", program, *words], env=environment, capture_output=True, text=True, check=True
    )
    return int(ran.stderr.split()[-1])


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 20)
