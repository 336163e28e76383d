from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from pilotage.codec import verbatim
from pilotage.errors import Invalid
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, PatchType, Verb
from tests.server.registries import Api, opened

CLAIMS = GroupVersionResource("resource.k8s.io", "v1", "resourceclaims")
PATHS = verbatim.paths_of("resource.k8s.io/v1", "ResourceClaim")


def claim() -> dict[str, Any]:
    parameters = {"kind": "C", "b": 1, "a": 2.0}
    config = [{"requests": ["r"], "opaque": {"driver": "gpu.example.com", "parameters": parameters}}]
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": requests, "config": config}},
    }


WAYS = {
    "spaced": lambda document: json.dumps(document).encode(),
    "compact": lambda document: json.dumps(document, separators=(",", ":")).encode(),
    "sorted": lambda document: json.dumps(document, separators=(",", ":"), sort_keys=True).encode(),
}


async def write(api: Api, request: APIRequest) -> str:
    try:
        await api.registry.call(replace(request, resource=CLAIMS, namespace="default"))
    except Invalid as error:
        details = error.status.details
        return ",".join(cause.field for cause in details.causes) if details else ""
    return "accepted"


@pytest.mark.parametrize("created", WAYS)
@pytest.mark.parametrize("updated", WAYS)
async def test_a_claim_is_updated_with_the_text_that_it_was_created_with(created: str, updated: str) -> None:
    async with opened() as api:
        assert await write(api, APIRequest(Verb.CREATE, CLAIMS, body=WAYS[created](claim()))) == "accepted"
        found = await api.get(CLAIMS, "c", "default")
        found["metadata"]["labels"] = {"a": "b"}
        answer = await write(api, APIRequest(Verb.UPDATE, CLAIMS, name="c", body=WAYS[updated](found)))
    # What was created with its keys in order is read in this order.
    assert answer == ("accepted" if created == updated or (created, updated) == ("sorted", "compact") else "spec")


@pytest.mark.parametrize(
    ("created", "kind", "answer"),
    [
        ("spaced", PatchType.MERGE, "spec"),
        ("compact", PatchType.MERGE, "accepted"),
        ("compact", PatchType.STRATEGIC, "spec"),
        ("sorted", PatchType.STRATEGIC, "spec"),  # 2.0 becomes 2
    ],
)
async def test_a_patch_writes_free_form_values_as_go_does(created: str, kind: PatchType, answer: str) -> None:
    async with opened() as api:
        await write(api, APIRequest(Verb.CREATE, CLAIMS, body=WAYS[created](claim())))
        body = b'{"metadata":{"labels":{"a":"b"}}}'
        patch = APIRequest(Verb.PATCH, CLAIMS, name="c", body=body, content_type=kind.value)
        assert await write(api, patch) == answer


def test_texts_are_found_in_the_items_that_have_them() -> None:
    items: list[dict[str, Any]] = [
        {"opaque": {"parameters": {"a": 1}}},
        {"requests": []},
        {"opaque": {"parameters": {"b": 2}}},
    ]
    document: dict[str, Any] = {"spec": {"devices": {"config": items}}}
    verbatim.keep_texts(document, PATHS, json.dumps(document).encode())
    assert [item["opaque"]["parameters"].text for item in items[::2]] == [b'{"a": 1}', b'{"b": 2}']
    assert b'"parameters":{"b": 2}' in msgspec.json.encode(verbatim.with_texts(document, PATHS))


@pytest.mark.parametrize("document", [{"spec": 1}, {"spec": {"devices": {"config": {"a": 1}}}}, {"spec": None}])
def test_what_has_a_wrong_type_is_left_to_the_codec(document: dict[str, Any]) -> None:
    before = json.dumps(document)
    verbatim.keep_texts(document, PATHS, before.encode())
    assert json.dumps(document) == before
