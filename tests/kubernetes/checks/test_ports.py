from __future__ import annotations

from pilotage.kubernetes.checks.ports import port_name_problems, validate_port_number_or_name


def test_names_of_ports_are_short_and_lower_case() -> None:
    assert not list(port_name_problems("http-1"))
    assert len(list(port_name_problems("-"))) == 2
    assert list(port_name_problems("8080")) == ["must contain at least one letter (a-z)"]
    assert list(port_name_problems("a" * 16)) == ["must be no more than 15 characters"]


def test_a_port_is_referenced_by_number_or_name() -> None:
    assert not list(validate_port_number_or_name("http", "p"))
    assert not list(validate_port_number_or_name(80, "p"))
    assert [cause.field for cause in validate_port_number_or_name(0, "p")] == ["p"]
