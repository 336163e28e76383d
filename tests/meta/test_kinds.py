from __future__ import annotations

from pilotage.meta.kinds import version_priority


def test_stable_goes_before_beta_before_alpha_before_others() -> None:
    best_first = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted(set(best_first), key=version_priority) == best_first


def test_a_hostile_version_is_just_another_name() -> None:
    assert version_priority("v" + "9" * 100_000)[0] == 3
