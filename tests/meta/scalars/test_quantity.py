from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.scalars.quantity import Quantity


@pytest.mark.parametrize(
    ("text", "canonical", "amount"),
    [
        ("0", "0", "0"),
        ("1", "1", "1"),
        ("+1.5", "1500m", "1.5"),
        ("-.5", "-500m", "-0.5"),
        ("1.", "1", "1"),
        ("100m", "100m", "0.1"),
        ("1000m", "1", "1"),
        ("5n", "5n", "0.000000005"),
        ("7u", "7u", "0.000007"),
        ("3k", "3k", "3000"),
        ("2M", "2M", "2000000"),
        ("1000G", "1T", "1000000000000"),
        ("1P", "1P", "1000000000000000"),
        ("1E", "1E", "1000000000000000000"),
        ("1000E", "1000E", "1000000000000000000000"),
        ("1Ki", "1Ki", "1024"),
        ("1.5Gi", "1536Mi", "1610612736"),
        ("1024Mi", "1Gi", "1073741824"),
        ("0.5Ki", "512", "512"),
        ("1000Ki", "1000Ki", "1024000"),
        ("0.1Ki", "102400m", "102.4"),
        ("12e6", "12e6", "12000000"),
        ("1E3", "1e3", "1000"),
        ("1e-1", "100e-3", "0.1"),
        ("10e2", "1e3", "1000"),
        ("0.1n", "1n", "0.000000001"),
        ("-0.1n", "-1n", "-0.000000001"),
        ("1e-999999999", "1e-9", "0.000000001"),
        ("16Ei", "9223372036854775807", "9223372036854775807"),
        ("0e999999999", "0", "0"),
    ],
)
def test_texts_mean_what_they_mean_to_kubernetes(text: str, canonical: str, amount: str) -> None:
    quantity = Quantity(text)
    assert quantity.canonical() == canonical
    assert quantity.as_decimal() == Decimal(amount)
    assert str(quantity) == text
    assert Quantity(canonical) == quantity


@pytest.mark.parametrize(
    "text",
    ["", " ", ".", "Ki", "1 Ki", "1ki", "1K", "1mm", "1e", "1e1.5", "0x10", "NaN", "inf", "1,5", "--1", "\u0661"],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantit"):
        Quantity(text)


@pytest.mark.parametrize("value", ["1e999999999", "1e257", "9" * 257, 10**300, f"1{'0' * 300}Gi"])
def test_no_small_text_becomes_a_large_number(value: str | int) -> None:
    with pytest.raises(ValueError, match="at most 256"):
        Quantity(value)  # the first would have a billion digits


@pytest.mark.parametrize("value", [None, True, [], {}])
def test_a_quantity_is_text_or_a_number(value: object) -> None:
    with pytest.raises(TypeError, match="a string or a number"):
        Quantity(value)  # type: ignore[arg-type]  # what a careless caller does


def test_numbers_are_quantities_and_whole_ones_stay_numbers_on_the_wire() -> None:
    assert Quantity(3) == Quantity("3")
    assert Quantity(0.5) == Quantity("500m")
    assert Quantity(Decimal("0.001")) == Quantity("1m")
    assert Quantity(3).wire == 3
    assert Quantity(0.5).wire == "0.5"  # custom resources take no fraction as a number


def test_values_are_rounded_away_from_zero() -> None:
    assert Quantity("1500m").value() == 2
    assert Quantity("-1500m").value() == -2
    assert Quantity("1u").milli_value() == 1
    assert float(Quantity("1500m")) == 1.5


def test_equal_amounts_are_equal_and_hash_alike() -> None:
    assert Quantity("1Gi") == Quantity("1024Mi")
    assert len({Quantity("1"), Quantity("1000m"), Quantity("1e0")}) == 1
    assert Quantity("1") != 1
    assert Quantity("1") < Quantity("1001m") <= Quantity("1001m")
    assert not Quantity("0")
    assert Quantity("0").is_zero()


def test_sums_keep_the_family_of_suffixes() -> None:
    assert str(Quantity("1Gi") + Quantity("1Gi")) == "2Gi"
    assert str(Quantity("1Gi") - Quantity("512Mi")) == "512Mi"
    assert str(Quantity("0") + Quantity("1Ki")) == "1Ki"
    assert str(Quantity("100m") * 25) == "2500m"
    assert str(-Quantity("1k")) == "-1k"
    assert str(abs(Quantity("-1k"))) == "1k"


def test_a_quantity_is_copied_and_sent_as_it_was_written() -> None:
    quantity = Quantity("1.50Gi")
    assert copy.deepcopy(quantity) is quantity
    assert str(pickle.loads(pickle.dumps(quantity))) == "1.50Gi"


AMOUNTS = st.builds(
    lambda number, suffix: Quantity(f"{number}{suffix}"),
    st.integers(-(10**6), 10**6),
    st.sampled_from(["n", "u", "m", "", "k", "M", "Ki", "Mi", "e3", "e-3"]),
)


@given(AMOUNTS)
def test_the_canonical_text_is_the_same_amount_and_its_own_canonical_text(quantity: Quantity) -> None:
    again = Quantity(quantity.canonical())
    assert again == quantity
    assert again.canonical() == quantity.canonical()


@given(AMOUNTS, AMOUNTS)
def test_arithmetic_is_exact(one: Quantity, other: Quantity) -> None:
    assert (one + other).as_decimal() == one.as_decimal() + other.as_decimal()
    assert one + other - other == one
    assert (one < other) == (one.as_decimal() < other.as_decimal())
