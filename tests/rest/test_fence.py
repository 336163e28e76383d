"""The fences of a leader's writes: their header, and the checks before a write."""

from __future__ import annotations

import pytest

from pilotage.errors import BadRequest
from pilotage.rest.fence import MAX_TERMS, Fence, LeaderTerm, check_all, header_of, parse_header

TERM = LeaderTerm("default", "leader", "host_1", 3)


def refuse() -> None:
    raise ZeroDivisionError


def test_a_header_has_lease_transitions_and_holder() -> None:
    assert header_of([Fence(TERM)]) == "default/leader/3/host_1"
    assert (
        header_of([Fence(LeaderTerm("a", "b", "x/y, z", 0)), Fence(TERM)])
        == "a/b/0/x%2Fy%2C%20z,default/leader/3/host_1"
    )
    assert header_of([Fence()]) == ""


@pytest.mark.parametrize("text", ["", "a", "a/b/c/d", "a/b/-1/d", "a/b/1", "a/b/1/c/d", f"a/b/{10**11}/d", "a/b/²/d"])
def test_a_header_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="pilotage-lease"):
        parse_header(text)


def test_a_header_has_a_limited_number_of_leases() -> None:
    assert len(parse_header(",".join(["a/b/1/c"] * MAX_TERMS))) == MAX_TERMS
    with pytest.raises(BadRequest, match="at most 4"):
        parse_header(",".join(["a/b/1/c"] * (MAX_TERMS + 1)))


def test_a_term_is_sent_only_to_the_server_that_has_the_lease() -> None:
    here, elsewhere = object(), object()
    fence = Fence(TERM, refuse, here)
    assert fence.toward(here) is fence
    assert fence.toward(elsewhere) == Fence(None, refuse)


def test_one_fence_that_refuses_is_enough() -> None:
    check_all([Fence(), Fence(TERM)])
    with pytest.raises(ZeroDivisionError):
        check_all([Fence(), Fence(TERM, refuse)])
