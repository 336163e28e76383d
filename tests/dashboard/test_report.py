"""The page as a file with the data inside."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilotage.dashboard import page, report
from pilotage.dashboard.page import report_page
from pilotage.testing import Environment
from pilotage.testing.plugin import file_name

from .pages import PLACEHOLDER
from .program import KIND, new_book, set_up

HOSTILE = "</script><script>alert(1)</script><!--"


@pytest.fixture(autouse=True)
def _placeholder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "FILE", PLACEHOLDER)


def data_in(file: bytes) -> Any:
    found = re.search(rb'<script type="application/json" id="pilotage-data">(.*?)</script>', file, re.DOTALL)
    assert found is not None
    return msgspec.json.decode(found[1])


async def test_a_report_has_what_the_page_would_ask_for(pilotage_env: Environment) -> None:
    await set_up(pilotage_env)
    await pilotage_env.client.create(new_book(title=HOSTILE))
    await pilotage_env.run_until_idle()
    file = await pilotage_env.page("tests/test_a.py::test", HOSTILE)
    data = data_in(file)
    assert (data["title"], data["failure"]) == ("tests/test_a.py::test", HOSTILE)
    assert [row["name"] for row in data["objects"]["rows"]] == ["a", "a"]
    assert data["documents"][f"{KIND}/default/a"]["spec"]["title"] == HOSTILE
    assert data["versions"]["ConfigMap/default/a"][0]["reconcile"] == 1
    assert [story["number"] for story in data["reconciles"]] == [row["number"] for row in data["summaries"]] == [2, 1]
    assert data["reconciles"][1]["lines"][1] == ["because", "Book default/a existed at the start"]
    assert len(data["timeline"]["bars"]) == 2
    assert data["overview"]["program"]["name"] == "test"
    assert HOSTILE.encode() not in file


async def test_a_report_of_a_test_that_did_nothing_is_empty(pilotage_env: Environment) -> None:
    data = data_in(await pilotage_env.page("test"))
    assert (data["objects"]["rows"], data["summaries"], data["overview"]["from"]) == ([], [], None)


async def test_a_report_has_a_bound(pilotage_env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_OBJECTS", 2)
    monkeypatch.setattr(report, "MOST_RECONCILES", 3)
    await set_up(pilotage_env)
    for name in "abcdef":
        await pilotage_env.client.create(new_book(name))
    await pilotage_env.run_until_idle()
    data = data_in(await pilotage_env.page("test", "x" * 1_000_000))
    assert (data["objects"]["total"], len(data["objects"]["rows"]), len(data["documents"])) == (12, 2, 2)
    assert (len(data["reconciles"]), len(data["summaries"])) == (3, 3)
    assert len(data["failure"]) == 100_000


def test_a_report_runs_the_script_of_the_page_alone_and_asks_for_nothing() -> None:
    file = report_page(b"{}", f"a {HOSTILE}").decode()
    assert "connect-src &#x27;none&#x27;" in file
    assert file.index("Content-Security-Policy") < file.index("<script")
    assert file.count("<script") == PLACEHOLDER.read_text().count("<script") + 1
    assert "<title>a &lt;/script&gt;" in file


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("tests/test_a.py::test_b", "tests.test_a.test_b.html"),
        ("test_a.py::TestC::test_b", "test_a.TestC.test_b.html"),
    ],
)
def test_a_file_has_the_name_of_its_test(test: str, name: str) -> None:
    assert file_name(test) == name


@pytest.mark.parametrize(
    "test", ["test_a.py::test_b[../../etc/passwd]", "a.py::b[\x00]", "a.py::" + "x" * 1000, "...", "a.py::b[ü/ ]"]
)
def test_a_name_stays_in_its_folder(test: str) -> None:
    name = file_name(test)
    assert Path(name).name == name
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*\.html|-[0-9a-f]{8}\.html", name)
    assert len(name) < 200
    assert name != file_name(f"{test}2")
