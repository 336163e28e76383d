"""The scheduler: gives each Pod a node on which it fits.

- `scheduling.requirements`, `scheduling.amounts`: what a Pod asks of its node
- `scheduling.placement`: the nodes and what is on them
- `scheduling.filters`, `scheduling.relations`, `scheduling.volumes`: whether a node fits
- `scheduling.scores`, `scheduling.decisions`: which of them is best, or why there is none
- `scheduling.preemption`: which Pods make room
- `scheduling.queue`: which Pod is next
- `scheduling.scheduler`: reads, decides, and writes
"""

from pilotage.workloads.scheduling.setup import setup

__all__ = ["setup"]
