from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from pilotage.schema.names import version_priority

# The order of the Kubernetes documentation.
ORDERED = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]


@given(st.randoms(use_true_random=False))
def test_versions_sort_as_kubernetes_sorts_them_however_they_were_shuffled(shuffled: random.Random) -> None:
    versions = ORDERED.copy()
    shuffled.shuffle(versions)
    assert sorted(versions, key=version_priority) == ORDERED
