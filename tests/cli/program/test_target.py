from __future__ import annotations

from pathlib import Path

import pytest

import pilotage as pt
from pilotage.cli.program.target import load_target
from pilotage.kit.console.errors import CommandError

KIND = """
import pilotage as pt

class GreetingSpec(pt.Model):
    text: str = "hello"

@pt.resource(group="greetings.example.com", version="v1")
class Greeting(pt.Resource):
    spec: GreetingSpec
"""
RECONCILER = """
class GreetingReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        pass

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Greeting).complete(self)
"""

pytestmark = pytest.mark.usefixtures("own_imports")


def write(name: str, *texts: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(texts))
    return name


async def controllers(text: str) -> set[str]:
    """The controllers of a manager to which the target was added."""
    target = load_target(text)
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        await target.setup(manager)
        return set(manager._controller_names)


def refusal(text: str) -> str:
    with pytest.raises(CommandError) as raised:
        load_target(text)
    assert "\n" not in str(raised.value)
    return str(raised.value)


async def test_without_a_name_the_function_setup_is_used() -> None:
    setup = 'def setup(manager):\n    pt.ControllerBuilder(manager).for_(Greeting).named("own").complete(print)\n'
    assert await controllers(write("hello.py", KIND, RECONCILER, setup)) == {"own"}


async def test_without_a_function_setup_all_reconciler_classes_are_used() -> None:
    write("hello.py", KIND, RECONCILER)
    assert await controllers("hello") == {"greeting"}


@pytest.mark.parametrize(
    "definition",
    [
        "def wanted(manager):\n    GreetingReconciler(manager).setup_with_manager(manager)",
        "async def wanted(manager):\n    GreetingReconciler(manager).setup_with_manager(manager)",
        "wanted = GreetingReconciler",
        "wanted = [GreetingReconciler]",
        "class Plain(GreetingReconciler):\n    def __init__(self): pass\nwanted = Plain",
        "class Plain(GreetingReconciler):\n    def __init__(self): pass\nwanted = Plain()",
        "class Late(GreetingReconciler):\n    async def setup_with_manager(self, manager):\n"
        "        super().setup_with_manager(manager)\nwanted = (Late,)",
    ],
)
async def test_a_name_is_a_function_or_reconcilers(definition: str) -> None:
    assert await controllers(write("hello.py", KIND, RECONCILER, definition, "\n") + ":wanted") == {"greeting"}


def test_a_name_may_be_a_manager() -> None:
    write("hello.py", KIND, "manager = pt.Manager(pt.Cluster.embedded())\n")
    target = load_target("hello:manager")
    assert target.manager is target.module.manager


async def test_a_manager_is_not_added_to_another_one() -> None:
    write("hello.py", KIND, "manager = pt.Manager(pt.Cluster.embedded())\n")
    with pytest.raises(CommandError, match="hello:manager is a manager, which cannot be added to another one"):
        await controllers("hello:manager")


def test_a_project_in_src_is_importable_and_has_the_kinds_of_its_package() -> None:
    write("src/greetings/__init__.py", "")
    write("src/greetings/api/__init__.py", "")
    write("src/greetings/api/v1.py", KIND)
    write("src/greetings/operator.py", "import pilotage as pt\nfrom .api.v1 import Greeting\n", RECONCILER)
    target = load_target("greetings.operator")
    assert [kind.__qualname__ for kind in target.kinds] == ["Greeting"]
    assert target.module.__name__ == "greetings.operator"


def test_a_file_of_a_package_is_its_module_so_that_relative_imports_work() -> None:
    write("src/greetings/__init__.py", "")
    write("src/greetings/api.py", KIND)
    write("src/greetings/operator.py", "import pilotage as pt\nfrom .api import Greeting\n", RECONCILER)
    target = load_target("src/greetings/operator.py")
    assert target.module.__name__ == "greetings.operator"
    assert [kind.__module__ for kind in target.kinds] == ["greetings.api"]


