"""The Python blocks of the docs as mypy checks them: `make check` runs it over all of them (hack/check_docs.py)."""

from __future__ import annotations

from pathlib import Path

from hack.check_docs import ROOT, modules, pages


def test_a_block_becomes_a_module_whose_lines_are_those_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "a-page.md"
    page.write_text("# A page\n\n```python\nx = 1\n```\n\n```console\n$ ls\n```\n\n```python\ny = 2\n```\n")
    first, second = modules(page).items()
    assert (first[1].splitlines().index("x = 1"), second[1].splitlines().index("y = 2")) == (3, 11)
    assert first[0].isidentifier()
    assert first[0] != second[0]


def test_every_page_with_python_in_it_is_checked() -> None:
    checked = {page for page in pages(ROOT) if modules(page)}
    written = {
        page
        for page in ROOT.glob("**/*.md")
        if "```python" in page.read_text() and not page.relative_to(ROOT).parts[0].startswith(".")
    }
    assert checked == written


def test_make_check_runs_it() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.split("\ncheck:", 1)[1].split("\n\n", 1)[0]
    assert "hack/check_docs.py" in recipe
