"""The webhook at `/convert`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import pilotage as pt
from pilotage.webhook.conversion.conversions import Conversions, conversion_of
from pilotage.webhook.conversion.webhook import ConversionWebhook

from .jobs import GROUP, V3, Job, JobV1, job


def answer(*objects: dict[str, Any], version: str = "v2", **review: Any) -> dict[str, Any]:
    """The response to a review."""
    webhook = ConversionWebhook()
    webhook.add(Conversions(Job, [conversion_of(JobV1), V3]))
    request = {"uid": "u", "desiredAPIVersion": f"{GROUP}/{version}", "objects": list(objects)}
    document = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request, **review}
    found = asyncio.run(webhook.review(document))
    assert (found["apiVersion"], found["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    response: dict[str, Any] = found["response"]
    return response


@pytest.mark.covers("T183")
def test_objects_are_converted_in_their_order() -> None:
    objects = [job("v1", {"schedule": f"{minute} 2"}) for minute in range(250)] + [job("v2", {"minute": "x"})]
    response = answer(*objects)
    assert response["result"] == {"status": "Success"}
    assert response["uid"] == "u"
    assert [each["spec"]["minute"] for each in response["convertedObjects"]] == [*map(str, range(250)), "x"]


@pytest.mark.covers("T183")
def test_one_object_that_fails_fails_the_review_and_is_named() -> None:
    response = answer(job("v1", {"schedule": "1 2"}), job("v1", {"schedule": "never"}))
    reason = "not enough values to unpack (expected 2, got 1)"
    message = f"Job default/nightly cannot be converted to {GROUP}/v2: {reason}"
    assert response["result"] == {"status": "Failure", "message": message}
    assert response["convertedObjects"] == []


@pytest.mark.covers("T183")
def test_an_object_that_the_class_cannot_hold_fails_the_review() -> None:
    message = answer(job("v1", {"schedule": 7}))["result"]["message"]
    assert message.startswith(f"Job default/nightly cannot be converted to {GROUP}/v2: Job default/nightly cannot be")


@pytest.mark.covers("T183")
def test_a_kind_without_conversions_fails_the_review() -> None:
    response = answer({"apiVersion": "other.dev/v1", "kind": "Thing", "metadata": {"name": "a"}})
    message = "Thing a cannot be converted: this program has no conversions of Thing.other.dev"
    assert response["result"] == {"status": "Failure", "message": message}


@pytest.mark.covers("T183")
def test_a_review_without_a_request_is_refused() -> None:
    response = answer(request=None)
    assert response["result"] == {
        "status": "Failure",
        "code": 400,
        "message": "the ConversionReview has no request",
    }


@pytest.mark.covers("T183")
def test_another_review_is_refused() -> None:
    assert answer(kind="AdmissionReview")["result"]["code"] == 400


@pytest.mark.covers("T183")
def test_a_kind_has_one_set_of_conversions() -> None:
    webhook = ConversionWebhook()
    webhook.add(Conversions(Job, [V3]))
    with pytest.raises(pt.InvalidDefinition, match="Job has conversions already"):
        webhook.add(Conversions(Job, [V3]))
