"""Fractional quantities: kube-apiserver warns for these, and not for the others."""

from __future__ import annotations

import pytest

from pilotage.kubernetes.checks.quantities import is_fractional


@pytest.mark.parametrize(
    ("amount", "fractional"), [("1", False), ("1m", True), ("1Pi", False), ("8Ei", False), ("1e30", False)]
)
def test_thousandths_make_an_amount_fractional(amount: str, fractional: bool) -> None:
    assert is_fractional(amount) is fractional


def test_thousandths_are_cut_to_64_bits() -> None:
    assert is_fractional("1Ei")
