"""The start of a command that reads: what it loads stands for its time and its memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KINDS = """
import pilotage as pt

class ItemSpec(pt.Model):
    text: str
    quantity: int = 0

@pt.resource(group="cold.pilotage.dev", version="v1", columns=[pt.Column("Text", ".spec.text")])
class Item(pt.Resource):
    spec: ItemSpec
"""
FILL = """
from kinds import *

with pt.LightCluster("sqlite:items.db", kinds=[Item]) as cluster:
    for number in range(20):
        meta = pt.ObjectMeta(name=f"item-{number}", namespace="default")
        cluster.run(cluster.client.create(Item(metadata=meta, spec=ItemSpec(text="x" * 800))))
"""
OPENED = """
import sys
sys.modules["typing_extensions"] = None  # msgspec loads it where it is installed, and inspect with it
from kinds import *
from pilotage.rest.request import APIRequest, Form, Verb

with pt.LightCluster("sqlite:items.db", kinds=[Item]) as cluster:
"""
END = """
import threading
assert threading.active_count() == 1
print(*sys.modules)
"""
TABLE = """
    resource = pt.meta.GroupVersionResource("cold.pilotage.dev", "v1", "items")
    request = APIRequest(Verb.LIST, resource, "default", form=Form.TABLE)
    assert cluster.run(cluster.transport.call(request)).body.count(b'"item-') >= 20
"""
CLIENT = """
    assert cluster.run(cluster.client.get(Item, "item-7", namespace="default")).spec.quantity == 0
    assert len(cluster.run(cluster.client.list(Item))) == 20
"""
HEAVY = {
    *("asyncio", "concurrent.futures", "dataclasses", "hashlib", "inspect", "logging", "multiprocessing", "re2"),
    *("socket", "ssl", "subprocess", "tokenize", "yaml"),
    *("pilotage.cluster.cluster", "pilotage.schema", "pilotage.server.context", "pilotage.server.registry"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cold")
    (folder / "kinds.py").write_text(KINDS)
    _run(FILL, folder)
    return folder


@pytest.mark.parametrize("body", [TABLE, CLIENT], ids=["a table of a list", "get and list of the client"])
def test_a_read_loads_neither_asyncio_nor_the_registry(body: str, folder: Path) -> None:
    modules = set(_run(OPENED + body + END, folder).split())
    assert modules & HEAVY == set()
    assert len([name for name in modules if name.startswith("pilotage")]) <= 94  # of these, a dozen are empty packages
    assert len(modules) <= 235


def _run(program: str, folder: Path) -> str:
    command = [sys.executable, "-W", "error", "-c", program]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
