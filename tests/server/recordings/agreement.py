"""How many answers agree, for each kind, and how many must."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

from tests.server.recordings.cases import FOLDER

ASPECTS = ("verdicts", "causes", "defaults", "results", "cells", "words", "warnings")
COUNTED = ASPECTS[:4]
"""The aspects with thresholds."""
_FILE = FOLDER / "thresholds.json"


@dataclass(slots=True)
class Agreement:
    """How many answers of a kind agree, out of how many, in each aspect."""

    agreed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ASPECTS, 0))
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ASPECTS, 0))

    def count(self, aspect: str, agrees: bool) -> None:
        self.agreed[aspect] += agrees
        self.total[aspect] += 1

    def add(self, other: Agreement) -> None:
        for aspect in ASPECTS:
            self.agreed[aspect] += other.agreed[aspect]
            self.total[aspect] += other.total[aspect]

    def percent(self, aspect: str) -> float:
        return 100 * self.agreed[aspect] / self.total[aspect] if self.total[aspect] else 100.0


def thresholds() -> dict[str, list[float]]:
    """The least agreement for each kind, in percent, in the order of COUNTED."""
    found: dict[str, list[float]] = json.loads(_FILE.read_bytes())
    return found


def below(kinds: dict[str, Agreement]) -> list[str]:
    """What agrees less than its threshold says."""
    return [
        f"{kind}: {aspect} agree by {kinds[kind].percent(aspect):.1f} %, at least {least} % is needed"
        for kind, row in thresholds().items()
        if kind in kinds
        for aspect, least in zip(COUNTED, row, strict=True)
        if kinds[kind].percent(aspect) < least
    ]


def table(kinds: dict[str, Agreement]) -> str:
    """A row for each kind, and the totals: percent, with the number of cases."""
    total = Agreement()
    for agreement in kinds.values():
        total.add(agreement)
    rows = [f"{'kind':42}" + "".join(f"{aspect:>16}" for aspect in ASPECTS)]
    for kind, agreement in [*sorted(kinds.items()), ("all", total)]:
        cells = (f"{agreement.percent(aspect):.1f} ({agreement.total[aspect]})" for aspect in ASPECTS)
        rows.append(f"{kind:42}" + "".join(f"{cell:>16}" for cell in cells))
    return "\n".join(rows)


def raise_thresholds(kinds: dict[str, Agreement]) -> None:
    """Write the agreement of these kinds, rounded down, where it is more than the thresholds."""
    rows = thresholds()
    for kind, agreement in kinds.items():
        if not agreement.total["verdicts"]:
            continue  # only recorded in Tables
        row = [math.floor(agreement.percent(aspect)) for aspect in COUNTED]
        rows[kind] = [max(pair) for pair in zip(row, rows.get(kind, row), strict=True)]
    lines = (f"  {json.dumps(kind)}: {json.dumps(rows[kind])}" for kind in sorted(rows))
    _FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
