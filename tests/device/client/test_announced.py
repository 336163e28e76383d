"""What a server announces, and where versions come from."""

from __future__ import annotations

import pytest

from pilotage.device.client.announced import Announced, VersionOrigin
from pilotage.device.wire.options import BOOKMARK_SECONDS, STORAGE, UNDERSTOOD


def test_what_our_server_announces_is_read() -> None:
    metadata = {UNDERSTOOD: "a, b,,c", STORAGE: "x", BOOKMARK_SECONDS: "3"}
    assert Announced.read(metadata) == Announced(frozenset({"a", "b", "c"}), "x", 3.0)


@pytest.mark.parametrize("metadata", [{}, {BOOKMARK_SECONDS: "often"}, {BOOKMARK_SECONDS: "-1"}])
def test_a_server_that_announces_nothing_or_nonsense_promises_nothing(metadata: dict[str, str]) -> None:
    assert Announced.read(metadata) == Announced()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (VersionOrigin(1), VersionOrigin(1), True),
        (VersionOrigin(1), VersionOrigin(2), False),
        (VersionOrigin(1, "x"), VersionOrigin(2, "x"), True),
        (VersionOrigin(1, "x"), VersionOrigin(2, "y"), False),
        (VersionOrigin(1, "x"), VersionOrigin(1), True),
        (VersionOrigin(1, "x"), VersionOrigin(2), False),
        (VersionOrigin(1), VersionOrigin(2, "x"), False),
        (VersionOrigin(), VersionOrigin(2), True),
        (VersionOrigin(1), VersionOrigin(), True),
    ],
)
def test_versions_are_the_same_on_one_connection_and_in_one_storage(
    one: VersionOrigin, other: VersionOrigin, same: bool
) -> None:
    assert one.same_versions(other) is same
