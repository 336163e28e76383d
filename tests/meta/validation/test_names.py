from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.validation import names


@pytest.mark.parametrize("name", ["a", "a-b.c", "0", "x" * 253, "a.b.c-d"])
def test_subdomains_are_names_of_objects(name: str) -> None:
    assert names.dns_1123_subdomain(name) == []


@pytest.mark.parametrize("name", ["", "-", "a-", ".a", "a..b", "A", "a_b", "a\n", "é", "a/b", "a\x00"])
def test_what_is_no_subdomain_is_explained_in_kubernetes_words(name: str) -> None:
    assert names.dns_1123_subdomain(name) == [
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]


def test_a_name_may_have_253_characters_and_no_more() -> None:
    assert names.dns_1123_subdomain("x" * 254) == ["must be no more than 253 characters"]


def test_a_label_has_no_dots() -> None:
    assert names.dns_1123_label("a.b") == ["must not contain dots"]
    assert names.dns_1123_label("x" * 63) == []
    assert names.dns_1123_label("x" * 64) == ["must be no more than 63 characters"]
    assert names.dns_1123_label("A")[0].endswith(
        "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    )


def test_a_service_name_starts_with_a_letter() -> None:
    assert names.dns_1035_label("a1") == []
    assert names.dns_1035_label("1a")[0].startswith("a DNS-1035 label must consist of lower case")


@pytest.mark.parametrize("key", ["a", "A_b.c", "example.com/a", "x" * 63, f"{'x' * 253}/{'y' * 63}"])
def test_label_keys_may_have_a_domain(key: str) -> None:
    assert names.qualified_name(key) == []


def test_each_part_of_a_label_key_is_explained() -> None:
    assert names.qualified_name("/a") == ["prefix part must be non-empty"]
    assert names.qualified_name("a/")[0] == "name part must be non-empty"
    assert names.qualified_name("x" * 64) == ["name part must be no more than 63 bytes"]
    assert names.qualified_name("A/b")[0].startswith("prefix part a lowercase RFC 1123 subdomain must consist")
    assert names.qualified_name("a/b/c")[0].endswith(
        "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    )


def test_label_values_may_be_empty() -> None:
    assert names.label_value("") == []
    assert names.label_value("a_B.c-1") == []
    assert names.label_value("é" * 32)[0] == "must be no more than 63 bytes"
    assert names.label_value("-")[0].startswith("a valid label must be an empty string or consist of")


def test_a_path_segment_may_be_nearly_anything() -> None:
    assert names.path_segment_name("system:node proxy") == []
    assert names.path_segment_name("..") == ["may not be '..'"]
    assert names.path_segment_name("a/%") == ["may not contain '/'", "may not contain '%'"]


def test_a_prefix_may_end_in_a_dash() -> None:
    rule = names.as_prefix(names.dns_1123_label)
    assert rule("web-") == []
    assert rule("-") != []
    assert rule("Web-") != []


@given(st.text(alphabet="ab-.", max_size=20))
def test_every_label_is_a_subdomain(text: str) -> None:
    if not names.dns_1123_label(text):
        assert not names.dns_1123_subdomain(text)


@pytest.mark.parametrize("text", ["a" * 1_000_000 + "!", "a-" * 500_000, "a." * 500_000, "." * 1_000_000])
def test_hostile_names_take_linear_time(text: str) -> None:
    for rule in (*names.RULES.values(), names.qualified_name, names.label_value):
        rule(text)  # in quadratic time it would not end
