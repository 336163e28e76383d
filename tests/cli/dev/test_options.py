from __future__ import annotations

from pathlib import Path

import pytest

from pilotage.cli import parser
from pilotage.cli.dev.options import DevOptions, run_flags
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags.fields import options_of


def parsed(*words: str) -> DevOptions:
    return options_of(DevOptions, parser(["dev"]).parse_args(["dev", *words]))


def test_everything_is_on_by_default() -> None:
    options = parsed()
    assert (options.storage, options.simulate_workloads, options.nodes, options.ui) == ("memory:", True, 3, True)


def test_switches_have_an_opposite() -> None:
    assert parsed("--ui", "--explain", "hello.py").explain is True
    options = parsed("--no-ui", "--no-explain", "--no-simulate-workloads")
    assert (options.ui, options.explain, options.simulate_workloads) == (False, False, False)


@pytest.mark.parametrize(("words", "explain"), [([], None), (["--explain"], "all"), (["--no-explain"], "no")])
def test_the_flags_of_a_run_follow(words: list[str], explain: str | None, tmp_path: Path) -> None:
    flags = run_flags(parsed(*words, "-f", "a.yaml", "-f", "b"), tmp_path)
    assert flags.explain == explain
    assert flags.filename == (Path("a.yaml"), Path("b"))


def test_standard_input_cannot_be_applied_again(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="standard input cannot be applied again"):
        run_flags(parsed("-f", "-"), tmp_path)
