"""Keys are spread over members, and few of them move when members join and leave."""

from __future__ import annotations

from collections import Counter

from pilotage.manager.shards.ownership import Ring

KEYS = [f"default/key-{number}" for number in range(10_000)]


def owners(*members: str) -> list[str]:
    ring = Ring(members)
    return [ring.owner(key) for key in KEYS]


def test_every_member_has_about_the_same_number_of_keys() -> None:
    for count in (2, 3, 4, 8):
        members = [f"replica-{number}" for number in range(count)]
        shares = Counter(owners(*members))
        assert set(shares) == set(members)
        assert max(shares.values()) < 1.35 * len(KEYS) / count
        assert min(shares.values()) > 0.65 * len(KEYS) / count


def test_from_two_to_three_members_a_third_of_the_keys_moves_and_all_to_the_new_one() -> None:
    before, after = owners("a", "b"), owners("a", "b", "c")
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {"c"}
    assert 0.25 < len(moved) / len(KEYS) < 0.42


def test_keys_of_a_member_that_leaves_go_to_the_others_and_no_other_key_moves() -> None:
    before, after = owners("a", "b", "c"), owners("a", "c")
    assert all(old in (new, "b") for old, new in zip(before, after, strict=True))


def test_owners_do_not_depend_on_the_process_or_the_order() -> None:
    assert owners("a", "b", "c") == owners("c", "b", "a")
    assert [Ring(("a", "b", "c")).owner(key) for key in ("x", "y", "z", "default/app")] == ["b", "a", "c", "a"]


def test_without_members_a_key_has_no_owner() -> None:
    assert Ring(()).owner("x") == ""
