"""What is compared of audit events: all but times, uids, versions and addresses that differ by chance."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from .cases import CASES

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?Z")
_GENERATED = re.compile(r"\bg-[a-z0-9]{5}\b")


def comparable(events: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """The events of each case whose events are compared, in their order."""
    by_id: dict[str, list[Any]] = {}
    for event in events:
        by_id.setdefault(event["auditID"], []).append(event)
    return {
        case.title: [_plain(event) for event in by_id.get(case.all_headers["Audit-ID"], [])]
        for case in CASES
        if case.audited
    }


def _plain(event: dict[str, Any]) -> Any:
    text = json.dumps(event)
    for pattern, word in ((_UID, "UID"), (_TIME, "TIME"), (_GENERATED, "g-NAME")):
        text = pattern.sub(word, text)
    found = json.loads(text)
    _without_versions(found)
    if found["user"].get("extra"):
        del found["user"]["extra"]  # the id of the credential
    return found


def _without_versions(value: Any) -> None:
    if isinstance(value, dict):
        if "resourceVersion" in value:
            value["resourceVersion"] = "VERSION"
        for each in value.values():
            _without_versions(each)
    elif isinstance(value, list):
        for each in value:
            _without_versions(each)
