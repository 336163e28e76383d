"""Random JSON values for the tests of patches."""

from __future__ import annotations

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c/d", "~"])
SCALARS = st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]) | st.text("xy", max_size=1)
VALUES = st.recursive(
    SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
WITHOUT_NULL = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
