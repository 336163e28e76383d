from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.storage import keys as keys_module
from pilotage.storage.keys import SortedKeys, behind_prefix

texts = st.text(st.sampled_from("ab/0\ud7ff\ue000\U0010ffff"), max_size=4)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "_BLOCK", 4)


@given(st.lists(st.tuples(st.booleans(), texts), max_size=80), texts, st.none() | texts, st.integers(0, 5))
def test_sorted_keys_are_a_sorted_set(changes: list[tuple[bool, str]], start: str, end: str | None, limit: int) -> None:
    model: set[str] = {"b", "a0"}
    sut = SortedKeys(model)
    for add, key in changes:
        if add and key not in model:
            model.add(key)
            sut.add(key)
        elif not add and key in model:
            model.remove(key)
            sut.remove(key)
    expected = sorted(key for key in model if start <= key and (end is None or key < end))
    assert len(sut) == len(model)
    assert sut.between(start, end) == expected
    assert sut.between(start, end, limit) == (expected[:limit] if limit else expected)
    assert sut.count(start, end) == len(expected)


@given(texts, texts)
def test_bound_is_behind_all_texts_of_the_prefix_and_no_others(prefix: str, text: str) -> None:
    bound = behind_prefix(prefix)
    inside = prefix <= text and (bound is None or text < bound)
    assert inside == text.startswith(prefix)


def test_blocks_stay_small_however_keys_come_and_go() -> None:
    chooser = random.Random(1)
    numbers = list(range(500))
    chooser.shuffle(numbers)
    sut = SortedKeys()
    for number in numbers:
        sut.add(f"{number:03}")
    assert max(map(len, sut._blocks)) <= 8
    for number in numbers[:450]:
        sut.remove(f"{number:03}")
    assert sut.between("", None) == sorted(f"{number:03}" for number in numbers[450:])
    assert all(sut._blocks)
