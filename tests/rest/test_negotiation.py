"""Which form of an answer an Accept header asks for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilotage.errors import NotAcceptable
from pilotage.rest.negotiation import ACCEPT, LIST_ACCEPT, clauses, requested_form
from pilotage.rest.request import Form

PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize("accept", ["", "*/*", "application/*", "application/json", "application/json;q=0.5", " "])
def test_plain_json_is_what_everybody_means(accept: str) -> None:
    assert requested_form(accept) is Form.OBJECT


@pytest.mark.parametrize("form", [Form.OBJECT, Form.METADATA])
def test_what_we_send_is_what_we_read(form: Form) -> None:
    assert requested_form(ACCEPT[form]) is form
    assert requested_form(LIST_ACCEPT[form]) is form


def test_a_table_is_given_where_there_are_tables() -> None:
    assert requested_form(f"{TABLE},application/json", tables=True) is Form.TABLE
    assert requested_form(f"{TABLE},application/json") is Form.OBJECT


def test_the_first_that_can_be_served_wins() -> None:
    protobuf = "application/vnd.kubernetes.protobuf"
    assert requested_form(f"{protobuf},{PARTIAL},application/json") is Form.METADATA
    assert requested_form(f"application/json;as=Nope;g=meta.k8s.io;v=v1,{PARTIAL}") is Form.METADATA


def test_quality_orders_the_alternatives() -> None:
    assert requested_form(f"application/json;q=0.2,{PARTIAL};q=0.9") is Form.METADATA
    assert requested_form(f"application/json,{PARTIAL};q=0.9") is Form.OBJECT


@pytest.mark.parametrize(
    "accept",
    [
        "application/xml",
        "application/vnd.kubernetes.protobuf",
        "application/json;q=0",
        TABLE,
        "application/json;as=PartialObjectMetadata;g=other;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v9",
    ],
)
def test_nothing_left_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="application/json"):
        requested_form(accept)


def test_the_number_of_alternatives_is_bounded() -> None:
    assert len(clauses("application/json," * 10_000)) == 64


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_header_is_read_or_refused(accept: str) -> None:
    refused = ""
    try:
        requested_form(accept)
    except NotAcceptable as error:
        refused = str(error)
    assert len(refused) < 400
