from __future__ import annotations

from pathlib import Path

import pytest

from pilotage import cli

from .conftest import Pilotage

OPERATOR = "src/guestbook/operator.py"


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_kind_gets_classes_a_controller_a_test_and_a_sample(pilotage: Pilotage, project: Path) -> None:
    assert pilotage("create api Guestbook")[:5] == [
        "create src/guestbook/api/v1.py",
        "create deploy/samples/guestbook-v1.yaml",
        "create src/guestbook/controllers/guestbook.py",
        "create tests/test_guestbook_controller.py",
        "edit   src/guestbook/operator.py",
    ]
    assert "    GuestbookReconciler(manager).setup_with_manager(manager)\n" in (project / OPERATOR).read_text()


def test_the_options_of_a_kind_are_written(pilotage: Pilotage, project: Path) -> None:
    pilotage(
        "create api GPUPool --version v1beta1 --group gpus.dev --plural gpusets --short-names gp,gps --cluster-scoped"
    )
    text = (project / "src/guestbook/api/v1beta1.py").read_text()
    for option in ("gpus.dev", "v1beta1", "Cluster", "gpusets", "gp", "gps"):
        assert f'"{option}"' in text
    assert "namespace" not in (project / "src/guestbook/controllers/gpu_pool.py").read_text()


def test_a_second_run_lists_what_exists_and_changes_nothing(pilotage: Pilotage, project: Path) -> None:
    pilotage("create api Guestbook")
    before = files(project)
    assert pilotage("create api Guestbook") == [
        "there already: src/guestbook/api/v1.py has Guestbook v1",
        "there already: src/guestbook/controllers/guestbook.py",
        "there already: tests/test_guestbook_controller.py",
        "there already: src/guestbook/operator.py has GuestbookReconciler",
        "nothing to do",
    ]
    assert files(project) == before


def test_what_people_wrote_stays_when_more_is_added(pilotage: Pilotage, project: Path) -> None:
    pilotage("create api Guestbook")
    operator, api = project / OPERATOR, project / "src/guestbook/api/v1.py"
    operator.write_text(
        operator.read_text()
        .replace("def setup(manager: pt", "PORT = 1  # mine\n\n\ndef setup(mgr: pt")
        .replace("(manager)", "(mgr)")
    )
    api.write_text(
        api.read_text().replace("import pilotage as pt", "import pilotage as p  # short").replace("pt.", "p.")
    )
    before = files(project)
    pilotage("create api Author")
    after = files(project)
    for path, text in before.items():
        rest = iter(after[path].split("\n"))
        assert all(line in rest for line in text.rstrip("\n").split("\n")), path
    assert "    AuthorReconciler(mgr).setup_with_manager(mgr)\n" in after[OPERATOR]
    assert "class AuthorSpec(p.Model):" in after["src/guestbook/api/v1.py"]


def test_missing_parts_are_added_by_another_run(pilotage: Pilotage, project: Path) -> None:
    pilotage("create api Guestbook --no-controller")
    assert "from guestbook.api import v1 as v1" in (project / OPERATOR).read_text()
    lines = pilotage("create controller Guestbook")
    assert lines[:2] == ["create src/guestbook/controllers/guestbook.py", "create tests/test_guestbook_controller.py"]


def test_an_operator_that_cannot_be_edited_is_left_and_the_lines_are_printed(refused: Pilotage, project: Path) -> None:
    (project / OPERATOR).write_text("import pilotage as pt\n\nsetup = print\n")
    before = files(project)
    assert refused("create api Guestbook") == [
        "from guestbook.controllers.guestbook import GuestbookReconciler",
        "",
        "# in setup:",
        "GuestbookReconciler(manager).setup_with_manager(manager)",
        "src/guestbook/operator.py cannot be edited safely: it has no function setup. Nothing was written; add the "
        "lines above to it, and run the command again for the rest",
    ]
    assert files(project) == before


def test_after_the_lines_were_added_by_hand_the_rest_is_written(pilotage: Pilotage, project: Path) -> None:
    (project / OPERATOR).write_text(
        "from guestbook.controllers.guestbook import GuestbookReconciler\n\nsetup = [GuestbookReconciler]\n"
    )
    assert "there already: src/guestbook/operator.py has GuestbookReconciler" in pilotage("create api Guestbook")


