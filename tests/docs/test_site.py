"""The site of the documentation, as far as it can be checked without its tools: `make docs` checks the rest."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "mkdocs.yml").read_text()
MADE = {"api/index.md", "changelog.md", "examples/README.md", "examples/inventory/README.md"}
"""Pages that `hack/docs/hooks.py` makes."""


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"[\w/-]+\.md", SETTINGS.partition("\nnav:")[2])
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(pages | MADE)


def test_the_index_has_every_page_of_the_navigation() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages - {"index.md"} if f"({page})" not in index} == set()
