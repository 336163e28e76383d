"""A second version of a kind that people have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Pilotage

V1 = '''"""The kinds."""

from typing import Annotated, Literal

import pilotage as pt
from pilotage.types.core.v1 import Container

Size = Annotated[int, pt.Minimum(1)]


class Page(pt.Model):
    text: str


# The spec, as users know it.
class BookSpec(pt.Model):
    """A book."""

    pages: list[Page] = []
    size: Size = 1
    cover: Literal["hard", "soft"] = "soft"
    container: Container | None = None


@pt.resource(group="books.dev", version="v1", status=True)
class Book(pt.Resource):
    spec: BookSpec
    status: dict[str, str] | None = None
'''


@pytest.fixture
def api(project: Path) -> Path:
    folder = project / "src/guestbook/api"
    (folder / "v1.py").write_text(V1)
    return folder


def test_the_spec_is_copied_and_its_types_are_those_of_the_first_version(pilotage: Pilotage, api: Path) -> None:
    pilotage("create api Book --version v2")
    assert (api / "v1.py").read_text() == V1
    text = (api / "v2.py").read_text()
    assert text.startswith(
        '"""The kinds of version v2."""\n\nfrom typing import Literal, Self\n\nimport pilotage as pt\n'
        "from pilotage.types.core.v1 import Container\n\nfrom guestbook.api import v1\n\n\n# The spec, as users"
    )
    assert "    pages: list[v1.Page] = []\n    size: v1.Size = 1\n" in text
    assert '@pt.resource(group="books.dev", version="v2", storage=False, status=True)\n' in text
    assert "                size=self.spec.size,\n" in text


def test_the_copy_is_added_to_a_module_that_is_there(pilotage: Pilotage, api: Path) -> None:
    before = "import pilotage as pt\n\n\nclass Other(pt.Model):\n    x: int  # mine\n"
    (api / "v2.py").write_text(before)
    pilotage("create api Book --version v2")
    text = (api / "v2.py").read_text()
    assert "class Other(pt.Model):\n    x: int  # mine\n\n\n# The spec" in text
    assert text.startswith("from typing import Literal, Self\n\nimport pilotage as pt\n")


def test_a_second_run_lists_what_exists(pilotage: Pilotage, api: Path) -> None:
    pilotage("create api Book --version v2")
    assert pilotage("create api Book --version v2") == [
        "there already: src/guestbook/api/v2.py has Book v2",
        "nothing to do",
    ]


def test_the_conversion_of_all_versions_is_registered(pilotage: Pilotage, project: Path, api: Path) -> None:
    pilotage("create api Book --version v2")
    pilotage("create api Book --version v1beta1")
    pilotage("create webhook Book --conversion")
    text = (project / "src/guestbook/webhooks/book.py").read_text()
    assert "        builder.with_conversion(BookV1beta1, BookV2)\n" in text


def test_a_version_is_added_to_a_conversion_that_is_there(pilotage: Pilotage, project: Path, api: Path) -> None:
    pilotage("create api Book --version v2")
    pilotage("create webhook Book --conversion")
    path = project / "src/guestbook/webhooks/book.py"
    path.write_text(path.read_text().replace("(BookV2)", "(BookV2, lossless=True)  # kept"))
    pilotage("create api Book --version v3")
    pilotage("create webhook Book --conversion")
    text = path.read_text()
    assert "from guestbook.api.v3 import Book as BookV3\n" in text
    assert "        builder.with_conversion(BookV2, BookV3, lossless=True)  # kept\n" in text
    assert pilotage("create webhook Book --conversion")[-1] == "nothing to do"


def test_a_kind_without_a_single_storage_version_is_an_error(refused: Pilotage, api: Path) -> None:
    (api / "v1.py").write_text(V1.replace("status=True", "storage=False"))
    assert refused("create api Book --version v2")[-1].startswith("Book has no single storage version (none)")


def test_options_that_cannot_be_read_are_an_error(refused: Pilotage, api: Path) -> None:
    (api / "v1.py").write_text(V1.replace("status=True", "**OPTIONS"))
    assert refused("create api Book --version v2")[-1].startswith(
        "Book cannot be copied from src/guestbook/api/v1.py: the options of Book cannot be read"
    )
    assert not (api / "v2.py").exists()


def test_a_kind_may_be_anywhere_in_the_package(pilotage: Pilotage, project: Path) -> None:
    (project / "src/guestbook/library").mkdir()
    (project / "src/guestbook/library/books.py").write_text(V1)
    pilotage("create api Book --version v2")
    pilotage("create controller Book")
    text = (project / "src/guestbook/api/v2.py").read_text()
    assert "from guestbook.library import books\n" in text
    assert "pages: list[books.Page] = []" in text
    controller = (project / "src/guestbook/controllers/book.py").read_text()
    assert "from guestbook.library.books import Book\n" in controller


def test_the_names_of_a_second_version_are_those_of_the_first(refused: Pilotage, api: Path) -> None:
    message = "Book has its scope and names from src/guestbook/api/v1.py; leave these options out"
    assert refused("create api Book --version v2 --short-names b") == [message]


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ('next: "Page | None" = None', "BookSpec has a type in quotes ('Page | None')"),
        ('next: list["Page"] = []', "BookSpec has a type in quotes ('Page')"),
    ],
)
def test_a_spec_that_cannot_be_copied_safely_is_refused(refused: Pilotage, api: Path, field: str, reason: str) -> None:
    (api / "v1.py").write_text(V1.replace("size: Size = 1", field))
    assert f"cannot be copied from src/guestbook/api/v1.py: {reason}" in refused("create api Book --version v2")[-1]
    assert not (api / "v2.py").exists()


def test_methods_and_f_strings_are_copied_or_refused(pilotage: Pilotage, api: Path) -> None:
    method = '    def title(self) -> str:\n        return "é" + Page(text=str(self.size)).text  # é\n'
    (api / "v1.py").write_text(V1.replace("    container: Container | None = None\n", f"\n{method}"))
    pilotage("create api Book --version v2")
    assert 'return "é" + v1.Page(text=str(self.size)).text  # é\n' in (api / "v2.py").read_text()
