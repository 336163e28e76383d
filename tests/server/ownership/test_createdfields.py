"""The fields of new objects of built-in kinds, found by outline."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.codec.structure import structure_of
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.server.ownership import kinds, track
from pilotage.server.resources import ResourceInfo
from pilotage.storage.memory import MemoryStorage

from ..registries import registry_context

_TIMES = st.sampled_from([None, "2026-01-01T00:00:00Z"])
_TEXTS = st.sampled_from(["", "a", "b"])
_REFERENCES = st.dictionaries(st.sampled_from(["kind", "name", "uid"]), _TEXTS, max_size=2)
_EVENTS = st.fixed_dictionaries(
    {"metadata": st.dictionaries(st.sampled_from(["name", "namespace"]), st.just("a"))},
    optional={
        "involvedObject": _REFERENCES,
        "source": st.dictionaries(st.sampled_from(["component", "host"]), _TEXTS),
        "reportingComponent": _TEXTS,
        "reportingInstance": _TEXTS,
        "firstTimestamp": _TIMES,
        "eventTime": st.sampled_from([None, "2026-01-01T00:00:00.000000Z"]),
        "count": st.integers(0, 1),
    },
)
_CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": _TEXTS}, optional={"image": _TEXTS, "resources": st.just({})}), max_size=2
)
_PODS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": st.just("a")}, optional={"labels": _REFERENCES})},
    optional={
        "spec": st.fixed_dictionaries({}, optional={"containers": _CONTAINERS, "nodeName": _TEXTS}),
        "status": st.fixed_dictionaries({}, optional={"phase": _TEXTS}),
    },
)
_DEPLOYMENTS: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {"metadata": st.just({})},
    optional={
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "selector": st.sampled_from([None, {}, {"matchLabels": {"a": "b"}}]),
                "strategy": st.sampled_from([{}, {"type": "Recreate"}]),
                "template": _PODS,
            },
        )
    },
)


def _info(resource: str, group: str = "", version: str = "v1") -> ResourceInfo:
    found = registry_context(MemoryStorage()).catalogue.builtin(GroupVersionResource(group, version, resource))
    assert found is not None
    return found


_INFOS = {"Event": _info("events"), "Pod": _info("pods"), "Deployment": _info("deployments", "apps")}


@pytest.mark.parametrize(("kind", "documents"), [("Event", _EVENTS), ("Pod", _PODS), ("Deployment", _DEPLOYMENTS)])
def test_fields_found_by_outline_are_the_fields_of_the_object(kind: str, documents: st.SearchStrategy[Any]) -> None:
    info = _INFOS[kind]
    ownership, empty = kinds.ownership_of(info, ""), kinds.empty_fields(info)

    @given(st.lists(documents, min_size=10, max_size=10))
    def check(sent: list[Document]) -> None:
        for each in sent:
            document = structure_of(GroupVersionKind.of(info.api_version, kind)).decode(each, [])
            by_outline = track._created(ownership, empty, document).fields
            assert by_outline == track._created_fields(ownership, empty, document)

    check()
