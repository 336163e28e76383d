from __future__ import annotations

import json

import pytest

from pilotage.errors import ConnectionLost, NotFound
from pilotage.http.client import HTTPClient
from pilotage.http.messages import ClientResponse, Headers, HTTPRequest
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, ListOptions, Verb
from pilotage.server.http.handler import HTTPHandler

from ..registries import opened

COMPONENTS = GroupVersionResource("", "v1", "componentstatuses")


@pytest.fixture(autouse=True)
def only_the_scheduler_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def request(client: HTTPClient, method: str, target: str) -> ClientResponse:
        if ":10259" in client._pool.address.host_header():
            return ClientResponse(200, body=b"ok")
        raise ConnectionLost("refused", sent=False)

    monkeypatch.setattr(HTTPClient, "request", request)


async def test_the_components_of_a_control_plane_are_asked_when_they_are_listed() -> None:
    async with opened() as api:
        page = await api.registry.list(APIRequest(Verb.LIST, COMPONENTS))
        found = {
            item["metadata"]["name"]: item["conditions"][0] for item in (json.loads(bytes(data)) for data in page.items)
        }
        assert found["etcd-0"] == found["scheduler"] == {"type": "Healthy", "status": "True", "message": "ok"}
        assert found["controller-manager"]["status"] == "False"
        assert found["controller-manager"]["message"].endswith("127.0.0.1:10257: connect: connection refused")
        assert page.warnings == ("v1 ComponentStatus is deprecated in v1.19+",)


async def test_components_are_selected_by_their_names() -> None:
    async with opened() as api:
        options = ListOptions(field_selector="metadata.name=etcd-0")
        page = await api.registry.list(APIRequest(Verb.LIST, COMPONENTS, options=options))
        assert [json.loads(bytes(item))["metadata"]["name"] for item in page.items] == ["etcd-0"]
        with pytest.raises(NotFound, match='componentstatus "other" not found'):
            await api.registry.call(APIRequest(Verb.GET, COMPONENTS, name="other"))


async def test_a_component_is_printed_with_its_state() -> None:
    async with opened() as api:
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        headers = Headers([("authorization", "Bearer secret"), ("accept", accept)])
        target = "/api/v1/componentstatuses/etcd-0"
        answer = await HTTPHandler(api.registry, "secret")(HTTPRequest("GET", target, headers))
        [row] = json.loads(answer.body)["rows"]  # type: ignore[union-attr]
        assert row["cells"] == ["etcd-0", "Healthy", "ok", ""]