def test_a_file_without_a_package_has_the_kinds_of_the_files_beside_it() -> None:
    write("api.py", KIND)
    write("hello.py", "import pilotage as pt\nfrom pilotage.types.core.v1 import Pod\nfrom api import *\n", RECONCILER)
    assert [kind.__module__ for kind in load_target("hello.py").kinds] == ["api"]


def test_a_file_may_be_named_like_a_module_of_the_standard_library() -> None:
    write("operator.py", KIND, RECONCILER)
    assert load_target("operator.py").kinds[0].__qualname__ == "Greeting"
    assert refusal("operator").endswith("; Python found another module than the file, give operator.py")


def test_a_module_without_a_program_is_refused_with_what_it_has() -> None:
    assert refusal(write("hello.py", KIND)) == (
        "hello.py has neither a function setup(manager) nor a reconciler class (one with reconcile and "
        "setup_with_manager); it defines GreetingSpec, Greeting; hello.py:NAME runs another function"
    )


def test_a_name_that_is_not_there_is_refused_with_those_that_are() -> None:
    write("hello.py", KIND, RECONCILER)
    assert refusal("hello:nope") == "hello has no 'nope'; it defines GreetingSpec, Greeting, GreetingReconciler"


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ("wanted = 3", "is of type int: it must be a function that is given a manager, a reconciler class "),
        ("wanted = []", "is empty: it must have reconcilers"),
        ("wanted = Greeting", "is the class Greeting: it must be a function"),
        ("def wanted(): pass", "cannot be called with a manager: its parameters are (); write wanted(manager)"),
    ],
)
def test_a_name_for_something_else_is_refused(definition: str, reason: str) -> None:
    assert f"hello.py:wanted {reason}" in refusal(write("hello.py", KIND, definition, "\n") + ":wanted")


@pytest.mark.parametrize("text", ["hello:", ":setup", "hello:a-b"])
def test_what_is_not_a_target_is_refused(text: str) -> None:
    assert refusal(text) == f"{text!r} is not a target: write MODULE, FILE.py, MODULE:NAME or FILE.py:NAME"


def test_a_folder_is_a_package_or_refused() -> None:
    write("src/greetings/__init__.py", KIND, RECONCILER)
    assert load_target("src/greetings").module.__name__ == "greetings"
    assert refusal("./src") == "src is a folder and not a package: it has no __init__.py; give a file in it"


def test_a_missing_module_is_refused() -> None:
    assert refusal("nowhere.at.all") == "module 'nowhere' not found; give a name that Python can import, or a file"
    assert refusal("nowhere.py") == "file nowhere.py does not exist"


def test_a_syntax_error_has_its_file_and_line() -> None:
    assert refusal(write("hello.py", "import pilotage\ndef setup(manager)\n    pass\n")).endswith(
        "hello.py, line 2: expected ':'"
    )


async def test_an_exception_in_setup_is_one_line_with_the_place(tmp_path: Path) -> None:
    write("hello.py", "def setup(manager):\n    help_me(manager)\n\ndef help_me(manager):\n    return {}['key']\n")
    with pytest.raises(CommandError) as raised:
        await controllers("hello.py")
    assert str(raised.value) == f"hello.py cannot be set up: KeyError: 'key' ({tmp_path / 'hello.py'}, line 5)"


async def test_a_refused_builder_has_the_line_of_the_user(tmp_path: Path) -> None:
    write("hello.py", "import pilotage as pt\ndef setup(manager):\n    pt.ControllerBuilder(manager).complete(print)\n")
    with pytest.raises(CommandError) as raised:
        await controllers("hello.py")
    assert str(raised.value).endswith(f"({tmp_path / 'hello.py'}, line 3)")


async def test_a_reconciler_that_needs_more_than_a_manager_is_refused() -> None:
    other = RECONCILER.replace("manager: pt.Manager) -> None:\n        self", "client, size) -> None:\n        self")
    write("hello.py", KIND, other.replace("manager.client", "client"))
    with pytest.raises(CommandError, match=r"GreetingReconciler cannot be built with a manager: its parameters are"):
        await controllers("hello.py")
