# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.workloads.faults.fault import Fault as Fault
from pilotage.workloads.options import WorkloadOptions as WorkloadOptions
from pilotage.workloads.workloads import Workloads as Workloads

__all__: list[str]
