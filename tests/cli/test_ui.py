"""`pilotage ui`: the page beside a program that runs."""

from __future__ import annotations

import asyncio
import tempfile
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

import pilotage as pt
from pilotage.cli import ui
from pilotage.cli.run.asked import explained
from pilotage.dashboard import page
from pilotage.http.client import HTTPClient
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.http.server import serve_on
from pilotage.kit.console.errors import CommandError
from pilotage.net.localsockets import listening, running
from tests.dashboard.pages import PLACEHOLDER


@pytest.fixture(autouse=True)
def _sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of the sockets, with a short path."""
    monkeypatch.setattr(page, "FILE", PLACEHOLDER)
    with tempfile.TemporaryDirectory(prefix="pt") as place:
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        yield


def options(pid: int | None = None, socket: str = "", bind: str = "127.0.0.1:0") -> Namespace:
    return Namespace(pid=pid, socket=socket, bind=bind)


@asynccontextmanager
async def serving(path: str, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[str]:
    """Run the command; the address that it prints."""
    task = asyncio.create_task(ui.serve(path, "127.0.0.1:0"))
    printed = ""
    while not printed and not task.done():
        await asyncio.sleep(0)
        printed = capsys.readouterr().err
    try:
        yield printed.removeprefix("Live page: ").strip()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_the_page_shows_the_program_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager, explained(manager, "greetings"):
        (program,) = running()
        async with serving(program.path, capsys) as address:
            url = urlsplit(address)
            token = url.fragment.removeprefix("token=")
            async with HTTPClient("127.0.0.1", url.port or 0) as client:
                assert (await client.request("GET", "/ui/")).body == PLACEHOLDER.read_bytes()
                assert (await client.request("GET", "/ui/api/overview")).status == 401
                assert (await client.request("GET", "/debug/tasks")).status == 404
                headers = [("Authorization", f"Bearer {token}")]
                answer = await client.request("GET", "/ui/api/overview", headers)
                assert msgspec.json.decode(answer.body)["program"]["storage"] == "an API server in this process"


async def test_a_program_without_a_page_is_one_line(tmp_path: Path) -> None:
    async def nothing(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(404)

    with listening("old") as listener:
        async with serve_on(listener, nothing):
            (program,) = running()
            with pytest.raises(CommandError, match="has no live page: it runs another version of Pilotage"):
                await ui.serve(program.path, "127.0.0.1:0")
    with pytest.raises(CommandError, match="cannot ask the program at "):
        await ui.serve(str(tmp_path / "none.sock"), "127.0.0.1:0")


@pytest.mark.parametrize("bind", [":8080", "0.0.0.0:0", "0", "192.0.2.1:80"])
def test_the_page_is_for_this_machine_alone(bind: str) -> None:
    with pytest.raises(CommandError, match="is reached from other machines"):
        ui.ui(options(bind=bind))


def test_one_program_is_chosen() -> None:
    with pytest.raises(CommandError, match="both choose a program"):
        ui.ui(options(pid=1, socket="/run/x.sock"))
    with pytest.raises(CommandError, match=r"was found: .*ManagerOptions\(ui_bind_address="):
        ui.ui(options())
