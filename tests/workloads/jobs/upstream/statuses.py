"""Statuses of Jobs in a form that can be compared."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from pilotage.meta.scalars import times

Document = dict[str, Any]
_TIMES = ("lastProbeTime", "lastTransitionTime")


def plain_status(status: Document, *, with_times: bool = True) -> Document:
    """Without empty fields, and with times in whole seconds, as the API has them."""
    found = {key: value for key, value in status.items() if value not in (None, 0, "", [], {})}
    for name in ("startTime", "completionTime"):
        if name in found:
            found[name] = _whole(found[name]) if with_times else ""
    if "conditions" in found:
        conditions = cast(list[Document], found["conditions"])
        found["conditions"] = [_condition(condition, with_times=with_times) for condition in conditions]
    uncounted = {key: sorted(uids) for key, uids in (found.pop("uncountedTerminatedPods", None) or {}).items() if uids}
    return {**found, **({"uncountedTerminatedPods": uncounted} if uncounted else {})}


def _condition(condition: Document, *, with_times: bool) -> Document:
    found = {key: value for key, value in condition.items() if value and key not in _TIMES}
    return found | {key: _whole(condition[key]) for key in _TIMES if with_times and condition.get(key)}


def _whole(time: str | datetime) -> str:
    return times.format((times.parse(time) if isinstance(time, str) else time).replace(microsecond=0))
