"""No error, log line or repr ever shows a token, a password, a key or the data of a Secret."""

from __future__ import annotations

import base64
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilotage.cache.event import InformerEvent
from pilotage.client.client import Client
from pilotage.client.config import Config
from pilotage.client.credentials.credentials import ClientCertificate, Material, StaticCredentials, TokenFile
from pilotage.client.credentials.execplugin import ExecPlugin
from pilotage.client.credentials.kubeconfig import Kubeconfig
from pilotage.client.transport import wire
from pilotage.client.transport.http import HTTPTransport
from pilotage.cluster import Cluster
from pilotage.errors import ApiError, DecodeError, NoCredentials
from pilotage.http.messages import ClientResponse, Headers, HTTPRequest, HTTPResponse
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.models import ObjectMeta
from pilotage.meta.objects import Header
from pilotage.meta.redaction import LAST_APPLIED
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured
from pilotage.reflector.change import Applied, Deleted, Replaced
from pilotage.reflector.intake import Intake, Item
from pilotage.rest import APIRequest, EncodedRequest, Verb, WatchEvent
from pilotage.storage.interface import Put
from pilotage.types.core.v1 import Secret

VALUE = "hunter2"
ENCODED = base64.b64encode(VALUE.encode()).decode()
BYTES = VALUE.encode()
SECRETS = GroupVersionKind("", "v1", "Secret")


def assert_hidden(error: BaseException) -> None:
    """In none of the forms in which an error is shown, nor in those that led to it."""
    shown = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        shown += f"{seen} {seen!r} {getattr(seen, 'status', '')}"
        seen = seen.__cause__ or seen.__context__
    assert VALUE not in shown
    assert ENCODED not in shown


# Tokens


@pytest.mark.parametrize("end", ["\n", "\r\nx-other: y", "\x00", "\ud800"])
async def test_a_token_that_cannot_be_sent_is_reported_without_the_token(end: str) -> None:
    transport = HTTPTransport.from_config(
        Config("http://127.0.0.1:1", StaticCredentials(Material(VALUE + end)), source="kubeconfig k: user 'u'")
    )
    with pytest.raises(NoCredentials, match=r"^kubeconfig k: user 'u': the token has a line break") as caught:
        await Client(transport).get(Secret, "a", namespace="n")
    assert_hidden(caught.value)
    await transport.close()


@pytest.mark.parametrize("content", [BYTES + b"\xff", BYTES + b"\n" + BYTES, BYTES * 200_000])
async def test_a_token_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(NoCredentials, match=r"the token file .* cannot be read: ") as caught:
        await TokenFile(str(tmp_path / "token")).material()
    assert_hidden(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"users:\n- name: u\n  user:\n    token: {VALUE}\n   bad: [",
        f"users:\n- name: u\n  user: {{token: '{VALUE}\n",
        f"users: {VALUE}",
        f"users:\n- {VALUE}",
        f"users:\n- name: u\n  user: {VALUE}",
        f"users:\n- name: u\n  user: {{client-key-data: '{VALUE}!', client-certificate-data: YQ==}}",
        f"users:\n- name: u\n  user: {{exec: {VALUE}}}",
        f"users:\n- name: u\n  user: {{token: [{VALUE}]}}",
        f"\t{VALUE}",
    ],
)
def test_a_kubeconfig_with_a_mistake_is_not_quoted(tmp_path: Path, text: str) -> None:
    context = "\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
    (tmp_path / "config").write_text(f"{text}{context}clusters: [{{name: k, cluster: {{server: 'https://x'}}}}]\n")
    with pytest.raises(Exception, match="kubeconfig") as caught:
        Kubeconfig.read(str(tmp_path / "config")).config()
    assert_hidden(caught.value)


# Secrets


LIST = f'{{"kind":"SecretList","items":[{{"data":{{"p":"{VALUE}"'


@pytest.mark.parametrize(
    "body",
    [
        LIST.encode(),
        LIST.encode() + b"\xff",
        f'{{"kind":5,"data":"{VALUE}"}}'.encode(),
        f'{{"items":[{{"p":"{VALUE}"}}]}}'.encode(),
        f'["{VALUE}"]'.encode(),
        f'"{VALUE}"'.encode(),
        f'  {{"type":"{VALUE}","object":{{}}}}'.encode(),
    ],
)
@pytest.mark.parametrize("read", [wire.page, wire.watch_event])
def test_an_answer_that_cannot_be_read_is_not_quoted(read: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        read(body)
    assert_hidden(caught.value)


def test_a_page_of_a_proxy_is_quoted() -> None:
    with pytest.raises(DecodeError, match="<h1>It works</h1>"):
        wire.page(b"<h1>It works</h1>")


READERS: list[Callable[[bytes], object]] = [
    lambda data: objects.decode(Secret, data),
    objects.header,
    Unstructured.from_bytes,
    lambda data: PartialObjectMetadata.from_bytes(SECRETS, data),
    Intake(SECRETS).event,
]


@pytest.mark.parametrize("read", READERS, ids=["typed", "header", "unstructured", "metadata", "intake"])
@pytest.mark.parametrize(
    "body",
    [
        f'{{"metadata":{{"name":"a"}},"data":"{VALUE}"}}'.encode(),
        f'{{"metadata":{{"name":"a"}},"data":{{"p":["{VALUE}"]}}}}'.encode(),
        f'{{"metadata":{{"name":"a"}},"immutable":"{VALUE}"}}'.encode(),
        f'{{"data":{{"p":"{VALUE}'.encode(),
        f'{{"data":{{"p":"{VALUE}"}}}}'.encode(),
        b'{"data":{"p":"' + BYTES + b'\xff"}}',
        b'{"data":{"p":"' + BYTES + b'"}} ' + BYTES,
    ],
)
def test_an_object_that_cannot_be_read_is_not_quoted(read: Callable[[bytes], object], body: bytes) -> None:
    try:
        read(body)
    except DecodeError as error:
        assert_hidden(error)


WRONG: list[dict[str, Any]] = [
    {"data": {"p": VALUE}},
    {"data": {"p": ENCODED + "\n" + VALUE}},
    {"data": VALUE},
    {"data": {"p": [VALUE]}},
    {"stringData": VALUE},
    {"stringData": {"p": {"x": VALUE}}},
    {"data": {}, "immutable": VALUE},
    {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": VALUE}},
]


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_secret_that_is_refused_is_not_quoted(wrong: dict[str, Any]) -> None:
    good = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}}
    async with Cluster.embedded("memory:") as cluster:
        with pytest.raises(ApiError) as caught:
            await cluster.client.create(Unstructured(good | wrong))
        assert_hidden(caught.value)
        await cluster.client.create(Unstructured({**good, "stringData": {"p": VALUE}}))
        with pytest.raises(ApiError) as caught:
            await cluster.client.patch(SECRETS, wrong, name="a", namespace="default")
        assert_hidden(caught.value)


