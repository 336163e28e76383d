"""`/statusz` in its formats. The forms and the errors are those of a kube-apiserver."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from pilotage.errors import NotAcceptable
from pilotage.server.http.handler import version
from pilotage.server.http.statusz import answer

STARTED = datetime(2026, 11, 6, 15, 18, 44, tzinfo=UTC)
NOW = STARTED + timedelta(hours=1, minutes=2, seconds=3)
FORM = ";v=v1beta1;g=config.k8s.io;as=Statusz"


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "application/json;q=0.1,text/plain"])
def test_people_get_a_text(accept: str) -> None:
    found = answer(accept, STARTED, NOW, version())
    lines = found.body.decode().splitlines()
    assert lines[1] == "apiserver statusz"
    assert lines[4:6] == ["Started:  Fri Nov  6 15:18:44 UTC 2026", "Up:  1 hr 02 min 03 sec"]
    assert "Emulation version:  1.36" in lines


def test_programs_get_an_object() -> None:
    found = answer(f"application/json{FORM}", STARTED, NOW, version())
    assert dict(found.headers)["content-type"] == "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"
    document = json.loads(found.body)
    assert (document["kind"], document["startTime"]) == ("Statusz", "2026-11-06T15:18:44Z")
    assert document["uptimeSeconds"] == 3723
    assert b"kind: Statusz" in answer(f"application/yaml{FORM}", STARTED, NOW, version()).body


@pytest.mark.parametrize("accept", ["application/json", "text/html", f"application/vnd.kubernetes.protobuf{FORM}"])
def test_other_formats_are_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="application/json, application/yaml, text/plain"):
        answer(accept, STARTED, NOW, version())
