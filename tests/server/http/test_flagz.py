"""`/flagz` in its formats. The forms and the errors are those of a kube-apiserver."""

from __future__ import annotations

import json

import pytest

from pilotage.errors import NotAcceptable
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.server.http.flagz import answer
from pilotage.server.http.handler import HTTPHandler

from ..registries import opened

FLAGS = {"tenant": "default", "anonymous-auth": "false"}


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain"])
def test_people_get_a_text(accept: str) -> None:
    lines = answer(accept, FLAGS).body.decode().split("\n")
    assert lines[1] == "apiserver flagz"
    assert lines[3:] == ["anonymous-auth false", "tenant default", "", ""]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_programs_get_an_object(version: str) -> None:
    form = f";g=config.k8s.io;v={version};as=Flagz"
    found = answer(f"application/json{form}", FLAGS)
    assert dict(found.headers)["content-type"] == f"application/json{form}"
    assert json.loads(found.body) == {
        "kind": "Flagz",
        "apiVersion": f"config.k8s.io/{version}",
        "metadata": {"name": "apiserver"},
        "flags": FLAGS,
    }
    assert b"kind: Flagz" in answer(f"application/yaml{form}", FLAGS).body


@pytest.mark.parametrize("accept", ["application/json", "application/json;g=config.k8s.io;v=v1;as=Flagz", "text/html"])
def test_other_formats_are_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="application/json, application/yaml, text/plain"):
        answer(accept, FLAGS)


async def test_flags_are_for_those_who_may_read_the_path() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret", flags=FLAGS)
        allowed = await handler(HTTPRequest("GET", "/flagz", Headers([("authorization", "Bearer secret")])))
        assert isinstance(allowed, HTTPResponse)
        assert b"tenant default" in allowed.body
        as_bob = Headers([("authorization", "Bearer secret"), ("impersonate-user", "bob")])
        assert (await handler(HTTPRequest("GET", "/flagz", as_bob))).status == 403