@pytest.mark.parametrize("body", [f'{{"kind":5,"d":"{VALUE}"}}', f'["{VALUE}"]', f'{{"p":"{VALUE}'])
async def test_a_body_that_is_no_secret_at_all_is_not_quoted(body: str) -> None:
    resource = GroupVersionResource("", "v1", "secrets")
    async with Cluster.embedded("memory:") as cluster:
        with pytest.raises(ApiError) as caught:
            await cluster.registry.call(APIRequest(Verb.CREATE, resource, "default", body=body.encode()))
    assert_hidden(caught.value)


async def test_an_error_about_a_patch_that_tests_a_value_does_not_contain_it() -> None:
    async with Cluster.embedded("memory:") as cluster:
        made = Secret(metadata=ObjectMeta(name="a", namespace="default"), string_data={"p": VALUE})
        await cluster.client.create(made)
        with pytest.raises(ApiError) as caught:
            await cluster.client.patch(made, [{"op": "test", "path": "/data/p", "value": "other"}])
        assert_hidden(caught.value)


# What is printed


META = ObjectMeta(name="a", annotations={LAST_APPLIED: VALUE, "other": "shown"})
DATA = f'{{"metadata":{{"name":"a"}},"data":{{"p":"{ENCODED}"}}}}'.encode()
EVENT: InformerEvent[Secret] = InformerEvent("create", "n", "a", lambda data: objects.decode(Secret, data), None, DATA)
PRINTED: dict[str, object] = {
    "a Secret": Secret(metadata=META, data={"p": ENCODED}, string_data={"q": VALUE}),
    "a Secret that was read": objects.decode(Secret, DATA),
    "metadata": META,
    "metadata alone": PartialObjectMetadata(SECRETS, META),
    "a header": Header(name="a", annotations={LAST_APPLIED: VALUE}),
    "a document": Unstructured({"apiVersion": "v1", "kind": "Secret", "data": {"p": ENCODED}}),
    "an event": EVENT,
    "an event that was read": (EVENT.object, EVENT),
    "changes": [Applied(DATA, Header()), Deleted(DATA, Header()), Replaced([Item("n", "a", DATA)], "5")],
    "an event of a watch": WatchEvent("ADDED", DATA),
    "a write": Put("key", DATA),
    "a request": EncodedRequest("GET", "/", (("authorization", VALUE),), BYTES),
    "headers": Headers([("Authorization", VALUE), ("Cookie", VALUE)]),
    "messages": [HTTPRequest("GET", "/", body=BYTES), HTTPResponse(200, body=BYTES), ClientResponse(200, body=BYTES)],
    "a configuration": Config(
        f"https://u:{VALUE}@host/?t={VALUE}", proxy_url=f"http://u:{VALUE}@p", headers=(("x", VALUE),)
    ),
    "credentials": [
        Material(VALUE, ClientCertificate(cert_data=BYTES, key_data=BYTES)),
        StaticCredentials(Material(VALUE)),
        TokenFile("path", fallback=VALUE),
    ],
    "a plugin": ExecPlugin("command", (f"--secret={VALUE}",), (("KEY", VALUE),), cluster={"config": VALUE}),
}


@pytest.mark.parametrize("printed", PRINTED.values(), ids=PRINTED)
def test_what_is_printed_shows_no_secret(printed: object) -> None:
    for text in (repr(printed), str(printed), f"{printed}"):
        assert VALUE not in text
        assert ENCODED not in text


def test_a_kubeconfig_shows_none_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(f"users: [{{name: u, user: {{token: {VALUE}, password: {VALUE}}}}}]")
    assert VALUE not in repr(Kubeconfig.read(str(tmp_path / "config")))


def test_a_secret_shows_its_keys_and_other_annotations() -> None:
    text = repr(PRINTED["a Secret"])
    assert text.startswith("Secret(metadata=ObjectMeta(name='a'")
    assert "'other': 'shown'" in text
    assert "data={'p': '<redacted>'}" in text
    assert "string_data={'q': '<redacted>'}" in text
    secret = PRINTED["a Secret"]
    assert isinstance(secret, Secret)
    assert secret.data == {"p": ENCODED}, "the object itself stays as it is"


def test_other_objects_are_printed_as_before() -> None:
    assert repr(ObjectMeta(name="a")).startswith("ObjectMeta(name='a', generate_name=''")
