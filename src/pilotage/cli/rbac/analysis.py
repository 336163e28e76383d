"""The permissions of a program: what it declares, what it calls, and what a recorded run did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pilotage.cli.program.declarations import Declarations
from pilotage.cli.rbac.calls import find_calls
from pilotage.cli.rbac.grants import Installation, RequiredPermission, Resources, grants
from pilotage.cli.rbac.program import ProgramSource
from pilotage.cli.rbac.seen import grants_of, of_the_program
from pilotage.cluster.recording import RecordedPermission
from pilotage.kit.console.files import shown
from pilotage.rest.permission import VERBS, Permission


@dataclass(frozen=True, slots=True)
class Analysis:
    """The permissions of a program, and notes about those that could not be determined."""

    grants: list[RequiredPermission]
    notes: list[str]
    """Sentences for the user."""
    seen: list[RecordedPermission] | None
    """What a recorded run did; None if nothing was recorded."""

    def explanation(self) -> list[tuple[str, str, str]]:
        """A row for each permission: what it is, what declares it, and whether it was seen."""
        reasons: dict[Permission, list[RequiredPermission]] = {}
        for grant in sorted(self.grants, key=_order):
            reasons.setdefault(grant.permission, []).append(grant)
        return [(str(permission), _reasons(found), self._seen(permission)) for permission, found in reasons.items()]

    def _seen(self, permission: Permission) -> str:
        if self.seen is None:
            return ""
        wanted = permission.group, permission.resource, permission.verb
        places = [each.place for each in self.seen if (each.group, each.resource, each.verb) == wanted]
        return (next(filter(None, places), "") or "by the library") if places else "not seen"


def analyse(
    declared: Declarations, installation: Installation, seen: list[RecordedPermission] | None = None
) -> Analysis:
    """Read the source of a program, and join what it needs with what a recorded run did."""
    program, resources = ProgramSource(declared.modules), Resources(declared.kinds)
    parts = declared.target.parts
    reached = program.reached(parts) if parts else program.all()
    calls = find_calls(program, reached)
    found = grants(declared, calls, installation, resources)
    own = of_the_program(seen, reached) if seen is not None else None
    found += grants_of(own or (), found)
    notes = [
        f"{shown_place(call)}: the kind is not known; annotate the argument, or record a run with --record"
        for call in calls.unknown
    ]
    notes += [
        f"the resource of {gvk} is not known, and was guessed as {plural}" for gvk, plural in resources.guessed.items()
    ]
    clusters = sorted({grant.cluster for grant in found if grant.cluster})
    notes += [f"the cluster {name} needs a role, too: pilotage rbac --cluster {name}" for name in clusters]
    return Analysis(found, notes, own)


def _order(grant: RequiredPermission) -> tuple[str, str, str, str, int]:
    permission = grant.permission
    verb = VERBS.index(permission.verb) if permission.verb in VERBS else len(VERBS)
    return grant.cluster, permission.group, permission.resource, permission.name, verb


def _reasons(found: list[RequiredPermission]) -> str:
    texts = dict.fromkeys(" ".join(filter(None, (shown_place(each.place), each.reason))) for each in found)
    first, *others = texts
    return first + (f" and {len(others)} more" if others else "")


def shown_place(place: str) -> str:
    """A place with a path below the current folder where possible."""
    file, colon, rest = place.partition(":")
    return f"{shown(Path(file))}{colon}{rest}" if file else place
