"""Which format of an answer an Accept header asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.rest.negotiation import (
    ACCEPT,
    LIST_ACCEPT,
    NO_FORMS,
    PROTOBUF,
    YAML,
    ResponseFormat,
    clauses,
    negotiate,
    requested_form,
)
from pilotage.rest.request import Form

PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize("accept", ["", "*/*", "application/*", "application/json", "application/json;q=0.5", " "])
def test_anything_is_plain_json(accept: str) -> None:
    assert negotiate(accept) == ResponseFormat()


@pytest.mark.parametrize("form", list(Form))
def test_what_we_send_is_what_we_read(form: Form) -> None:
    assert requested_form(ACCEPT[form]) is form
    assert requested_form(LIST_ACCEPT[form]) is form


def test_the_first_that_can_be_served_wins() -> None:
    assert negotiate(f"{PROTOBUF},application/json") == ResponseFormat(PROTOBUF)
    assert negotiate(f"{PROTOBUF},application/json", messages=False) == ResponseFormat()
    assert negotiate(f"{PARTIAL},application/json") == ResponseFormat(form=Form.METADATA, kind="PartialObjectMetadata")
    assert negotiate(f"{PARTIAL},application/yaml", forms=NO_FORMS) == ResponseFormat(YAML)
    assert negotiate(f"application/json;as=Nope;g=meta.k8s.io;v=v1,{TABLE}") == ResponseFormat(
        form=Form.TABLE, kind="Table"
    )


def test_the_metadata_of_a_custom_resource_has_a_message() -> None:
    accept = PARTIAL.replace("application/json", PROTOBUF).replace("v=v1", "v=v1beta1")
    expected = ResponseFormat(PROTOBUF, Form.METADATA, "PartialObjectMetadata", "v1beta1")
    assert negotiate(accept, messages=False) == expected


def test_quality_orders_the_alternatives_and_what_is_precise_comes_first() -> None:
    assert requested_form(f"application/json;q=0.2,{PARTIAL};q=0.9") is Form.METADATA
    assert requested_form(f"application/json,{PARTIAL};q=0.9") is Form.OBJECT
    assert negotiate("*/*,application/yaml") == ResponseFormat(YAML)
    assert negotiate("application/yaml;q=0.5,application/json;q=0") == ResponseFormat(YAML)
    assert negotiate("application/json;q=0") == ResponseFormat()


def test_a_parameter_can_ask_for_indented_json() -> None:
    assert negotiate("application/json;pretty=1") == ResponseFormat(pretty=True)


@pytest.mark.parametrize(
    "accept",
    [
        "application/xml",
        "application/cbor",
        "garbage",
        "APPLICATION/JSON",
        TABLE.replace("application/json", PROTOBUF),
        "application/json;as=Table",
        "application/json;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=other;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v9",
        "application/json;stream=other",
        "application/yaml;stream=watch",
    ],
)
def test_what_cannot_be_served_is_not_acceptable(accept: str) -> None:
    assert negotiate(accept) is None
    assert requested_form(accept) is Form.OBJECT


def test_the_number_of_alternatives_is_bounded() -> None:
    assert len(clauses("application/json," * 10_000)) == 64


@given(st.text(max_size=80))
def test_any_header_is_read_or_refused(accept: str) -> None:
    negotiate(accept)
