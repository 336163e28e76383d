"""The packages with lazy exports: they export the names of their stub, and importing one loads nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import pilotage
from pilotage import device

ROOT = Path(pilotage.__file__).parent
PACKAGES = [
    import_module(".".join(stub.parent.relative_to(ROOT.parent).parts)) for stub in sorted(ROOT.rglob("__init__.pyi"))
]


def test_a_package_has_a_stub_if_and_only_if_its_exports_are_lazy() -> None:
    users = {file.parent for file in ROOT.rglob("__init__.py") if "lazy_exports(__name__)" in file.read_text()}
    assert users == {Path(str(package.__file__)).parent for package in PACKAGES}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_there(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_the_names_are_those_that_type_checkers_read(package: ModuleType) -> None:
    stub = Path(str(package.__file__)).with_name("__init__.pyi")
    imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    assert package.__all__ == sorted(str(alias.asname) for node in imports for alias in node.names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pilotage' has no attribute 'Manger'"):
        pilotage.Manger  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'pilotage\.device' has no attribute 'conect'"):
        device.conect  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_dir_lists_the_names(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))


def test_importing_loads_no_other_module_of_ours_and_nothing_outside_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import pilotage.device; added = set(sys.modules) - before\n"
        "print(*sorted(name for name in added if name.partition('.')[0] not in sys.stdlib_module_names))"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["pilotage", "pilotage.device", "pilotage.lazyexports"]


@pytest.mark.parametrize("name", ["pilotage.NotFound", "pilotage.kit.Tool"])
def test_in_a_thread_the_first_name_imports_msgspec_before_a_module_of_it(name: str) -> None:
    code = (
        "import sys, threading, pilotage.kit\n"
        f"thread = threading.Thread(target=lambda: {name}); thread.start(); thread.join()\n"
        "print('msgspec' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "True\n"
