"""An import is added where isort would have it, which `ruff` confirms."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pilotage.cli.scaffold.imports import import_block, with_import
from pilotage.cli.scaffold.lines import Import
from pilotage.cli.scaffold.source import CannotEdit

BOOKS = Import("app.controllers.books", "Books")
CODE = "\n\ndef code() -> None: ...\n"


@pytest.mark.parametrize(
    "before",
    [
        "import pilotage as pt\n" + CODE,
        '"""Text."""\n\nimport pilotage as pt\n\nfrom app.controllers.authors import Authors\n' + CODE,
        "from app.webhooks.pages import Pages\n" + CODE,
        "import pilotage as pt\n\n# why\nfrom app.webhooks.pages import Pages  # why\n\nfrom . import near\n" + CODE,
        "from __future__ import annotations\n\nimport os\n" + CODE,
        "from . import near\n" + CODE,
        '"""Text."""\n' + CODE,
        '"""Text."""\n',
        "import app.base\nfrom app.controllers.authors import (\n    Authors,\n    Publishers,\n)\n" + CODE,
        "from app.controllers.books import Shelves\n" + CODE,
        "from app.controllers.books import Archive, Shelves\nfrom app.controllers.pages import Pages\n" + CODE,
        "x = 1\n",
        "# why\ndef code() -> None: ...\n",
    ],
)
def test_an_import_stands_where_isort_has_it(before: str) -> None:
    after = with_import(before, "app", BOOKS)
    assert with_import(after, "app", BOOKS) == after
    lines = set(before.split("\n")) - set(after.split("\n"))
    assert all(line.startswith("from app.controllers.books import") for line in lines)
    assert _sorted(after) == after


def test_a_relative_import_of_the_same_name_is_enough() -> None:
    text = "from .controllers.books import Books\n"
    assert with_import(text, "app", BOOKS) == text


def test_versions_are_sorted_by_number_and_comments_are_kept() -> None:
    text = "from app.api import v2 as v2  # two\n"
    text = with_import(text, "app", Import("app.api", "v10", "v10", "ten"))
    text = with_import(text, "app", Import("app.api", "v1", "v1", "one"))
    assert text.splitlines() == [
        "from app.api import v1 as v1  # one",
        "from app.api import v2 as v2  # two",
        "from app.api import v10 as v10  # ten",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Books = 1\n", "line 1 uses the name Books for something else"),
        ("from other import Books\n", "line 1 uses the name Books for something else"),
        ("import os; import re\n", "line 1 has several statements"),
        ("from app.controllers.books import (\n    A,  # why\n)\n", "line 1 has a comment"),
    ],
)
def test_an_import_that_does_not_fit_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        with_import(text, "app", BOOKS)


def test_a_block_of_imports_is_in_sections() -> None:
    statements = [
        "from app.api import v1",
        "from typing import Self",
        "import pilotage as pt",
        "from typing import Any",
    ]
    block = import_block([*statements, "from enum import Enum", "import re", "from .near import x"], "app")
    assert _sorted(block + CODE) == block + CODE
    assert block.startswith("import re\nfrom enum import Enum\nfrom typing import Any, Self\n\nimport pilotage as pt\n")


def _sorted(text: str) -> str:
    """The text after isort's rules."""
    options = ["--select=I", "--fix", "--isolated", "--config=lint.isort.known-first-party=['app']", "--config=src=[]"]
    command = [sys.executable, "-m", "ruff", "check", *options, "--quiet", "--stdin-filename=a.py", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout
