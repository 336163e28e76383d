"""Faults that are injected into a fake GPU: XIDs and conditions, in an annotation of the GPU.

`pilotage device inject` writes the annotation; the fake provider reports the GPU as the NVML provider would with these
XIDs, until the annotation is removed. It is part of the object, so a storage that lasts keeps it.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from pilotage.device.providers.actions import Action
from pilotage.device.providers.conditions import READY, ConditionState, GPUProblem, Health, Status, of_problems
from pilotage.device.providers.inventory import PROVIDER_LABEL
from pilotage.device.providers.xids import classify
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import InvalidDefinition

ANNOTATION = "pilotage.dev/injected"
MAX_XIDS = 64
"""The XIDs that one GPU can have; older ones are removed."""


class InjectedCondition(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A condition that replaces the provider's condition."""

    type: str
    status: Status
    reason: str = "Injected"
    message: str = ""


class Injection(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """What is injected into one GPU."""

    xids: list[int] = []
    conditions: list[InjectedCondition] = []
    recommended_action: str = ""

    @classmethod
    def of(cls, gpu: GPU) -> Injection | None:
        """What is injected into a GPU; None if nothing is. Raises InvalidDefinition."""
        text = gpu.metadata.annotations.get(ANNOTATION)
        if text is None:
            return None
        try:
            found = msgspec.json.decode(text, type=cls)
            if found.recommended_action:
                Action(found.recommended_action)
        except ValueError as error:
            raise InvalidDefinition(f"the annotation {ANNOTATION} of GPU {gpu.metadata.name}: {error}") from error
        return found

    def merged(self, more: Injection) -> Injection:
        """This injection and another one: XIDs are added, a condition replaces the condition of the same type."""
        conditions = {each.type: each for each in (*self.conditions, *more.conditions)}
        action = more.recommended_action or self.recommended_action
        return Injection([*self.xids, *more.xids][-MAX_XIDS:], list(conditions.values()), action)

    def text(self) -> str:
        """The value of the annotation."""
        return msgspec.json.encode(self).decode()

    def count(self) -> Counter[int]:
        """How often each XID was injected."""
        return Counter(self.xids)

    def health(self, ready: ConditionState) -> Health:
        """The health of a GPU with these faults. `ready` is its condition Ready without them."""
        found = of_problems([_problem(xid) for xid in dict.fromkeys(self.xids)])
        states = {state.type: state for state in found.conditions}
        if ready.status != "True" and states[READY].status == "True":
            states[READY] = ready
        for each in self.conditions:
            states[each.type] = ConditionState(each.type, each.status, each.reason, each.message)
        action = Action(self.recommended_action) if self.recommended_action else found.action
        return Health(tuple(states.values()), action)


def is_fake(gpu: GPU) -> bool:
    """Whether the fake provider has created the GPU."""
    return gpu.metadata.labels.get(PROVIDER_LABEL) == "fake"


def _problem(xid: int) -> GPUProblem:
    """A problem with no type sets no condition, as for an XID of an application."""
    found = classify(xid)
    return GPUProblem(found.type, found.reason, f"XID {xid}: {found.text} (injected)", found.action, found.known)
