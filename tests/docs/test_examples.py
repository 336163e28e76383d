"""Every Python example in the README and the docs runs on its own, in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+\.md)(#[^)]*)?\)")
EXAMPLES = [
    pytest.param(match.group(1), id=f"{page.name}:{page.read_text()[: match.start()].count(chr(10)) + 2}")
    for page in PAGES
    for match in BLOCK.finditer(page.read_text())
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(code)
    command = [sys.executable, "-W", "error", "example.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_links_to_pages_that_exist(page: Path) -> None:
    missing = [link for link, _ in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_program_runs(example: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(example)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


def test_every_package_has_a_page_that_the_design_links_to() -> None:
    design = (ROOT / "docs" / "design.md").read_text()
    packages = {path.parent.name for path in (ROOT / "src" / "pilotage").glob("*/__init__.py")}
    assert {name for name in packages if f"| `{name}` |" not in design} == set()
