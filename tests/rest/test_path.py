"""A request to its HTTP form and back, and hostile paths."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import ApiError, BadRequest, Cause, MethodNotSupported, NotFound
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import (
    APIRequest,
    DeleteOptions,
    EncodedRequest,
    Fence,
    Form,
    LeaderTerm,
    ListOptions,
    PatchType,
    Verb,
    WriteOptions,
    build,
    parse,
)
from pilotage.rest.path import split

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
WIDGETS = GroupVersionResource("demo.example.com", "v1", "widgets")
COLLECTIONS = (Verb.LIST, Verb.WATCH, Verb.CREATE, Verb.DELETE_COLLECTION)
READS = (Verb.GET, Verb.LIST, Verb.WATCH, Verb.DELETE_COLLECTION)

words = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8).filter(
    lambda word: word not in ("status", "finalize", "namespaces")
)
names = st.one_of(words, st.text(min_size=1, max_size=12)).filter(
    lambda name: not set("/%\x00") & set(name) and name not in (".", "..", "status", "finalize")
)
texts = st.text(max_size=20)
versions = st.integers(0, 10**15).map(str) | st.just("")
list_options = st.builds(
    ListOptions,
    label_selector=texts,
    field_selector=texts,
    limit=st.integers(0, 10**6),
    continue_token=texts,
    resource_version=versions,
    resource_version_match=st.sampled_from(["", "Exact", "NotOlderThan"]),
    include_object=st.sampled_from(["", "Object"]),
    timeout_seconds=st.none() | st.integers(0, 10**6),
    allow_watch_bookmarks=st.booleans(),
    send_initial_events=st.none() | st.booleans(),
)
write_options = st.builds(
    WriteOptions,
    dry_run=st.booleans(),
    field_manager=texts,
    field_validation=st.sampled_from(["", "Strict", "Warn", "Ignore"]),
    force=st.none() | st.booleans(),
)
delete_options = st.builds(
    DeleteOptions,
    dry_run=st.booleans(),
    grace_period_seconds=st.none() | st.integers(0, 1000),
    propagation_policy=st.sampled_from(["", "Orphan", "Background", "Foreground"]),
    uid=st.none() | texts,
    resource_version=versions,
)


fences = st.lists(
    st.builds(LeaderTerm, namespace=texts, name=texts, holder=texts, transitions=st.integers(0, 2**31 - 1)).map(Fence),
    max_size=2,
).map(tuple)


def _options(draw: st.DrawFn, verb: Verb) -> ListOptions:
    if verb is Verb.GET:  # what is about lists is ignored
        return ListOptions(resource_version=draw(versions))
    return draw(list_options) if verb in READS else ListOptions()


@st.composite
def requests(draw: st.DrawFn) -> APIRequest:
    verb = draw(st.sampled_from(Verb))
    named = verb not in COLLECTIONS
    writes = verb in (Verb.CREATE, Verb.UPDATE, Verb.PATCH)
    body = draw(st.binary(max_size=20)) if writes else b""
    return APIRequest(
        verb=verb,
        resource=GroupVersionResource(draw(words | st.just("")), draw(words), draw(words)),
        namespace=draw(names | st.just("")),
        name=draw(names) if named else "",
        subresource=draw(st.sampled_from(["", "status", "scale"])) if named else "",
        form=draw(st.sampled_from([Form.OBJECT, Form.METADATA])) if verb in READS[:3] else Form.OBJECT,
        options=_options(draw, verb),
        write=draw(write_options) if writes else WriteOptions(),
        delete=draw(delete_options) if verb in (Verb.DELETE, Verb.DELETE_COLLECTION) else DeleteOptions(),
        body=body,
        content_type=draw(st.sampled_from(PatchType)).value if verb is Verb.PATCH else "",
        user_agent=draw(st.just("") | words),
        fences=draw(fences),
    )


@given(requests())
def test_parse_undoes_build(request: APIRequest) -> None:
    assert parse(build(request)) == request


@given(requests())
def test_what_is_built_is_plain_ascii_without_spaces(request: APIRequest) -> None:
    target = build(request).target
    assert target.isascii()
    assert not any(character.isspace() or not character.isprintable() for character in target)


@given(
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "", "get"]),
    st.text(max_size=60) | st.builds("/api/v1/namespaces/{}/pods?{}".format, texts, texts),
    st.binary(max_size=30),
)
def test_whatever_comes_is_a_request_or_a_clear_refusal(method: str, target: str, body: bytes) -> None:
    refusal = None
    try:
        parse(EncodedRequest(method, target, (), body))
    except ApiError as error:
        refusal = error.status
    assert refusal is None or (400 <= refusal.code < 500 and refusal.message)


def test_core_group_and_others_have_their_own_roots() -> None:
    core = APIRequest(Verb.GET, CONFIG_MAPS, "default", "a")
    assert build(core).target == "/api/v1/namespaces/default/configmaps/a"
    assert build(APIRequest(Verb.LIST, WIDGETS)).target == "/apis/demo.example.com/v1/widgets"


def test_namespaces_are_a_resource_of_their_own() -> None:
    namespaces = GroupVersionResource("", "v1", "namespaces")
    for path, name, subresource in [
        ("/api/v1/namespaces", "", ""),
        ("/api/v1/namespaces/a", "a", ""),
        ("/api/v1/namespaces/a/status", "a", "status"),
        ("/api/v1/namespaces/a/finalize", "a", "finalize"),
    ]:
        request = parse(EncodedRequest("GET", path))
        assert (request.resource, request.namespace, request.name) == (namespaces, "", name)
        assert request.subresource == subresource


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/api",
        "/api/v1",
        "/apis/demo.example.com/v1",
        "/foo/bar/baz",
        "/api/v1/namespaces//pods/x",
        "/api/v1//pods",
        "/api/v1/namespaces/../pods",
        "/api/v1/namespaces/%2e%2e/pods",
        "/api/v1/namespaces/%2E/pods",
        "/api/v1/namespaces/a/pods/%2Fetc%2Fpasswd",
        "/api/v1/namespaces/a/pods/x%00y",
    ],
)
def test_hostile_paths_are_not_found(path: str) -> None:
    with pytest.raises(NotFound):
        parse(EncodedRequest("GET", path))


def test_what_follows_the_name_is_the_subresource_an_encoded_slash_too() -> None:
    assert split("/api/v1/namespaces/default/pods/a/status/more/")[2:] == ("a", "status/more")
    assert split("/api/v1/namespaces/default/pods/a%2Fb")[2:] == ("a", "b")


def test_a_path_is_decoded_just_once() -> None:
    request = parse(EncodedRequest("GET", "/api/v1/namespaces/%252e%252e/pods/a"))
    assert request.namespace == "%2e%2e"
    with pytest.raises(BadRequest, match='"%2e%2e": may not contain'):
        parse(EncodedRequest("GET", "/api/v1/namespaces/a/pods/%252e%252e"))


@pytest.mark.parametrize("pair", ["labelSelector=%zz", "labelSelector=%", "labelSelector=a;b", "%zz=a", ""])
def test_a_broken_pair_of_the_query_is_ignored(pair: str) -> None:
    assert parse(EncodedRequest("GET", f"/api/v1/pods?{pair}&limit=3")).options == ListOptions(limit=3)


def test_bad_utf8_in_the_query_becomes_replacement_characters() -> None:
    assert parse(EncodedRequest("GET", "/api/v1/pods?labelSelector=%ff")).options.label_selector == "\ufffd"


def test_the_first_of_several_values_counts() -> None:
    assert parse(EncodedRequest("GET", "/api/v1/pods?limit=3&limit=4")).options.limit == 3


def test_options_of_lists_are_ignored_for_one_object() -> None:
    request = parse(
        EncodedRequest("GET", "/api/v1/namespaces/a/pods/b?watch=1&limit=x&labelSelector=((&resourceVersion=5")
    )
    assert (request.verb, request.options) == (Verb.GET, ListOptions(resource_version="5"))


def test_only_a_client_that_prefers_them_gets_frequent_bookmarks() -> None:
    target = "/api/v1/pods?watch=1&allowWatchBookmarks=1"
    assert not parse(EncodedRequest("GET", target)).options.frequent_bookmarks
    ours = build(APIRequest(Verb.WATCH, CONFIG_MAPS, options=ListOptions(allow_watch_bookmarks=True)))
    assert ("prefer", "pilotage-frequent-bookmarks") in ours.headers
    assert parse(ours).options.frequent_bookmarks


def test_a_hundred_parameters_pass_and_more_do_not() -> None:
    parse(EncodedRequest("GET", "/api/v1/pods?" + "&".join(f"p{number}=x" for number in range(100))))
    with pytest.raises(BadRequest, match="query"):
        parse(EncodedRequest("GET", "/api/v1/pods?" + "&".join(f"p{number}=x" for number in range(101))))


@pytest.mark.parametrize("value", ["", "x", "1.5", "\uff11", "9" * 30, "9" * 3000, "0x10", "--1", "1_0"])
def test_numbers_must_be_numbers(value: str) -> None:
    with pytest.raises(BadRequest):
        parse(EncodedRequest("GET", f"/api/v1/pods?limit={value}"))


def test_a_negative_limit_is_none() -> None:
    assert parse(EncodedRequest("GET", "/api/v1/pods?limit=-5")).options.limit == 0


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "FROB", ""])
def test_unknown_methods_are_not_allowed(method: str) -> None:
    with pytest.raises(MethodNotSupported):
        parse(EncodedRequest(method, "/api/v1/pods"))


@pytest.mark.parametrize(("text", "meant"), [("1", True), ("f", True), ("", True), ("0", False), ("False", False)])
def test_watch_is_asked_for_as_go_reads_a_boolean(text: str, meant: bool) -> None:
    request = parse(EncodedRequest("GET", f"/api/v1/pods?watch={text}"))
    assert request.verb is (Verb.WATCH if meant else Verb.LIST)


def test_a_body_of_delete_options_wins_over_the_query() -> None:
    target = "/api/v1/namespaces/a/pods/b?propagationPolicy=Orphan&gracePeriodSeconds=7"
    assert parse(EncodedRequest("DELETE", target)).delete == DeleteOptions(
        propagation_policy="Orphan", grace_period_seconds=7
    )
    body = b'{"propagationPolicy":"Foreground","preconditions":{"uid":"u"}}'
    assert parse(EncodedRequest("DELETE", target, (), body)).delete == DeleteOptions(
        propagation_policy="Foreground", uid="u"
    )


def test_an_object_without_what_the_server_set_cannot_be_requested_any_more() -> None:
    parse(EncodedRequest("GET", "/api/v1/namespaces/a?export=false"))
    with pytest.raises(BadRequest, match=r"the export parameter, deprecated since v1\.14, is no longer supported"):
        parse(EncodedRequest("GET", "/api/v1/namespaces/a?export=true"))


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"dryRun":"All"}', b"[" * 100_000])
def test_a_body_that_is_no_delete_options_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        parse(EncodedRequest("DELETE", "/api/v1/namespaces/a/pods/b", (), body))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_dry_run_that_does_not_exist_is_a_cause_in_the_options(method: str) -> None:
    cause = Cause("FieldValueNotSupported", 'Unsupported value: ["x"]: supported values: "All"', "dryRun")
    request = parse(EncodedRequest(method, "/api/v1/namespaces/a/configmaps/b?dryRun=x", (), b"{}"))
    assert request.write == WriteOptions(dry_run=True, causes=(cause,))
    deletion = parse(EncodedRequest("DELETE", "/api/v1/namespaces/a/configmaps/b", (), b'{"dryRun":["x"]}'))
    assert deletion.delete == DeleteOptions(dry_run=True, causes=(cause,))


@pytest.mark.parametrize("name", ["", "/b"])
def test_each_dry_run_in_the_query_of_a_deletion_is_checked(name: str) -> None:
    path = f"/api/v1/namespaces/a/configmaps{name}"
    [cause] = parse(EncodedRequest("DELETE", f"{path}?dryRun=All&dryRun=x")).delete.causes
    assert cause.message == 'Unsupported value: ["All","x"]: supported values: "All"'
    assert parse(EncodedRequest("DELETE", f"{path}?dryRun=All&dryRun=All")).delete.causes == ()


def test_the_media_type_is_read_without_its_parameters() -> None:
    headers = (("Content-Type", "application/JSON; charset=utf-8"),)
    assert parse(EncodedRequest("POST", "/api/v1/namespaces/a/pods", headers, b"{}")).content_type == ""


def test_the_old_path_of_a_watch_is_a_watch() -> None:
    request = parse(EncodedRequest("GET", "/api/v1/watch/namespaces/a/configmaps?timeoutSeconds=1"))
    assert (request.verb, request.resource, request.namespace) == (Verb.WATCH, CONFIG_MAPS, "a")
    assert request.options.timeout_seconds == 1
    named = parse(EncodedRequest("GET", "/api/v1/watch/namespaces/a/configmaps/b"))
    assert (named.verb, named.name, named.options.field_selector) == (Verb.WATCH, "", "metadata.name=b")
    odd = parse(EncodedRequest("GET", "/api/v1/watch/namespaces/a%2Fconfigmaps%2F%3Db"))  # a slash and an equals sign
    assert (odd.verb, odd.resource, odd.namespace, odd.name) == (Verb.WATCH, CONFIG_MAPS, "a", "")
    assert odd.options.field_selector == r"metadata.name=\=b"
    selected = parse(EncodedRequest("GET", "/api/v1/watch/namespaces/a/configmaps/b?fieldSelector=metadata.name==b"))
    assert selected.options.field_selector == "metadata.name==b"
    with pytest.raises(BadRequest, match=r"metadata\.name doesn't match requested name"):
        parse(EncodedRequest("GET", "/api/v1/watch/namespaces/a/configmaps/b?fieldSelector=metadata.name=c"))
    with pytest.raises(MethodNotSupported):
        parse(EncodedRequest("POST", "/api/v1/watch/namespaces/a/configmaps"))
    with pytest.raises(NotFound):
        parse(EncodedRequest("GET", "/api/v1/watch/namespaces/a/configmaps/b/status"))


@pytest.mark.parametrize("name", ["web/status", "a/../b", "50%", ".", ".."])
def test_a_name_that_is_not_one_part_of_a_path_is_not_sent(name: str) -> None:
    for request in (
        APIRequest(Verb.DELETE, CONFIG_MAPS, "default", name),
        APIRequest(Verb.LIST, CONFIG_MAPS, name),
    ):
        with pytest.raises(BadRequest, match=r"^invalid name(space)? \".+\": may not "):
            build(request)


def test_a_percent_sign_in_a_name_is_refused_as_kube_apiserver_does() -> None:
    with pytest.raises(BadRequest) as caught:
        parse(EncodedRequest("GET", "/api/v1/namespaces/default/configmaps/50%25"))
    assert str(caught.value) == "Name parameter invalid: \"50%\": may not contain '%'"


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_of_dots_is_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="may not be"):
        parse(EncodedRequest("GET", f"/api/v1/namespaces/default/configmaps/{name}"))
    for path in (f"/api/v1/namespaces/{name}/configmaps", f"/api/v1/namespaces/default/pods/{name}/log"):
        with pytest.raises(NotFound):
            parse(EncodedRequest("GET", path))


def test_an_empty_namespace_is_all_of_them() -> None:
    for path in ("/api/v1/namespaces//configmaps", "/apis/apps/v1/namespaces//deployments"):
        assert parse(EncodedRequest("GET", path)) == parse(EncodedRequest("GET", path.replace("/namespaces/", "")))
    with pytest.raises(NotFound):
        parse(EncodedRequest("GET", "/api/v1/namespaces//configmaps/a"))


@pytest.mark.parametrize("name", ["%ff", "%c0%ae%c0%ae"])
def test_a_name_that_is_not_utf_8_is_one_that_no_object_has(name: str) -> None:
    assert set(parse(EncodedRequest("GET", f"/api/v1/namespaces/a/pods/{name}")).name) == {"\ufffd"}
