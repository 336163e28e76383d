"""Merges the status that a provider sends into the stored one: only the provider's own conditions change. No I/O.

A condition belongs to the provider that wrote its type first, until that provider stops sending it or is lost.
Conditions of other providers in a request are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.meta.documents import Document
from pilotage.meta.scalars import times

PROVIDER_LOST = "ProviderLost"
"""The reason of conditions of a lost provider. Another provider may replace them."""
_NO_ACTION = ("", "NONE", "UNKNOWN")
_SEVERITY = (
    ("RestartApp",),
    ("COMPONENT_RESET", "ResetGPU"),
    ("ResetFabric",),
    ("RESTART_VM", "RestartVM"),
    ("RESTART_BM", "RebootNode"),
    ("REPLACE_VM",),
    ("RUN_DCGMEUD", "RunExtendedUtilityDiagnostics"),
    ("RUN_FIELDDIAG", "RunFieldDiagnostics"),
    ("CONTACT_SUPPORT", "ReportIssue"),
)
_RANKS = {action: rank for rank, actions in enumerate(_SEVERITY, 1) for action in actions}


def merged(old: Document, sent: Document, provider: str, now: str) -> Document:
    """The stored status once `provider` has sent one.

    Neither document is changed. A provider that sends conditions of other providers sends back the whole status that it
    has read; then the recommended action in it is not its own either.
    """
    before = {condition["type"]: condition for condition in old.get("conditions", ())}
    wanted = {condition["type"]: condition for condition in sent.get("conditions") or ()}
    mine = {kind for kind in wanted if _may_write(before.get(kind), wanted[kind], provider)}
    conditions = [
        _written(condition, wanted[kind], provider, now) if kind in mine else condition
        for kind, condition in before.items()
        if kind in mine or not _belongs(condition, provider)
    ]
    conditions += [_written(None, wanted[kind], provider, now) for kind in wanted if kind not in before]
    action = _clean(sent.get("recommendedAction"))
    records: dict[str, Document] = dict(old.get("providers", {}))
    for name in _owners(before.values()) - _owners(conditions) - {provider}:
        records.pop(name, None)  # it was lost, and other providers own all of its conditions now
    echoed = wanted.keys() - mine and action == _recommended(records)
    if echoed:
        action = records.get(provider, {}).get("recommendedAction", "")
    records[provider] = {"recommendedAction": action} if action else {}
    return _status(conditions, records)


def ignored(old: Document, sent: Document, provider: str) -> list[tuple[str, str]]:
    """The types and owners of the conditions that `merged` does not write although they differ from the stored ones."""
    before = {condition["type"]: condition for condition in old.get("conditions", ())}
    return [
        (kind, before[kind].get("provider", ""))
        for kind, wanted in ((condition["type"], condition) for condition in sent.get("conditions") or ())
        if not _may_write(before.get(kind), wanted, provider) and not _is_same_condition(before[kind], wanted)
    ]


def with_own_action(status: Document, stored: Document, provider: str) -> Document:
    """A status made from the public one, with the provider's own recommended action."""
    return status | {"recommendedAction": stored.get("providers", {}).get(provider, {}).get("recommendedAction")}


def lost(status: Document, provider: str, message: str, now: str) -> Document:
    """The stored status after a provider was lost: its conditions are Unknown, the conditions of other providers
    stay."""
    conditions = [
        _unknown(condition, message, now) if _belongs(condition, provider) and not is_lost(condition) else condition
        for condition in status.get("conditions", ())
    ]
    return status | {"conditions": conditions}


def owns(status: Document, provider: str) -> bool:
    """Whether a condition of the stored status is this provider's."""
    return any(_belongs(condition, provider) for condition in status.get("conditions", ()))


def is_lost(condition: Document) -> bool:
    """Whether the provider of a condition is lost."""
    return condition.get("status") == "Unknown" and condition.get("reason") == PROVIDER_LOST


def most_severe(actions: Iterable[str]) -> str:
    """The most severe of the actions. An unknown action ranks between none and the known ones."""
    known = [action for action in actions if _clean(action)]
    return max(known, key=lambda action: (_RANKS.get(action, 0), action), default="")


def _belongs(condition: Document, provider: str) -> bool:
    return bool(condition.get("provider", "") == provider)


def _may_write(existing: Document | None, wanted: Document, provider: str) -> bool:
    if existing is None or _belongs(existing, provider):
        return True
    return is_lost(existing) and not _is_same_condition(existing, wanted)


def _is_same_condition(one: Document, other: Document) -> bool:
    return all((one.get(key) or "") == (other.get(key) or "") for key in ("status", "reason", "message"))


def _written(existing: Document | None, wanted: Document, provider: str, now: str) -> Document:
    """A condition as it is stored. When its status changes, its transition time becomes the time that was sent, if
    new."""
    condition = {key: value for key, value in wanted.items() if value is not None}
    given = condition.get("lastTransitionTime", "")
    if not isinstance(given, str):
        return condition  # of a wrong type, which the validation reports
    if existing is not None:
        was = existing.get("lastTransitionTime") or ""
        if existing.get("status") == wanted.get("status"):
            given = was
        elif _same_time(given, was):
            given = ""
    condition["lastTransitionTime"] = given or now
    condition["provider"] = provider
    condition.setdefault("reason", "")
    condition.setdefault("message", "")
    return condition


def _unknown(condition: Document, message: str, now: str) -> Document:
    result = condition | {"status": "Unknown", "reason": PROVIDER_LOST, "message": message}
    if condition.get("status") != "Unknown":
        result["lastTransitionTime"] = now
    return result


def _same_time(one: str, other: str) -> bool:
    try:
        return one == other or times.parse(one) == times.parse(other)
    except (ValueError, TypeError):  # not a time: the schema reports it
        return False


def _clean(action: object) -> str:
    return action if isinstance(action, str) and action not in _NO_ACTION else ""


def _status(conditions: list[Document], records: dict[str, Document]) -> Document:
    kept = {name: record for name, record in records.items() if record}
    status: Document = {"conditions": conditions} if conditions else {}
    if action := _recommended(kept):
        status["recommendedAction"] = action
    return status | ({"providers": kept} if kept else {})


def _recommended(records: dict[str, Document]) -> str:
    """The public action: the most severe that a provider recommends."""
    return most_severe(record.get("recommendedAction", "") for record in records.values())


def _owners(conditions: Iterable[Document]) -> set[str]:
    return {condition.get("provider", "") for condition in conditions}
