from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.providers import actions as recommended
from pilotage.device.providers.actions import Action, spelled
from pilotage.device.server import merging
from pilotage.device.server.merging import PROVIDER_LOST, lost, merged, most_severe
from pilotage.device.server.storageversion import public_status
from pilotage.meta.documents import Document

from .fakes import condition, status

EARLIER, NOW, LATER = "2024-01-01T00:00:00Z", "2024-06-01T00:00:00Z", "2024-07-01T00:00:00Z"
PROVIDERS = ("nvml", "dcgm", "uid:0")
ACTIONS = ("", "COMPONENT_RESET", "RESTART_BM", "CONTACT_SUPPORT", "SING_A_SONG", "NONE")

providers = st.sampled_from(PROVIDERS)
conditions = st.builds(
    lambda kind, state, reason, time: (
        condition(kind, state, reason=reason) | ({"lastTransitionTime": time} if time else {})
    ),
    st.sampled_from(("Ready", "Degraded", "ResetRequired", "DCGMHealth")),
    st.sampled_from(("True", "False", "Unknown")),
    st.sampled_from(("A", "B", PROVIDER_LOST)),
    st.sampled_from(("", EARLIER, LATER)),
)
statuses = st.builds(
    lambda found, action: status(*{one["type"]: one for one in found}.values(), action=action),
    st.lists(conditions, max_size=4),
    st.sampled_from(ACTIONS),
)
histories = st.lists(st.tuples(providers, statuses), max_size=6)


def after(history: list[tuple[str, Document]]) -> Document:
    found: Document = {}
    for provider, sent in history:
        found = merged(found, sent, provider, NOW)
    return found


def by_type(stored: Document, provider: str = "") -> dict[str, Document]:
    return {one["type"]: one for one in stored.get("conditions", ()) if not provider or one["provider"] == provider}


@given(histories, providers, statuses)
def test_a_provider_never_changes_conditions_of_another_live_provider(
    history: list[tuple[str, Document]], provider: str, sent: Document
) -> None:
    before = after(history)
    result = merged(before, sent, provider, NOW)
    for other in PROVIDERS:
        if other == provider:
            continue
        alive = {kind: one for kind, one in by_type(before, other).items() if not merging.is_lost(one)}
        assert alive.items() <= by_type(result, other).items()
        if alive:
            assert result.get("providers", {}).get(other) == before.get("providers", {}).get(other)


@given(histories, providers, statuses)
def test_a_providers_own_conditions_are_those_it_sent_and_no_others(
    history: list[tuple[str, Document]], provider: str, sent: Document
) -> None:
    before = after(history)
    own = by_type(merged(before, sent, provider, NOW), provider)
    wanted = {one["type"]: one for one in sent["conditions"]}
    assert own.keys() <= wanted.keys()
    for kind, one in wanted.items():
        if kind not in by_type(before) or kind in by_type(before, provider):
            assert (own[kind]["status"], own[kind]["reason"]) == (one["status"], one["reason"])


@given(histories, providers, statuses)
def test_sending_the_same_again_changes_nothing(
    history: list[tuple[str, Document]], provider: str, sent: Document
) -> None:
    once = merged(after(history), sent, provider, NOW)
    assert merged(once, sent, provider, LATER) == once


def test_a_provider_that_takes_over_all_of_a_lost_one_recommends_the_action_that_it_sends() -> None:
    before = lost(merged({}, status(condition("Degraded"), action="RESTART_BM"), "nvml", NOW), "nvml", "", NOW)
    before = merged(before, status(condition("Ready")), "uid:0", NOW)
    sent = status(condition("Ready"), condition("Degraded"), action="RESTART_BM")
    once = merged(before, sent, "dcgm", NOW)
    assert once["providers"] == {"dcgm": {"recommendedAction": "RESTART_BM"}}
    assert merged(once, sent, "dcgm", LATER) == once


@given(histories, providers)
def test_sending_back_what_one_has_read_changes_nothing(history: list[tuple[str, Document]], provider: str) -> None:
    before = after(history)
    result = merged(before, public_status(before), provider, LATER)
    assert result.get("conditions") == before.get("conditions")
    assert result.get("recommendedAction") == before.get("recommendedAction")


@given(histories, providers, statuses)
def test_a_transition_time_moves_only_with_the_status(
    history: list[tuple[str, Document]], provider: str, sent: Document
) -> None:
    before, result = by_type(after(history)), by_type(merged(after(history), sent, provider, NOW))
    for kind, one in result.items():
        assert one["lastTransitionTime"]
        if kind in before and before[kind]["status"] == one["status"]:
            assert one["lastTransitionTime"] == before[kind]["lastTransitionTime"]


