from __future__ import annotations

from pilotage.kubernetes.bootstrap.authentication import CLIENT_CA, TOKEN_TRACKING
from pilotage.kubernetes.bootstrap.publication import publish_authentication

from ...server.registries import CONFIG_MAPS
from ..environments import with_plugins


async def test_a_server_publishes_since_when_it_tracks_tokens_and_whom_it_trusts() -> None:
    async with with_plugins() as api:
        await publish_authentication(api.registry, "")
        assert await api.names(CONFIG_MAPS) == [TOKEN_TRACKING]
        tracking = await api.get(CONFIG_MAPS, TOKEN_TRACKING, "kube-system")
        assert tracking["data"] == {"since": tracking["metadata"]["creationTimestamp"][:10]}
        [entry] = tracking["metadata"]["managedFields"]
        assert (entry["manager"], entry["fieldsV1"]) == ("kube-apiserver", {"f:data": {".": {}, "f:since": {}}})
        for authorities in ("PEM", "NEW"):
            await publish_authentication(api.registry, authorities)
            found = await api.get(CONFIG_MAPS, CLIENT_CA, "kube-system")
            assert found["data"] == {"client-ca-file": authorities}


async def test_what_is_published_already_is_not_written_again() -> None:
    async with with_plugins() as api:
        await publish_authentication(api.registry, "PEM")
        version = await api.version(CONFIG_MAPS)
        await publish_authentication(api.registry, "PEM")
        assert await api.version(CONFIG_MAPS) == version
