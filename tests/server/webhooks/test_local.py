from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document
from pilotage.server.webhooks.local import LocalWebhooks, webhook_url
from tests.server.registries import opened


async def _answer(review: Document) -> Document:
    return review


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ({"url": "https://hooks.example.com:8443/a"}, "https://hooks.example.com:8443/a"),
        ({"service": {"name": "hooks", "namespace": "system"}}, "https://hooks.system.svc:443"),
        (
            {"service": {"name": "hooks", "namespace": "system", "port": 9443, "path": "/a/b"}},
            "https://hooks.system.svc:9443/a/b",
        ),
    ],
)
def test_a_client_configuration_resolves_to_one_url(config: dict[str, Any], url: str) -> None:
    assert webhook_url(config) == url


def test_a_url_has_one_handler_until_it_is_removed() -> None:
    hooks = LocalWebhooks()
    hooks.add("https://a.b.svc:443/x", _answer)
    with pytest.raises(InvalidDefinition, match="is served by this program already"):
        hooks.add("https://a.b.svc:443/x", _answer)
    assert hooks.get("https://a.b.svc:443/x") is _answer
    hooks.remove("https://a.b.svc:443/x")
    hooks.remove("https://a.b.svc:443/x")
    assert hooks.get("https://a.b.svc:443/x") is None


async def test_a_registry_has_the_webhooks_of_its_program() -> None:
    async with opened() as api:
        assert api.registry.local_webhooks is api.registry.context.local_webhooks
