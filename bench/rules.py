"""How long expensive CEL rules take on objects that are made for them."""

from __future__ import annotations

import json
import subprocess
import sys

MOST_SECONDS = 0.25


def measure_rules() -> None:
    """Print the slowest rule for each object. Raises SystemExit if one takes longer than a quarter of a second."""
    command = [sys.executable, "-m", "hack.schema.hostile_rules"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    slowest: dict[str, tuple[float, str]] = {}
    for name, rule, seconds, *_ in map(json.loads, ran.stdout.splitlines()):
        slowest[name] = max(slowest.get(name, (0.0, "")), (seconds, rule))
    for name, (seconds, rule) in slowest.items():
        print(f"  {name:<46} {seconds * 1e3:>9.1f} ms CPU  {rule[:60]}")
    if max(slowest.values())[0] > MOST_SECONDS:
        raise SystemExit(f"a rule took longer than {MOST_SECONDS} s")