def test_a_dry_run_shows_the_difference_and_writes_nothing(pilotage: Pilotage, project: Path) -> None:
    before = files(project)
    lines = pilotage("create api Guestbook --dry-run")
    assert "+++ b/src/guestbook/api/v1.py" in lines
    assert "+    GuestbookReconciler(manager).setup_with_manager(manager)" in lines
    assert files(project) == before


@pytest.mark.parametrize("kind", ["apps/v1 Deployment", "apps/v1/Deployment", "Deployment"])
def test_a_controller_for_a_kind_of_kubernetes(pilotage: Pilotage, project: Path, kind: str) -> None:
    pilotage(f"create controller {kind}")
    text = (project / "src/guestbook/controllers/deployment.py").read_text()
    assert "from pilotage.types.apps.v1 import Deployment\n" in text


def test_a_kind_of_the_core_group_is_named_by_its_version(pilotage: Pilotage, project: Path) -> None:
    pilotage("create controller v1 Event")
    assert "types.core.v1 import Event" in (project / "src/guestbook/controllers/event.py").read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("controller Nothing", "'Nothing' is neither a kind of this project (it has none) nor one of Kubernetes"),
        ("controller Event", "Kubernetes has several kinds Event: give v1/Event or events.k8s.io/v1/Event"),
        ("controller guestbook", "'guestbook' is not a kind: write it in CamelCase"),
        ("api guest_book", "'guest_book' is not a kind"),
        ("api Book --version one", "'one' is not a version: write v1, v1beta1"),
        ("api Book --plural Books", "the plural 'Books' is not a DNS label"),
        ("webhook Pod", "give at least one of --defaulting, --validating and --conversion"),
        ("webhook Pod --conversion", "--conversion is for kinds of this project"),
    ],
)
def test_a_wrong_argument_is_an_error(refused: Pilotage, project: Path, command: str, message: str) -> None:
    before = files(project)
    assert refused(f"create {command}")[-1].startswith(message)
    assert files(project) == before


def test_outside_of_a_project_nothing_can_be_created(refused: Pilotage) -> None:
    assert "is not in a project" in refused("create api Guestbook")[-1]


def test_handlers_are_added_to_webhooks_that_are_there(pilotage: Pilotage, project: Path) -> None:
    pilotage("create api Guestbook")
    pilotage("create webhook Guestbook --defaulting")
    path = project / "src/guestbook/webhooks/guestbook.py"
    path.write_text(path.read_text().replace('"guestbook")', '"mine")  # changed'))
    assert "edit   src/guestbook/webhooks/guestbook.py" in pilotage(
        "create webhook Guestbook --defaulting --validating"
    )
    text = path.read_text()
    assert '"mine")  # changed' in text
    assert text.count("async def default") == text.count("async def validate_create") == 1
    assert "builder.with_defaulter(self)\n        builder.with_validator(self)\n        builder.complete()" in text
    assert pilotage("create webhook Guestbook --validating")[-1] == "nothing to do"


def test_conversion_needs_a_second_version(refused: Pilotage, pilotage: Pilotage, project: Path) -> None:
    pilotage("create api Guestbook")
    assert refused("create webhook Guestbook --conversion")[-1] == (
        "Guestbook has one version only; add another with `pilotage create api Guestbook --version v2`"
    )


def test_a_misspelled_part_of_a_project_is_suggested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert cli.main(["create", "apii", "Guestbook"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "did you mean `pilotage create api`?"
    assert cli.main(["create", "todo", "milk"]) == 1
    assert "did you mean" not in capsys.readouterr().err


def test_a_kind_with_a_name_of_kubernetes_is_pointed_out(
    pilotage: Pilotage, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["create", "api", "Deployment"]) == 0
    assert capsys.readouterr().err == (
        "note: Kubernetes has a kind Deployment, too. This is another one, in the group guestbook.example.com; a "
        "controller for the kind of Kubernetes is `pilotage create controller Deployment`\n"
    )
    assert cli.main(["create", "api", "Guestbook"]) == 0
    assert capsys.readouterr().err == ""
