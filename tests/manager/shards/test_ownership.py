"""Which keys a member may work on, by what it and others have published."""

from __future__ import annotations

from pilotage.manager.shards.ownership import Member, Observations, Ownership, Ring

ALONE = frozenset({"a"})
BOTH = frozenset({"a", "b"})
RING = Ring(BOTH)
OF_A = next(key for key in map(str, range(100)) if RING.owner(key) == "a")
OF_B = next(key for key in map(str, range(100)) if RING.owner(key) == "b")


def alone() -> Ownership:
    """The member `a`, which has published that it is alone."""
    joined = Ownership("a").after_reading([Member("a", "1")])
    return joined.after_publishing(joined.wanted).after_reading([Member("a", "2", ALONE)])


def test_a_new_member_owns_nothing_until_it_has_published_its_view_and_read_the_others() -> None:
    joined = Ownership("a").after_reading([Member("a", "1")])
    assert not joined.owns(OF_A)
    published = joined.after_publishing(joined.wanted)
    assert not published.owns(OF_A)
    assert published.after_reading([Member("a", "2", ALONE)]).owns(OF_A)


def test_keys_that_move_are_not_begun_from_the_moment_that_a_member_is_seen() -> None:
    assert alone().owns(OF_B)
    seen = alone().after_reading([Member("a", "2", ALONE), Member("b", "3")])
    assert seen.owns(OF_A)
    assert not seen.owns(OF_B)


def test_a_view_is_published_when_no_key_that_moves_is_worked_on() -> None:
    seen = alone().after_reading([Member("a", "2", ALONE), Member("b", "3")])
    assert seen.may_publish([OF_A])
    assert not seen.may_publish([OF_A, OF_B])


def test_a_key_is_not_begun_while_another_member_owns_it_in_its_own_view() -> None:
    b = Ownership("b").after_reading([Member("a", "1", ALONE), Member("b", "2")])
    b = b.after_publishing(b.wanted).after_reading([Member("a", "1", ALONE), Member("b", "3", BOTH)])
    assert not b.owns(OF_B)
    assert b.after_reading([Member("a", "4", BOTH), Member("b", "3", BOTH)]).owns(OF_B)
    assert b.after_reading([Member("b", "3", BOTH)]).wanted == Ring({"b"})  # a is removed


def test_a_member_has_expired_when_it_was_not_seen_to_change_for_its_duration() -> None:
    observations = Observations()
    first, renewed = Member("a", "1", duration=15), Member("a", "2", duration=15)
    assert observations.observe([first], 100) == []
    assert observations.observe([first], 115) == []
    assert observations.observe([first], 115.1) == [first]
    assert observations.observe([renewed], 116) == []
    assert observations.observe([renewed], 131) == []
    assert observations.observe([renewed], 131.1) == [renewed]
