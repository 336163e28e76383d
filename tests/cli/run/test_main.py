from __future__ import annotations

import sys
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.cli.program.modules import ProgramStarted, load
from pilotage.cli.run.main import _target, parser
from pilotage.kit.console.errors import CommandError
from tests import forked
from tests.cli.run.greetings import KIND, OPERATOR, write_operator
from tests.schema.apis.database import Database

SETUP = """
async def setup(manager):
    pt.ControllerBuilder(manager).for_(Greeting).complete(print)
"""


def test_the_kinds_are_those_of_the_module_unless_they_are_given(own_imports: Path) -> None:
    module = load(str(write_operator(own_imports, KIND + SETUP)))
    assert [kind.__name__ for kind in _target(module.setup, None).kinds] == ["Greeting"]
    assert _target(module.setup, [Database]).kinds == (Database,)
    assert _target(module.setup, None).name == "hello.py:setup"


def test_several_reconciler_classes_are_one_program(own_imports: Path) -> None:
    module = load(str(write_operator(own_imports)))
    assert _target([module.GreetingReconciler], None).parts == (module.GreetingReconciler,)


def test_what_is_not_a_program_is_refused(own_imports: Path) -> None:
    module = load(str(write_operator(own_imports)))
    with pytest.raises(CommandError, match="is the class Greeting: it must be a function that is given a manager"):
        _target(module.Greeting, None)


async def test_an_async_function_sets_the_manager_up(own_imports: Path) -> None:
    module = load(str(write_operator(own_imports, KIND + SETUP)))
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        await _target(module.setup, None).setup(manager)
        assert manager._controller_names == {"greeting"}


@pytest.mark.parametrize(
    ("started_as", "name"), [("/home/me/hello.py", "hello.py"), ("/home/me/guestbook/__main__.py", "guestbook")]
)
def test_a_program_is_named_as_it_was_started(started_as: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [started_as])
    assert parser().format_usage() == f"usage: {name} [-h] [OPTION ...]\n"


def test_nothing_runs_while_a_command_imports_the_program(own_imports: Path) -> None:
    write_operator(own_imports, f"{KIND}\ntry:\n    pt.run(print)\nexcept Exception:\n    pass\nafter = 1\n")
    module = load("hello.py")
    assert not hasattr(module, "after")
    assert not issubclass(ProgramStarted, Exception)


def test_a_package_has_its_kinds_when_it_is_run_as_a_program(tmp_path: Path) -> None:
    package = tmp_path / "greetings"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "operator.py").write_text(OPERATOR)
    (package / "__main__.py").write_text(
        "import pilotage as pt\nfrom greetings.operator import GreetingReconciler\n\n"
        "def main(manager):\n    GreetingReconciler(manager).setup_with_manager(manager)\n\npt.run(main)\n"
    )
    ran = forked.run("-m", "greetings", "--storage", "memory:", "--until-idle", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Installed Greeting (greetings.pilotage.dev/v1)" in ran.stderr
