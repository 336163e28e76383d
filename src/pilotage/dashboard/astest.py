"""An object as a test: a `pilotage_env` test that begins with the object as it was."""

from __future__ import annotations

import pprint
import re
from collections.abc import Mapping
from typing import Any

_SERVER_SET = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_WIDTH = 100

_TEXT = """\
import pilotage as pt
from pilotage.testing import Environment
{imported}

# The name of the module of your program: its function setup(manager), or call setup_with_manager of its reconcilers.
from program import setup


async def test_{name}(pilotage_env: Environment) -> None:
{installed}    await pilotage_env.given(
        pt.Unstructured(
{document}
        )
    )
    setup(pilotage_env.manager)
    with pilotage_env.writes() as writes:
        await pilotage_env.run_until_idle()
    writes.assert_only()  # the report of the failed test lists what was written: add what you expect
"""


def as_test(document: Mapping[str, Any], kind: type | None = None) -> str:
    """The source of a test. `kind` is the class of the object where the program has one; the server of the test must
    know it, unless it is built in."""
    metadata = {name: value for name, value in dict(document.get("metadata") or {}).items() if name not in _SERVER_SET}
    shown = {**document, "metadata": metadata}
    text = pprint.pformat(shown, width=_WIDTH, sort_dicts=False)
    imported = installed = ""
    if kind is not None and not kind.__module__.startswith("pilotage."):
        imported = f"\nfrom {kind.__module__} import {kind.__qualname__}"
        installed = f"    await pilotage_env.cluster.install({kind.__qualname__})\n"
    return _TEXT.format(
        imported=imported,
        name=_identifier(f"{document.get('kind', '')}_{metadata.get('name', '')}"),
        installed=installed,
        document="\n".join(f"            {line}" for line in text.splitlines()),
    )


def _identifier(text: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", text.lower()).strip("_")[:80] or "object"
