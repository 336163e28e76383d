"""The differences from kube-controller-manager that are on purpose; docs/workloads.md has the reason of each."""

from __future__ import annotations

import re

EXPECTED: tuple[re.Pattern[str], ...] = ()
