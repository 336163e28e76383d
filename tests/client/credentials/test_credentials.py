"""Tokens in files: read again, and kept while the file is missing."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pilotage.client.credentials.credentials import REREAD_SECONDS, TokenFile
from pilotage.errors import NoCredentials
from tests.clocks import Seconds


@pytest.mark.covers("F30")
async def test_a_token_is_read_again_after_a_while_or_at_once_if_it_is_refused(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Seconds()
    path.write_text("one\n")
    credentials = TokenFile(str(path), clock=clock)
    first = await credentials.material()
    path.write_text("two")
    assert await credentials.material() is first
    clock.now += REREAD_SECONDS
    second = await credentials.material()
    assert second.token == "two"
    path.write_text("three")
    credentials.invalidate(first)
    assert (await credentials.material()).token == "two"
    credentials.invalidate(second)
    assert (await credentials.material()).token == "three"
    assert REREAD_SECONDS <= 60


async def test_a_token_that_has_not_changed_is_the_same_material(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(str(path))
    first = await credentials.material()
    credentials.invalidate(first)
    assert await credentials.material() is first


@pytest.mark.covers("F30")
@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe", b"x" * 2_000_000])
async def test_a_file_that_is_away_or_half_written_does_no_harm(
    tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock = tmp_path / "token", Seconds()
    path.write_text("one")
    credentials = TokenFile(str(path), clock=clock)
    await credentials.material()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with caplog.at_level(logging.WARNING, logger="pilotage.client"):
        for _ in range(3):
            clock.now += REREAD_SECONDS
            assert (await credentials.material()).token == "one"
    assert caplog.text.count("using the last token") == 1
    path.write_text("two")
    clock.now += REREAD_SECONDS
    assert (await credentials.material()).token == "two"


async def test_a_token_that_never_was_is_an_error_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match=f"{tmp_path}/token.*correct tokenFile"):
        await TokenFile(str(tmp_path / "token")).material()
    assert (await TokenFile(str(tmp_path / "token"), fallback="other").material()).token == "other"
