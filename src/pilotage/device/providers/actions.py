"""Recommended actions for a GPU, in the two vocabularies in use."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Action(enum.StrEnum):
    """NVSentinel's names of actions, the most severe first."""

    CONTACT_SUPPORT = "CONTACT_SUPPORT"
    RUN_FIELDDIAG = "RUN_FIELDDIAG"
    RUN_DCGMEUD = "RUN_DCGMEUD"
    REPLACE_VM = "REPLACE_VM"
    RESTART_BM = "RESTART_BM"
    RESTART_VM = "RESTART_VM"
    COMPONENT_RESET = "COMPONENT_RESET"
    NONE = "NONE"


class Vocabulary(enum.StrEnum):
    """How actions are spelled in `status.recommendedAction`."""

    ENUM = "enum"
    """COMPONENT_RESET: the names of NVSentinel's health events. The default, because NVSentinel is released."""
    DRAFT = "draft"
    """ResetGPU: the names of the Device API's first draft."""


_ORDER = {action: position for position, action in enumerate(Action)}
_DRAFT = {
    Action.REPLACE_VM: "RestartVM",
    Action.RESTART_BM: "RebootNode",
    Action.RESTART_VM: "RestartVM",
    Action.COMPONENT_RESET: "ResetGPU",
    Action.CONTACT_SUPPORT: "ReportIssue",
    Action.RUN_FIELDDIAG: "RunFieldDiagnostics",
    Action.RUN_DCGMEUD: "RunExtendedUtilityDiagnostics",
}


def most_severe(actions: Iterable[Action]) -> Action:
    """The most severe of the actions; NONE if there are none."""
    return min(actions, key=_ORDER.__getitem__, default=Action.NONE)


def spelled(action: Action, vocabulary: Vocabulary = Vocabulary.ENUM) -> str | None:
    """The action as written to the status; None if there is nothing to do."""
    if action is Action.NONE:
        return None
    return action.value if vocabulary is Vocabulary.ENUM else _DRAFT[action]
