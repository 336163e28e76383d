"""Strategies of the group apiextensions.k8s.io: CustomResourceDefinitions, and when their names are accepted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.conditions import with_condition
from pilotage.meta.documents import Document
from pilotage.meta.paths import is_condition_true, items
from pilotage.server.groupnames import GroupNames
from pilotage.server.strategies.strategy import Strategy

_NO_NAMES = {"plural": "", "kind": ""}
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class DefinitionStrategy(Strategy):
    """Definitions record the versions in which objects may be stored, and wait for their objects when deleted."""

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        stored = _with_storage_version(document, ())
        document["status"] = {"acceptedNames": dict(_NO_NAMES), "storedVersions": stored}

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        status = dict(old.get("status", {}))
        status["storedVersions"] = _with_storage_version(document, status.get("storedVersions") or ())
        document["status"] = status

    def prepare_for_delete(self, document: Document, now: str) -> None:
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        document["status"] = dict(document["status"])
        _set_condition(document["status"], "Terminating", "True", "InstanceDeletionPending", message, now)
        finalizers = document["metadata"].get("finalizers", [])
        document["metadata"]["finalizers"] = [*(name for name in finalizers if name != CLEANUP), CLEANUP]

    def validate(self, document: Document) -> list[Cause]:
        from pilotage.schema import definition as rules

        return [*rules.definition_causes(document), *rules.stored_version_causes(document)]

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        from pilotage.schema import definition as rules

        yield from rules.definition_causes(document, old)
        yield from rules.definition_update_causes(document, old)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        from pilotage.schema import definition as rules

        return rules.format_warnings(document, old)


def _with_storage_version(document: Document, stored: Iterable[str]) -> list[str]:
    storage = [version.get("name") or "" for version in versions_of(document) if version.get("storage") is True]
    return list(dict.fromkeys([*stored, *storage[:1]]))


def accept_names(document: Document, group: GroupNames, now: str) -> None:
    """Set acceptedNames and the conditions, in place, by the names that the other definitions of the group have. Names
    that were accepted before stay accepted; of several conflicts the last one is reported, as in Kubernetes.
    """
    names, status, own = document["spec"]["names"], document["status"], document["metadata"]["name"]
    accepted = dict(status.get("acceptedNames") or {})
    conflict: tuple[str, str] | None = None
    for key, reason, taken_of in (
        ("plural", "PluralConflict", group.taken_resources),
        ("singular", "SingularConflict", group.taken_resources),
        ("shortNames", "ShortNamesConflict", group.taken_resources),
        ("kind", "KindConflict", group.taken_kinds),
        ("listKind", "ListKindConflict", group.taken_kinds),
    ):
        wanted = names.get(key, [] if key == "shortNames" else "")
        taken = taken_of([wanted] if isinstance(wanted, str) else wanted, own)
        problems = _in_use(wanted, accepted.get(key, ()), taken)
        if problems:
            conflict = (reason, problems)
        else:
            accepted[key] = wanted
    accepted["categories"] = names.get("categories", [])
    status["acceptedNames"] = _NO_NAMES | {key: value for key, value in accepted.items() if value}
    _set_conditions(document, conflict, now)
    _set_approval(document, now)


def _set_approval(document: Document, now: str) -> None:
    from pilotage.schema.definition.approval import approval_of

    if (approval := approval_of(document)) is not None:
        kind = "KubernetesAPIApprovalPolicyConformant"
        _set_condition(document["status"], kind, approval.status, approval.reason, approval.message, now)


def _in_use(wanted: str | list[str], mine: Any, taken: set[Any]) -> str:
    """What is wrong with the names: another definition has them, and they were not accepted before."""
    names, before = ([wanted], [mine]) if isinstance(wanted, str) else (wanted, mine)
    found = [f'"{name}" is already in use' for name in names if name in taken and name not in before]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _set_conditions(document: Document, conflict: tuple[str, str] | None, now: str) -> None:
    from pilotage.schema.definition.conversion import ca_bundle_causes

    status, established = document["status"], is_condition_true(document, "Established")
    if conflict is None:
        _set_condition(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    else:
        _set_condition(status, "NamesAccepted", "False", *conflict, now)
    if established:  # it stays so
        return
    if conflict is not None:
        _set_condition(status, "Established", "False", "NotAccepted", "not all names are accepted", now)
    elif any(ca_bundle_causes(document["spec"])):
        message = "The conversion webhook CABundle is invalid"
        _set_condition(status, "Established", "False", "InvalidCABundle", message, now)
    else:
        _set_condition(
            status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now
        )


def set_terminating(document: Document, now: str) -> None:
    """Set the condition that the objects of a definition are being deleted."""
    message = "CustomResource deletion is in progress"
    _set_condition(document["status"], "Terminating", "True", "InstanceDeletionInProgress", message, now)


def _set_condition(status: Document, kind: str, value: str, reason: str, message: str, now: str) -> None:
    new = {"type": kind, "status": value, "lastTransitionTime": now, "reason": reason, "message": message}
    status["conditions"] = with_condition(status.get("conditions") or (), new)


def versions_of(document: Document) -> list[dict[str, Any]]:
    """The versions in a definition, as far as they are objects."""
    return [version for version in items(document, "spec", "versions") if isinstance(version, dict)]