@given(histories)
def test_no_type_is_there_twice(history: list[tuple[str, Document]]) -> None:
    types = [one["type"] for one in after(history).get("conditions", ())]
    assert len(types) == len(set(types))


@given(histories, providers)
def test_a_lost_provider_affects_no_other(history: list[tuple[str, Document]], provider: str) -> None:
    before = after(history)
    result = lost(before, provider, "silent", NOW)
    for kind, one in by_type(result).items():
        if one["provider"] == provider:
            assert (one["status"], one["reason"]) == ("Unknown", PROVIDER_LOST)
        else:
            assert one == by_type(before)[kind]
    assert lost(result, provider, "still silent", LATER) == result


def test_a_changed_status_takes_the_time_that_was_given_for_it() -> None:
    before = merged({}, status(condition(lastTransitionTime=EARLIER)), "nvml", NOW)
    result = merged(before, status(condition(status="False", lastTransitionTime=LATER)), "nvml", NOW)
    assert by_type(result)["Ready"]["lastTransitionTime"] == LATER


def test_a_changed_status_with_the_old_time_gets_a_new_one_however_it_is_written() -> None:
    before = merged({}, status(condition(lastTransitionTime=EARLIER)), "nvml", NOW)
    for old in (EARLIER, "2024-01-01T01:00:00+01:00"):
        result = merged(before, status(condition(status="False", lastTransitionTime=old)), "nvml", NOW)
        assert by_type(result)["Ready"]["lastTransitionTime"] == NOW


def test_a_lost_condition_may_be_taken_over_and_stays_with_its_new_provider() -> None:
    before = lost(merged({}, status(condition(), action="RESTART_BM"), "nvml", NOW), "nvml", "silent", NOW)
    taken = merged(before, status(condition(reason="Probed")), "dcgm", NOW)
    assert by_type(taken)["Ready"]["provider"] == "dcgm"
    assert "recommendedAction" not in taken
    assert merged(taken, status(condition(status="False")), "nvml", NOW)["conditions"] == taken["conditions"]


def test_a_lost_provider_gets_its_conditions_back_by_writing_them() -> None:
    before = lost(merged({}, status(condition()), "nvml", EARLIER), "nvml", "silent", NOW)
    again = by_type(merged(before, status(condition()), "nvml", LATER))["Ready"]
    assert (again["status"], again["reason"], again["lastTransitionTime"]) == ("True", "Tested", LATER)


def test_the_most_severe_action_of_all_providers_is_shown() -> None:
    one = merged({}, status(condition("A"), action="COMPONENT_RESET"), "nvml", NOW)
    both = merged(one, status(condition("B"), action="RESTART_BM"), "dcgm", NOW)
    assert both["recommendedAction"] == "RESTART_BM"
    assert merged(both, status(condition("B")), "dcgm", NOW)["recommendedAction"] == "COMPONENT_RESET"


def test_an_action_that_was_read_is_not_made_ones_own_by_sending_it_back() -> None:
    one = merged({}, status(condition("A"), action="COMPONENT_RESET"), "nvml", NOW)
    shown = public_status(one)
    echoed = merged(one, shown | {"conditions": [*shown["conditions"], condition("B")]}, "dcgm", NOW)
    assert echoed["recommendedAction"] == "COMPONENT_RESET"
    assert "recommendedAction" not in merged(echoed, status(condition("A")), "nvml", NOW)


def test_unknown_actions_are_above_none_and_below_all_others() -> None:
    assert most_severe(["", "NONE", "UNKNOWN"]) == ""
    assert most_severe(["", "SING_A_SONG"]) == "SING_A_SONG"
    assert most_severe(["SING_A_SONG", "RestartApp"]) == "RestartApp"
    order = ["RestartApp", "COMPONENT_RESET", "RESTART_VM", "RESTART_BM", "RUN_FIELDDIAG", "CONTACT_SUPPORT"]
    for milder, graver in pairwise(order):
        assert most_severe([graver, milder]) == graver


def test_whose_a_condition_is_can_be_asked() -> None:
    stored = merged({}, status(condition()), "nvml", NOW)
    assert merging.owns(stored, "nvml")
    assert not merging.owns(stored, "dcgm")


@given(st.sets(st.sampled_from([action for action in Action if action is not Action.NONE]), min_size=1))
def test_server_and_providers_agree_on_which_action_is_the_most_severe(actions: set[Action]) -> None:
    spellings = [spelled(action) or "" for action in actions]
    assert most_severe(spellings) == spelled(recommended.most_severe(actions))
