from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pilotage as pt
from pilotage.meta import objects
from pilotage.meta.confirmation import new_metadata


class Part(pt.Model):
    name: str
    inner: list[Part] = []


class Spec(pt.Model):
    size: Annotated[int, pt.Minimum(0)] = 0
    colour: Literal["red", "blue"] = "red"
    parts: list[Part] = []
    texts: dict[str, str | None] = {}


@pt.resource(group="tests.pilotage.dev", version="v1", status=True)
class Thing(pt.Resource):
    immutable: bool | None = None
    spec: Spec | None = None
    due: datetime | None = None


def thing(**fields: Any) -> Thing:
    return Thing(metadata=pt.ObjectMeta(name="a", namespace="default"), **fields)


def answer(sent: bytes, **fields: Any) -> bytes:
    document = msgspec.json.decode(sent)
    document["metadata"] = {"resourceVersion": "7", **document["metadata"], "uid": "u"}
    return msgspec.json.encode(document | fields)


def test_the_metadata_of_an_answer_with_the_same_content_is_decoded_alone() -> None:
    obj = thing(spec=Spec(parts=[Part(name="p", inner=[Part(name="q")])]))
    sent = objects.encode(obj)
    found = new_metadata(obj, sent, answer(sent))
    assert found is not None
    assert (found.name, found.uid, found.resource_version) == ("a", "u", "7")


texts = st.sampled_from(['},"spec":{', '"', "\\", 'é},"immutable":', "plain"])


@given(st.dictionaries(texts, texts), st.dictionaries(texts, texts), st.none() | st.booleans(), st.booleans())
def test_text_that_looks_like_the_end_of_the_metadata_is_text(
    annotations: dict[str, str], values: dict[str, str | None], immutable: bool | None, more: bool
) -> None:
    obj = thing(immutable=immutable, spec=Spec(size=1, texts=values))
    obj.metadata.annotations = annotations
    sent = objects.encode(obj)
    data = answer(sent, status={}) if more else answer(sent)
    found = new_metadata(obj, sent, data)
    assert found == (None if more else objects.metadata_in(data))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'"size":3', b'"size":4'),
        lambda data: data.replace(b'"metadata"', b'"status":{},"metadata"'),
        lambda data: data.replace(b',"spec"', b',"status":{},"spec"'),
        lambda data: data[:-1] + b',"status":{}}',
        lambda data: data.replace(b'"Thing"', b'"Other"'),
    ],
    ids=["another value", "a field before", "a field between", "a field after", "another kind"],
)
def test_an_answer_with_other_content_is_decoded_whole(change: Any) -> None:
    obj = thing(spec=Spec(size=3))
    sent = objects.encode(obj)
    data = change(answer(sent))
    assert data != answer(sent)
    assert new_metadata(obj, sent, data) is None


def test_a_value_that_may_be_another_one_after_decoding_is_decoded() -> None:
    obj = thing(spec=Spec(size=3), due=datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC))
    sent = objects.encode(obj)
    assert new_metadata(obj, sent, answer(sent)) is None


def test_an_object_of_metadata_alone_is_decoded_whole() -> None:
    obj = thing()
    sent = objects.encode(obj)
    assert new_metadata(obj, sent, answer(sent)) is None
