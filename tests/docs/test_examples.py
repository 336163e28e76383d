"""Every Python example in the README and the docs runs on its own, in an empty folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .. import forked
from ..cli.device.processes import serving

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
EXAMPLES = [
    pytest.param(match.group(1), id=f"{page.name}:{page.read_text()[: match.start()].count(chr(10)) + 2}")
    for page in PAGES
    for match in BLOCK.finditer(page.read_text())
]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the examples find a Device API."""
    path = tmp_path_factory.mktemp("devices") / "device-api.sock"
    with serving(path, "--provider", "fake", "--log-level", "error"):
        yield f"unix://{path}"


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(code)
    until_idle = {"PILOTAGE_STORAGE": "memory:", "PILOTAGE_UNTIL_IDLE": "true"}  # for those that end in pt.run(…)
    environment = os.environ | {"NVIDIA_DEVICE_API_TARGET": target} | until_idle
    command = ["-m", "pytest", "-p", "pilotage.testing.plugin", "example.py"] if _is_test(code) else ["example.py"]
    ran = forked.run(*command, folder=tmp_path, environment=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _is_test(code: str) -> bool:
    return "import pytest\n" in code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_links_to_what_exists(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = [(page.parent / name if name else page, anchor) for name, anchor in LINK.findall(text)]
    assert [str(path) for path, _ in links if not path.exists()] == []
    assert [(path.name, anchor) for path, anchor in links if anchor and anchor not in anchors(path)] == []


def anchors(page: Path) -> set[str]:
    """The names of a page's headings in links, as code hosts make them."""
    headings = HEADING.findall(re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [page.parent / name for name, _ in LINK.findall(page.read_text()) if name]
    assert [page.name for page in PAGES if page not in reached] == []


def test_every_package_has_a_page_that_the_design_links_to() -> None:
    design = (ROOT / "docs" / "design.md").read_text()
    packages = {path.parent.name for path in (ROOT / "src" / "pilotage").glob("*/__init__.py")}
    assert {name for name in packages if f"| `{name}` |" not in design} == set()


def test_the_notebook_keeps_its_notes(tmp_path: Path) -> None:
    def notes(*arguments: str) -> tuple[int, str, str]:
        ran = forked.run(str(ROOT / "examples" / "notes.py"), *arguments, folder=tmp_path)
        return ran.returncode, ran.stdout, ran.stderr

    code, added, _ = notes("add", "buy milk")
    name = added.split()[-1]
    assert (code, added) == (0, f"added {name}\n")
    assert notes("list") == (0, f"[ ] {name}  buy milk\n", "")
    assert notes("done", name) == (0, f"done {name}\n", "")
    assert notes("list") == (0, f"[x] {name}  buy milk\n", "")
    code, _, refused = notes("add", "")
    assert (code, refused.count("\n")) == (1, 1)
    assert notes("done", "nobody") == (1, "", 'notes: notes.notes.pilotage.dev "nobody" not found\n')


@pytest.mark.parametrize(
    "example",
    sorted(path for path in (ROOT / "examples").glob("*.py") if not path.name.startswith("test_")),
    ids=lambda path: path.name,
)
def test_an_example_can_be_imported_without_running(example: Path) -> None:
    assert '\nif __name__ == "__main__":\n' in example.read_text()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["notes.py", "list"], "notes: "),
        (["database.py", "cluster"], "database: no cluster is configured"),
        (["database.py", "nope:x"], "database: 'nope:x' names no storage"),
        (["database.py", "sqlite:notes.db/inside.db"], "database: "),
        (["basic_client.py"], "basic_client: unix://"),
        (["controller_shim.py", "cluster"], "controller_shim: no cluster is configured"),
        (["gpu_agent.py", "cluster"], "gpu_agent: no cluster is configured"),
        (["gpu_agent.py", "sqlite:notes.db/inside.db"], "gpu_agent: "),
        (["device_basic_client.py"], "there is no such socket"),
        (["streaming_daemon.py"], "there is no such socket"),
    ],
)
def test_an_example_in_a_wrong_environment_reports_it_without_a_traceback(
    words: list[str], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.db").write_text("not a database")
    environment = os.environ | {
        "HOME": str(tmp_path),
        "KUBECONFIG": "",
        "NODE_NAME": "here",
        "NVIDIA_DEVICE_API_TARGET": f"unix://{tmp_path}/nowhere/api.sock",
    }
    ran = forked.run(str(ROOT / "examples" / words[0]), *words[1:], folder=tmp_path, environment=environment)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr + ran.stdout
    assert complaint in (ran.stderr + ran.stdout).splitlines()[-1]
