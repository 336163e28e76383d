"""Lists of texts: a single text is refused where it is given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pilotage as pt
from pilotage.meta.bounds.texts import texts


def test_a_list_of_texts_is_taken() -> None:
    assert texts(["*", "-a"], "controllers") == ("*", "-a")
    assert texts((), "controllers") == ()


def test_a_single_text_is_refused_with_the_list_that_was_meant() -> None:
    with pytest.raises(pt.InvalidDefinition) as caught:
        texts("*, -a", "controllers")
    assert str(caught.value) == "controllers='*, -a' must be a list; write controllers=['*', '-a']"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("controllers", lambda: pt.Cluster.embedded(controllers="*")),
        ("enable_admission_plugins", lambda: pt.Cluster.embedded(enable_admission_plugins="AlwaysDeny")),
        ("disable_admission_plugins", lambda: pt.Cluster.embedded(disable_admission_plugins="ResourceQuota")),
        ("service_cluster_ip_range", lambda: pt.Cluster.embedded(service_cluster_ip_range="10.1.0.0/16")),
    ],
)
def test_the_options_of_an_embedded_server_are_checked_when_they_are_given(
    name: str, make: Callable[[], pt.Cluster]
) -> None:
    with pytest.raises(pt.InvalidDefinition, match=f"^{name}='.*' must be a list"):
        make()


async def test_the_groups_of_another_user_are_checked() -> None:
    async with pt.Cluster.embedded() as cluster:
        with pytest.raises(pt.InvalidDefinition, match=r"^groups='admins' must be a list; write groups=\['admins'\]$"):
            cluster.client.as_user("ann", groups="admins")
