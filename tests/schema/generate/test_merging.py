"""The spec of a definition that exists already: what is kept, and what a program replaces."""

from __future__ import annotations

from typing import Any

from pilotage.schema.generate.merging import merged


def version(name: str, *, storage: bool, schema: Any = None) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": storage, "schema": schema or {"type": "object"}}


def spec(*versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"group": "g.io", "names": {"plural": "things", "kind": "Thing"}, "versions": list(versions)} | more


def test_a_version_that_the_program_does_not_know_is_kept_but_is_no_longer_the_stored_one() -> None:
    result = merged(spec(version("v1", storage=True)), spec(version("v2", storage=True)))
    assert [(one["name"], one["storage"]) for one in result["versions"]] == [("v2", True), ("v1", False)]


def test_what_the_server_filled_in_is_no_change() -> None:
    old = spec(version("v1", storage=True), conversion={"strategy": "None"})
    old["names"]["singular"] = "thing"
    old["versions"][0]["additionalPrinterColumns"] = []
    assert merged(old, spec(version("v1", storage=True))) == old


def test_a_new_schema_replaces_the_old_one() -> None:
    new = version("v1", storage=True, schema={"type": "object", "properties": {"spec": {"type": "object"}}})
    assert merged(spec(version("v1", storage=True)), spec(new))["versions"] == [new]
