from __future__ import annotations

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import BadRequest
from pilotage.server.verbs import tokens
from pilotage.server.verbs.tokens import LATEST, ContinueToken

KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1, max_size=80).filter(
    lambda key: key != ".."
)


def forged(**content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


@given(st.integers(1, 2**62) | st.just(LATEST), KEYS)
def test_what_is_written_is_read_again(revision: int, start: str) -> None:
    token = ContinueToken(revision, start)
    assert tokens.read(tokens.write(token)) == token


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("%%%", "valid"),
        ("é", "valid"),
        ("e30", "valid"),
        ("A" * 5000, "too long"),
        (forged(v="meta.k8s.io/v2", rv=1, start="a"), "does not recognize this encoded version"),
        (forged(v="meta.k8s.io/v1", rv=0, start="a"), "incorrect encoded start resourceVersion"),
        (forged(v="meta.k8s.io/v1", rv=-2, start="a"), "incorrect encoded start resourceVersion"),
        (forged(v="meta.k8s.io/v1", rv=1, start=""), "encoded start key empty"),
        (forged(v="meta.k8s.io/v1", rv=1, start="/secrets/"), "/secrets/"),
        (forged(v="meta.k8s.io/v1", rv=1, start="a/../../other"), "a/../../other"),
        (forged(v="meta.k8s.io/v1", rv="1", start="a"), "valid"),
        (forged(v="meta.k8s.io/v1", rv=10**30, start="a"), "valid"),
    ],
)
def test_forged_tokens_are_refused(text: str, reason: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        tokens.read(text)
    assert str(refusal.value).startswith("invalid continue token: continue key is not valid: ")
    assert reason in str(refusal.value)


@given(st.text(max_size=200))
def test_any_text_is_a_token_or_a_bad_request(text: str) -> None:
    with suppress(BadRequest):
        tokens.read(text)
