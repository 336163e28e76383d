"""gRPC's values in headers: what is written is read again, and malformed values are read leniently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.grpc import metadata
from pilotage.grpc.rpc import Code, RPCError

DETAILS = "details-bin"


@given(st.text(max_size=150))
def test_a_message_survives_its_way_through_a_header(text: str) -> None:
    escaped = metadata.escaped(text)
    assert all(0x20 <= ord(character) < 0x7F for character in escaped)
    assert metadata.unescaped(escaped) == text.encode("utf-8", "replace").decode()


def test_a_very_long_message_is_cut() -> None:
    assert len(metadata.escaped("ü" * 100_000)) < 2000


@given(st.sampled_from([code for code in Code if code is not Code.OK]), st.text(max_size=50), st.binary(max_size=500))
def test_an_error_survives_its_way_through_trailers(code: Code, message: str, details: bytes) -> None:
    error = metadata.outcome(dict(metadata.failure(RPCError(code, message, trailers={DETAILS: details}))))
    assert error is not None
    assert (error.code, error.trailers.get(DETAILS, b"")) == (code, details)
    assert error.message == message.encode("utf-8", "replace").decode()


def test_a_binary_trailer_that_is_too_long_for_headers_is_left_out() -> None:
    fields = metadata.failure(RPCError(Code.INVALID_ARGUMENT, "m" * 10_000, trailers={DETAILS: bytes(10_000)}))
    assert DETAILS not in dict(fields)
    assert sum(len(key) + len(value) for key, value in fields) < 8000


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, Code.UNKNOWN),
        ({"grpc-status": "x"}, Code.UNKNOWN),
        ({"grpc-status": "999"}, Code.UNKNOWN),
        ({"grpc-status": "17"}, Code.UNKNOWN),
        ({"grpc-status": "5", DETAILS: "%%%"}, Code.NOT_FOUND),
        ({"grpc-status": "5", "grpc-message": "%zz%ff"}, Code.NOT_FOUND),
    ],
)
def test_odd_trailers_are_read_leniently(fields: dict[str, str], code: Code) -> None:
    error = metadata.outcome(fields)
    assert error is not None
    assert error.code is code
    assert error.trailers == {}


@given(st.floats(0, 1e9))
def test_a_deadline_is_never_sent_shorter_than_it_is(seconds: float) -> None:
    told = metadata.timeout_seconds(metadata.timeout_text(seconds))
    assert told >= seconds * 0.999999
    assert told <= max(seconds * 1.02, seconds + 1e-5)


@pytest.mark.parametrize("text", ["", "5", "S", "-5S", "123456789S", "5s", "5 S", "\u0665S"])
def test_what_is_no_deadline_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="grpc-timeout"):
        metadata.timeout_seconds(text)


@pytest.mark.parametrize(("key", "value"), [("A", ""), ("", ""), ("grpc-x", ""), ("a b", ""), ("a", "ü"), ("a", "\n")])
def test_metadata_that_headers_cannot_carry_are_refused(key: str, value: str) -> None:
    with pytest.raises(ValueError, match="metadata"):
        metadata.metadata_block({key: value})


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({":status": "503"}, Code.UNAVAILABLE),
        ({":status": "404"}, Code.UNIMPLEMENTED),
        ({":status": "200", "content-type": "text/html"}, Code.UNKNOWN),
        ({":status": "?"}, Code.UNKNOWN),
        ({}, Code.UNKNOWN),
    ],
)
def test_an_answer_that_is_not_grpc_is_reported(fields: dict[str, str], code: Code) -> None:
    error = metadata.refused_by_http(fields)
    assert error is not None
    assert error.code is code


def test_a_deadline_without_end_is_the_longest_there_is() -> None:
    assert metadata.timeout_text(float("inf")) == "99999999M"


def test_values_are_sent_without_the_spaces_around_them() -> None:
    assert metadata.metadata_block({"a": " b c "}) == metadata.metadata_block({"a": "b c"})


@pytest.mark.parametrize(
    ("names", "fine"),
    [
        ([], True),
        ([b":path", b"x"], True),
        ([b"x", b"x", b"a-b_c.d~"], True),
        ([b"x", b":path"], False),
        ([b":path", b":path"], False),
        ([b":odd"], False),
        ([b"a\nb"], False),
        ([b"a\n"], False),
        ([b""], False),
        ([b"A"], False),
        ([b"a b"], False),
        ([b"\x7f"], False),
        ([b"upgrade"], False),
    ],
)
def test_names_that_http2_does_not_allow_are_reported(names: list[bytes], fine: bool) -> None:
    assert metadata.well_formed([(name, b"v") for name in names], (b":path",)) is fine


@pytest.mark.parametrize(("value", "fine"), [(b"", True), (b"\xff \t", True), (b"\n", False), (b"a\x00", False)])
def test_values_that_http2_does_not_allow_are_reported(value: bytes, fine: bool) -> None:
    assert metadata.well_formed([(b"x", b""), (b"y", value)]) is fine
