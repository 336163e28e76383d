from __future__ import annotations

from pilotage.meta.bounds.recent import Recent


def test_the_entries_that_were_set_last_are_kept() -> None:
    kept: Recent[str, int] = Recent(2)
    kept["a"], kept["b"], kept["c"] = 1, 2, 3
    assert kept == {"b": 2, "c": 3}


def test_an_entry_that_is_set_again_is_the_latest() -> None:
    kept: Recent[str, int] = Recent(2)
    kept["a"], kept["b"], kept["a"], kept["c"] = 1, 2, 3, 4
    assert kept == {"a": 3, "c": 4}
