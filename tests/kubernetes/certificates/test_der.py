"""Errors about invalid DER, with the messages of a kube-apiserver that got it as a certificate signing request."""

from __future__ import annotations

import pytest

from pilotage.kubernetes.certificates.der import sequences_problem

NAMES = ("certificateRequest", "tbsCertificateRequest")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "syntax error: sequence truncated"),
        (b"x", "syntax error: truncated tag or length"),
        (b"\x30\x00", "syntax error: sequence truncated"),
        (b"\x30\x05\x02\x01", "syntax error: data truncated"),
        (b"\x30\x82\x01\x00" + bytes(10), "syntax error: data truncated"),
        (b"\x30\x80\x00\x00", "syntax error: indefinite length found (not DER)"),
        (b"\x30\x01\x30", "syntax error: truncated tag or length"),
        (b"\x30\x03\x30\x05a", "syntax error: data truncated"),
    ],
)
def test_data_that_is_cut_off_is_named(data: bytes, problem: str) -> None:
    assert sequences_problem(data, NAMES) == f"asn1: {problem}"


@pytest.mark.parametrize(
    ("data", "found", "name"),
    [
        (b"xy", "{class:1 tag:24 length:121 isCompound:true}", "certificateRequest"),
        (b"\x04\x02ab", "{class:0 tag:4 length:2 isCompound:false}", "certificateRequest"),
        (b"\x30\x03\x02\x01\x01", "{class:0 tag:2 length:1 isCompound:false}", "tbsCertificateRequest"),
    ],
)
def test_an_element_that_is_not_a_sequence_is_named(data: bytes, found: str, name: str) -> None:
    problem = sequences_problem(data, NAMES)
    assert problem.startswith(f"asn1: structure error: tags don't match (16 vs {found}) {{optional:false ")
    assert problem.endswith(f" {name} @2")


def test_sequences_are_accepted() -> None:
    assert sequences_problem(b"\x30\x02\x30\x00", NAMES) == ""
