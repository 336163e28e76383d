from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pilotage.cli.program.project import find_project
from pilotage.cli.scaffold.texts.project import NewProject
from pilotage.version import source_of

from .conftest import Pilotage


def test_a_project_is_written_into_a_new_folder(pilotage: Pilotage, tmp_path: Path) -> None:
    lines = pilotage("init my-books --domain acme.dev")
    assert "create pyproject.toml" in lines
    assert lines[-4:] == ["next:", "  cd my-books", "  make setup test", "  pilotage create api Guestbook"]
    project = find_project(tmp_path / "my-books")
    assert project is not None
    assert (project.name, project.target, project.group) == (
        "my-books",
        "my_books.operator:setup",
        "my-books.acme.dev",
    )
    assert (tmp_path / "my-books/src/my_books/operator.py").is_file()


def test_the_names_can_be_given(pilotage: Pilotage, tmp_path: Path) -> None:
    pilotage("init --name books --package library --group books.dev")
    project = find_project(tmp_path)
    assert project is not None
    assert (project.name, project.target, project.group) == ("books", "library.operator:setup", "books.dev")


def test_existing_files_stay_as_they_are(pilotage: Pilotage, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine\n")
    lines = pilotage("init --name books")
    assert "there already: README.md" in lines
    assert (tmp_path / "README.md").read_text() == "mine\n"


def test_a_dry_run_shows_the_files_and_writes_nothing(pilotage: Pilotage, tmp_path: Path) -> None:
    lines = pilotage("init --name books --dry-run")
    assert "+++ b/pyproject.toml" in lines
    assert list(tmp_path.iterdir()) == []


def test_a_project_is_small_enough_to_read_in_five_minutes(project: Path) -> None:
    files = [path for path in project.rglob("*") if path.is_file()]
    assert len(files) <= 14
    assert sum(len(path.read_text().splitlines()) for path in files) <= 250


def test_the_image_runs_the_program_as_a_user_without_privileges(project: Path) -> None:
    dockerfile = (project / "Dockerfile").read_text()
    assert "PYTHONUNBUFFERED=1" in dockerfile
    assert 'ENTRYPOINT ["pilotage", "run"]' in dockerfile
    assert "USER 65532:65532" in dockerfile
    copied = {word for line in dockerfile.splitlines() if line.startswith("COPY") for word in line.split()[1:-1]}
    allowed = {line[1:] for line in (project / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied - {"--from=build", "/venv"} == allowed


SOURCE = "file:///home/ada/my%20pilotage"


def files_of(source: str) -> Mapping[str, str]:
    return NewProject("books", "books", "books.example.com", "~=0.1.0", source).files()


def test_pip_finds_a_pilotage_that_is_from_a_folder() -> None:
    files = files_of(SOURCE)
    lines = files["Makefile"].splitlines()
    built = next(line for line in lines if "pip wheel" in line)
    assert built == f"\t[ -d wheels ] || $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir wheels {SOURCE}"
    install = "\t$(BIN)/python -m pip install --quiet --find-links wheels --editable . --group dev"
    assert lines.index(built) < lines.index(install)
    assert any(line.startswith("image: setup ") for line in lines)
    assert "COPY wheels wheels\n" in files["Dockerfile"]
    assert "pip install --find-links wheels ." in files["Dockerfile"]
    assert "!wheels\n" in files[".dockerignore"]
    assert "| `wheels` | Pilotage" in files["README.md"]


def test_a_project_for_a_pilotage_of_the_package_index_has_no_wheels() -> None:
    assert [path for path, text in files_of("").items() if "wheel " in text or "wheels" in text] == []


@pytest.mark.parametrize(
    ("direct_url", "source"),
    [
        ({"url": SOURCE, "dir_info": {"editable": True}}, SOURCE),
        ({"url": "https://example.com/pilotage.whl", "archive_info": {}}, "https://example.com/pilotage.whl"),
        (
            {"url": "https://example.com/pilotage", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            "git+https://example.com/pilotage@0a1b",
        ),
        ({}, ""),
    ],
)
def test_the_source_is_what_pip_takes(direct_url: dict[str, Any], source: str) -> None:
    assert source_of(direct_url) == source


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--name Books!", "'Books!' cannot be the name of a project"),
        ("--name a --package json", "'json' is the name of another module: give another one with --package"),
        ("--name test", "'test' is the name of another module: give another one with --package"),
        ("--name 2048", "'2048' cannot be the name of a package: give an identifier with --package"),
        ("--name a --group books", "'books' is not an API group: use a domain of your own"),
        ("--name a --domain k8s.io", "the group 'a.k8s.io' belongs to the Kubernetes project"),
    ],
)
def test_a_wrong_name_is_an_error(refused: Pilotage, tmp_path: Path, arguments: str, message: str) -> None:
    assert refused(f"init {arguments}")[-1].startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_a_project_is_not_started_twice(refused: Pilotage, project: Path) -> None:
    assert refused("init")[-1].endswith("is a project already; add to it with `pilotage create`")


def test_another_python_project_is_left_alone(refused: Pilotage, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    assert refused("init --name books")[-1].endswith(
        'exists; to make it a project, add a table [tool.pilotage] with target = "books.operator:setup"'
    )
    assert len(list(tmp_path.iterdir())) == 1
