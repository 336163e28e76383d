from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pilotage.cli.program.project import Project, chosen_target, find_project, program_name
from pilotage.kit.console.errors import CommandError

PYTHON = '[project]\nname = "Guest_Book"\n'


def project(folder: Path, settings: str = "", python: str = PYTHON) -> Project:
    (folder / "pyproject.toml").write_text(f"{python}[tool.pilotage]\n{settings}")
    found = find_project(folder)
    assert found is not None
    return found


def test_all_settings_have_defaults_from_the_name_of_the_python_project(tmp_path: Path) -> None:
    assert project(tmp_path) == Project(
        root=tmp_path,
        name="guest-book",
        target=None,
        namespace="guest-book-system",
        image="guest-book:latest",
        deploy=tmp_path / "deploy",
        group=None,
    )


def test_settings_are_read_from_the_table(tmp_path: Path) -> None:
    settings = """
        target = "guestbook.operator:setup"
        name = "guestbook"
        namespace = "books"
        image = "registry.example/guestbook:1"
        deploy = "manifests/base"
        group = "books.example.com"
    """
    assert project(tmp_path, settings) == Project(
        root=tmp_path,
        name="guestbook",
        target="guestbook.operator:setup",
        namespace="books",
        image="registry.example/guestbook:1",
        deploy=tmp_path / "manifests" / "base",
        group="books.example.com",
    )


def test_the_defaults_follow_the_name_of_the_table(tmp_path: Path) -> None:
    found = project(tmp_path, 'name = "books"', python="")
    assert (found.namespace, found.image) == ("books-system", "books:latest")


def test_the_nearest_file_with_the_table_is_used(tmp_path: Path) -> None:
    project(tmp_path)
    inner = tmp_path / "library" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "library" / "pyproject.toml").write_text('[project]\nname = "library"\n')  # has no such table
    found = find_project(inner)
    assert found is not None
    assert found.root == tmp_path


def test_a_folder_without_such_a_file_is_no_project(tmp_path: Path) -> None:
    assert find_project(tmp_path) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("tarqet = 'a'", "has an unknown key 'tarqet'; the keys are: target, name, namespace, image, deploy, group"),
        ("target = 1", "target in [tool.pilotage] is a number; it must be a string"),
        ("target = true", "target in [tool.pilotage] is a boolean; it must be a string"),
        ("target = ['a']", "target in [tool.pilotage] is an array; it must be a string"),
        ("image = ''", "image in [tool.pilotage] is empty; give it a value or remove it"),
        ("name = 'Guest Book'", "name 'Guest Book' in [tool.pilotage] is invalid: a lowercase RFC 1123 label"),
        ("namespace = 'a.b'", "namespace 'a.b' in [tool.pilotage] is invalid: must not contain dots"),
        ("group = 'books'", "group 'books' in [tool.pilotage] is invalid: must contain a dot"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(tmp_path: Path, settings: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        project(tmp_path, settings)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "pyproject.toml"))


def test_a_project_without_any_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"has no name; set name in \[project\], or in \[tool.pilotage\]"):
        project(tmp_path, python="")


def test_a_table_that_is_not_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\npilotage = 1")
    with pytest.raises(CommandError, match=r"tool.pilotage is not a table"):
        find_project(tmp_path)


def test_a_file_that_is_not_toml_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.pilotage\n")
    with pytest.raises(CommandError, match=r"pyproject.toml is not valid TOML: .*line 1"):
        find_project(tmp_path)


def test_the_target_is_the_given_one_else_that_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    found = project(tmp_path, 'target = "guestbook.operator:setup"')
    assert chosen_target("operator.py", tmp_path) == ("operator.py", found)
    assert chosen_target("", tmp_path) == ("guestbook.operator:setup", found)
    assert str(tmp_path / "src") not in sys.path
    (tmp_path / "docs").mkdir()
    assert chosen_target("", tmp_path / "docs") == ("guestbook.operator:setup", found)
    assert sys.path[:2] == [str(tmp_path), str(tmp_path / "src")]


def test_without_a_target_the_error_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no TARGET is given, such as .* and no pyproject.toml here or above has"):
        chosen_target("", tmp_path)
    project(tmp_path)
    with pytest.raises(CommandError, match=r"no TARGET is given, and .*/pyproject.toml has no target in"):
        chosen_target("", tmp_path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("guestbook.operator:setup", "guestbook"),
        ("src/guestbook/my_operator.py", "my-operator"),
        ("__main__.py", "main"),
        ("_", "pilotage"),
    ],
)
def test_the_name_of_a_program_is_a_label(text: str, name: str) -> None:
    assert program_name(text) == name
