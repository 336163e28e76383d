"""gRPC codes and Kubernetes errors: the tables, and a Status in the details, which takes precedence."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage import errors
from pilotage.device import codes
from pilotage.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Cause,
    Conflict,
    ConnectionLost,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotSupported,
    NotFound,
    ServiceUnavailable,
    Status,
    StatusDetails,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from pilotage.grpc.rpc import Code, RPCError

SERVER = [
    (NotFound, Code.NOT_FOUND),
    (AlreadyExists, Code.ALREADY_EXISTS),
    (Conflict, Code.ABORTED),
    (Invalid, Code.INVALID_ARGUMENT),
    (BadRequest, Code.INVALID_ARGUMENT),
    (UnsupportedMediaType, Code.INVALID_ARGUMENT),
    (Gone, Code.OUT_OF_RANGE),
    (ServiceUnavailable, Code.UNAVAILABLE),
    (Timeout, Code.UNAVAILABLE),
    (TooManyRequests, Code.RESOURCE_EXHAUSTED),
    (Forbidden, Code.PERMISSION_DENIED),
    (Unauthorized, Code.UNAUTHENTICATED),
    (MethodNotSupported, Code.UNIMPLEMENTED),
    (InternalError, Code.INTERNAL),
]
CLIENT = [
    (Code.NOT_FOUND, NotFound),
    (Code.ALREADY_EXISTS, AlreadyExists),
    (Code.INVALID_ARGUMENT, BadRequest),
    (Code.OUT_OF_RANGE, Gone),
    (Code.ABORTED, Conflict),
    (Code.FAILED_PRECONDITION, Conflict),
    (Code.UNAVAILABLE, ServiceUnavailable),
    (Code.DEADLINE_EXCEEDED, ServiceUnavailable),
    (Code.RESOURCE_EXHAUSTED, TooManyRequests),
    (Code.PERMISSION_DENIED, Forbidden),
    (Code.UNAUTHENTICATED, Unauthorized),
    (Code.INTERNAL, InternalError),
    (Code.UNKNOWN, InternalError),
    (Code.DATA_LOSS, InternalError),
]
WATCH = [
    (Code.OUT_OF_RANGE, Gone),
    (Code.RESOURCE_EXHAUSTED, Gone),
    (Code.INVALID_ARGUMENT, Gone),
    (Code.PERMISSION_DENIED, Forbidden),
    (Code.NOT_FOUND, NotFound),
    (Code.UNAVAILABLE, ServiceUnavailable),
    (Code.INTERNAL, InternalError),
]


@pytest.mark.parametrize(("error", "code"), SERVER, ids=lambda one: getattr(one, "__name__", str(one)))
def test_an_error_has_its_grpc_code(error: type[ApiError], code: Code) -> None:
    said = codes.rpc_error(error("no"))
    prefix = {Invalid: "unprocessable content: ", UnsupportedMediaType: "unsupported media type: "}.get(error, "")
    assert (said.code, said.message) == (code, f"{prefix}no")
    assert codes.api_error(said).status.message == "no"  # type: ignore[attr-defined]


@pytest.mark.covers("D3")
@pytest.mark.parametrize(("code", "error"), CLIENT, ids=lambda one: getattr(one, "__name__", str(one)))
def test_a_code_alone_is_an_error_that_a_caller_can_act_on(code: Code, error: type[ApiError]) -> None:
    found = codes.api_error(RPCError(code, "no"))
    assert type(found) is error
    assert str(found) == "no"


@pytest.mark.covers("D3")
@pytest.mark.parametrize(("code", "error"), WATCH, ids=lambda one: getattr(one, "__name__", str(one)))
def test_a_watch_error_that_a_list_repairs_is_gone(code: Code, error: type[ApiError]) -> None:
    assert type(codes.api_error(RPCError(code, "no"), watch=True)) is error


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
@pytest.mark.parametrize("watch", [False, True])
def test_every_code_is_an_error_with_a_text(code: Code, watch: bool) -> None:
    assert str(codes.api_error(RPCError(code, ""), watch=watch))


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("", "V1, V2 and V3 are read-only (get, list and watch), servers of V5 have no UpdateGpuStatus"),
        ("CreateGpu", "V1, V2 and V3 are read-only"),
        ("UpdateGpuStatus", "servers of V5 have no UpdateGpuStatus"),
        ("PatchGpu", "servers of V5 and V6 have no PatchGpu"),
        ("Heartbeat", "no server of NVIDIA's has heartbeats"),
    ],
)
def test_a_method_that_a_server_lacks_is_explained_by_the_generations_that_lack_it(method: str, words: str) -> None:
    found = codes.api_error(RPCError(Code.UNIMPLEMENTED, "unknown method"), method=method)
    assert isinstance(found, MethodNotSupported)
    assert words in str(found)
    assert "pilotage device serve" in str(found)
    assert "unknown method" in str(found)


def test_a_server_without_reads_is_asked_what_it_is() -> None:
    found = codes.api_error(RPCError(Code.UNIMPLEMENTED, "unknown service"), method="ListGpus")
    assert str(found) == "the server has no ListGpus: is it a Device API server? (unknown service)"


@pytest.mark.parametrize("watch", [False, True])
def test_415_and_422_of_a_server_of_v8_are_understood_by_their_prefix(watch: bool) -> None:
    media = codes.api_error(RPCError(Code.INVALID_ARGUMENT, "unsupported media type: apply"), watch=watch)
    assert (type(media), str(media)) == (UnsupportedMediaType, "apply")
    content = codes.api_error(RPCError(Code.INVALID_ARGUMENT, "unprocessable content: no such path"), watch=watch)
    assert (type(content), str(content)) == (Invalid, "no such path")


def test_a_call_that_the_server_gave_up_may_have_been_done() -> None:
    found = codes.api_error(RPCError(Code.CANCELLED, ""))
    assert isinstance(found, ConnectionLost)
    assert found.sent


def test_the_status_wins_over_the_code() -> None:
    status = msgspec.json.encode(Status(409, "Conflict", "no, because").document())
    found = codes.api_error(RPCError(Code.INVALID_ARGUMENT, "no", trailers={codes.STATUS_METADATA: status}), watch=True)
    assert type(found) is Conflict
    assert str(found) == "no, because"


@pytest.mark.parametrize(
    "status",
    [b"\xff", b"[]", b"{}", b'{"kind":"Pod"}', b'{"kind":"Status","status":"Success","code":200}', b"[" * 100_000],
)
def test_a_status_that_is_none_leaves_it_to_the_code(status: bytes) -> None:
    assert type(codes.api_error(RPCError(Code.NOT_FOUND, "no", trailers={codes.STATUS_METADATA: status}))) is NotFound


def test_an_error_whose_reason_has_no_class_goes_by_its_code() -> None:
    assert codes.rpc_error(ApiError(status=Status(409, "Weird", "no"))).code is Code.ABORTED
    assert codes.rpc_error(ApiError(status=Status(418, "Teapot", "no"))).code is Code.INTERNAL


def test_a_novel_is_cut_so_that_it_fits_into_metadata() -> None:
    causes = tuple(Cause("FieldValueInvalid", "x" * 200, f"spec.f{number}") for number in range(500))
    said = codes.rpc_error(Invalid("y" * 100_000, details=StatusDetails(name="gpu-0", kind="GPU", causes=causes)))
    assert len(said.trailers[codes.STATUS_METADATA]) <= codes.LONGEST_STATUS
    assert len(said.message) <= codes.LONGEST_MESSAGE
    found = codes.api_error(said)
    assert isinstance(found, Invalid)
    assert found.status.details == StatusDetails(name="gpu-0", kind="GPU")
    endless = codes.rpc_error(Invalid("é" * 5000, details=StatusDetails(name="n" * 5000)))
    assert len(endless.trailers.get(codes.STATUS_METADATA, b"")) <= codes.LONGEST_STATUS


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
CAUSES = st.builds(Cause, TEXTS, TEXTS, TEXTS)
DETAILS = st.builds(
    StatusDetails, TEXTS, TEXTS, TEXTS, TEXTS, st.lists(CAUSES, max_size=3).map(tuple), st.integers(0, 100)
)
STATUSES = st.builds(
    Status,
    st.sampled_from([400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 500, 503, 504]),
    st.sampled_from([*errors._BY_REASON, "Weird"]),
    TEXTS,
    st.none() | DETAILS,
)


@given(STATUSES)
def test_an_error_that_went_over_the_wire_is_the_same_error(status: Status) -> None:
    sent = errors.from_status(status)
    came = codes.api_error(codes.rpc_error(sent))
    assert isinstance(came, ApiError)
    assert type(came) is type(sent)
    assert came.status == sent.status


@given(STATUSES)
def test_a_client_that_reads_codes_only_gets_the_same_kind_of_error(status: Status) -> None:
    said = codes.rpc_error(errors.from_status(status))
    came = codes.api_error(RPCError(said.code, said.message))
    assert isinstance(came, ApiError)
    assert codes.rpc_error(came).code is said.code or said.code is Code.INVALID_ARGUMENT


@given(st.binary(max_size=60), st.sampled_from([code for code in Code if code is not Code.OK]))
def test_whatever_a_server_sends_is_an_error_of_ours(status: bytes, code: Code) -> None:
    assert isinstance(
        codes.api_error(RPCError(code, "x", trailers={codes.STATUS_METADATA: status})), errors.PilotageError
    )
