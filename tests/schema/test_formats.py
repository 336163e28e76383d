from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.schema.formats import checker

EXAMPLES = {
    "bsonobjectid": ("507f1f77bcf86cd799439011", "507f1f77"),
    "uri": ("https://example.com/a?b#c", "no uri"),
    "email": ("a@example.com", "a@"),
    "hostname": ("www.example.com", "-a.example"),
    "ipv4": ("010.0.0.1", "10.0.0.256"),
    "ipv6": ("::1", "10.0.0.1"),
    "cidr": ("10.00.0.0/8", "10.0.0.0"),
    "mac": ("01:23:45:67:89:ab", "01:23:45"),
    "uuid": ("123E4567-e89b-12d3-a456-426614174000", "123"),
    "uuid3": ("a3bb189e-8bf9-3888-9912-ace4e6543002", "a3bb189e-8bf9-4888-9912-ace4e6543002"),
    "uuid4": ("a3bb189e-8bf9-4888-9912-ace4e6543002", "a3bb189e-8bf9-4888-1912-ace4e6543002"),
    "uuid5": ("a3bb189e-8bf9-5888-9912-ace4e6543002", "a3bb189e-8bf9-4888-9912-ace4e6543002"),
    "isbn": ("978-0321751041", "978-0321751042"),
    "isbn10": ("0321751043", "0321751044"),
    "isbn13": ("978-0321751041", "0321751043"),
    "creditcard": ("4111 1111 1111 1111", "4111 1111 1111 1112"),
    "ssn": ("111-22-3333", "111-22"),
    "hexcolor": ("#FFFFFF", "#GGG"),
    "rgbcolor": ("rgb(255, 0, 7)", "rgb(256,0,0)"),
    "byte": ("aGVsbG8=", "a"),
    "date": ("2024-02-29", "2023-02-29"),
    "duration": ("1h30m", "soon"),
    "date-time": ("2014-12-15T19:30:20.000Z", "2014-12-15 at noon"),
    "k8s-short-name": ("my-name", "My-name"),
    "k8s-long-name": ("my.name", "my..name"),
}


@pytest.mark.parametrize(("name", "good", "bad"), [(name, *pair) for name, pair in EXAMPLES.items()])
def test_a_format_accepts_what_is_valid_and_refuses_the_rest(name: str, good: str, bad: str) -> None:
    check = checker(name)
    assert check is not None
    assert check(good)
    assert not check(bad)


@pytest.mark.parametrize(
    ("name", "text", "valid"),
    [
        ("date-time", "2020-01-01 00:00:00Z", False),
        ("date-time", "2020-01-01T00:00:00", False),
        ("date-time", "2020-01-01T00:00:00+0200", False),
        ("date-time", "2020-01-01T00:00:60Z", False),
        ("date-time", "2020-01-01T24:00:00Z", False),
        ("date-time", "2020-02-30T00:00:00Z", False),
        ("date-time", "2020-01-01t00:00:00.5+02:00", True),
        ("date-time", "2020-01-01T00:00:00x5Z", True),
        ("date-time", "2020-01-01T00:00:00ZTfoo", True),
        ("date", "0000-02-29", True),
        ("byte", "", False),
        ("byte", "YQ==\n", False),
        ("uri", "http:", True),
        ("uri", "http://a:99999", True),
        ("uri", "http://a:b", False),
        ("uri", "http://[::1]:80", True),
        ("uri", "a", False),
        ("uri", "/a%zz", False),
        ("uri", "a:%zz", True),
        ("rgbcolor", "rgb(01,2,3)", False),
        ("ipv4", "::ffff:1.2.3.4", True),
        ("ipv4", "::ffff:0102:0304", False),
        ("ipv6", "::ffff:1.2.3.4", True),
        ("mac", "001122334455", True),
        ("mac", "0011223344556677", True),
        ("mac", "00112233445566", False),
        ("ssn", "123456789", False),
        ("ssn", "123-45 6789", True),
    ],
)
def test_a_format_is_checked_as_kube_apiserver_does_it(name: str, text: str, valid: bool) -> None:
    check = checker(name)
    assert check is not None
    assert check(text) is valid


def test_unknown_formats_are_ignored_and_passwords_are_anything() -> None:
    assert checker("no-such-format") is None
    password = checker("password")
    assert password is not None
    assert password("")


@given(st.sampled_from(sorted(EXAMPLES)), st.text(max_size=50))
def test_no_text_makes_a_check_fail(name: str, text: str) -> None:
    check = checker(name)
    assert check is not None
    assert check(text) in (True, False)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_long_texts_take_no_more_than_linear_time(name: str) -> None:
    check = checker(name)
    assert check is not None
    for unit in ("a", "1", "a.", "1h", ":", "a@", "-", "0 ", "\u0661"):
        check(unit * (400_000 // len(unit)) + "!")  # in quadratic time it would not end
