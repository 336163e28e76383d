"""Random runs: a few are among the tests, and all of them among the long runs."""

from __future__ import annotations

import pytest


def seeds(few: int, all_of_them: int) -> pytest.MarkDecorator:
    """Run a test with the first seeds, and with the others in `make soak-tests`."""
    others = [pytest.param(seed, marks=pytest.mark.long) for seed in range(few, all_of_them)]
    return pytest.mark.parametrize("seed", [*range(few), *others])
