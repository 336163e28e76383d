"""`pilotage chaos`: tests, or a whole operator, under crashes, conflicts, stale reads and other faults."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags.types import positive
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.testing.chaos.operators import Operator, Preparation
    from pilotage.testing.chaos.report import Failure, Report

FOUND = 6
"""The exit code if a plan leads to a failure."""
PLANS = {"quick": 50, "ci": 1000, "night": 10**9}
SECONDS = {"quick": 10.0, "ci": 60.0, "night": 8 * 3600.0}


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "chaos",
        "look for failures of an operator under crashes, stale reads and other faults",
        "Run tests, or a whole operator, again and again on an API server in memory and in virtual time, each time "
        "with other faults: killed at a write, a lost answer, a conflict, a cache behind after a restart, a missed "
        "event. TEST is what pytest takes; every test in it with pilotage_env is run with faults. With -f, TEST is the "
        "program instead, as `pilotage run` takes it: the objects of the files are applied, edited and deleted. The "
        "exit code is 6 if a plan of faults leads to another end.",
        "pilotage chaos tests/test_vault.py",
        "pilotage chaos operator.py -f samples/",
        "pilotage chaos operator.py -f samples/ --replay plans/operator.1.plan.json",
    )
    command.add_argument("tests", nargs="+", metavar="TEST", help="tests for pytest, or with -f a program")
    command.add_argument(
        "-f",
        "--filename",
        action="append",
        default=[],
        metavar="FILE",
        help="objects of the program: a file or a folder",
    )
    command.add_argument(
        "--strength", choices=("quick", "ci", "night"), default="ci", help="ten seconds, a minute (default) or a night"
    )
    command.add_argument("--plans", type=positive, metavar="N", help="how many plans are tried at most")
    command.add_argument("--seconds", type=float, metavar="SECONDS", help="how long plans are tried")
    command.add_argument("--seed", type=int, default=1, metavar="SEED", help="what random choices follow (default: 1)")
    command.add_argument("--edits", type=int, default=3, metavar="N", help="with -f: edits of each kind (default: 3)")
    command.add_argument(
        "--simulate-workloads",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="with -f: whether Deployments, Jobs and the others get Pods (default: if the program uses them)",
    )
    command.add_argument("--replay", type=Path, metavar="FILE", help="run the plan of this file alone")
    command.add_argument("--save", type=Path, metavar="DIR", help="leave the plans of failures as files in this folder")
    command.add_argument("--json", type=Path, metavar="FILE", help="with -f: write the report to this file, as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Look for failures, print the report, and return the exit code."""
    return _run_operator(options) if options.filename else _run_tests(options)


def _run_tests(options: argparse.Namespace) -> int:
    try:
        import pytest
    except ImportError as error:
        raise CommandError("tests need pytest: pip install pytest") from error
    flags = ["--pilotage-chaos-all", f"--pilotage-chaos={options.strength}", f"--pilotage-seed={options.seed}"]
    flags += [f"--pilotage-chaos-seconds={options.seconds}"] if options.seconds else []
    flags += [f"--pilotage-chaos-plans={options.plans}"] if options.plans else []
    flags += [f"--pilotage-chaos-plan={options.replay}"] if options.replay else []
    flags += [f"--pilotage-report={options.save}"] if options.save else []
    code = pytest.main([*flags, *options.tests])
    return FOUND if code == pytest.ExitCode.TESTS_FAILED else int(code)


def _run_operator(options: argparse.Namespace) -> int:
    from pilotage.testing.chaos.exploring import explored, replayed
    from pilotage.testing.chaos.operators import prepared
    from pilotage.testing.chaos.plan import Plan

    operator = _operator(options)
    try:
        found = prepared(operator, count=options.edits, seed=options.seed, with_workloads=options.simulate_workloads)
    except Exception as error:
        raise CommandError(
            f"{operator.name} does not come to rest with these objects, without faults: {error}"
        ) from error
    _print_scenario(found)
    runner = found.operator.runner()
    if options.replay:
        failure = replayed(Plan.load(options.replay), runner)
        print(failure or "no failure: with this plan, it ends as without faults")
        return FOUND if failure is not None else 0
    plans = options.plans or PLANS[options.strength]
    report = explored(runner, plans, options.seed, options.seconds or SECONDS[options.strength])
    print(report)
    _write(report, options)
    return FOUND if report.failures else 0


def _operator(options: argparse.Namespace) -> Operator:
    from pilotage.cli.program.project import chosen_target
    from pilotage.cli.program.target import load_target
    from pilotage.kit.console.manifestfiles import applicable, read_manifests
    from pilotage.testing.chaos.operators import Operator

    if len(options.tests) > 1:
        raise CommandError(f"with -f, name one program, not {len(options.tests)}")
    target = load_target(chosen_target(options.tests[0], Path.cwd())[0])
    if target.manager is not None:
        raise CommandError(
            f"{target.name} is a manager with a cluster of its own, and chaos needs to start the program again: name a "
            "function setup(manager), or a reconciler class"
        )
    samples = tuple(applicable(one.document) for one in read_manifests(options.filename))
    return Operator(target.name, target.setup, target.kinds, samples)


def _print_scenario(found: Preparation) -> None:
    operator = found.operator
    names = ", ".join(f"{one['kind']} {one['metadata'].get('name', '')}" for one in operator.samples)
    print(f"scenario: apply {names}; {len(operator.edits)} edits; delete")
    for _, edit in operator.edits:
        print(f"  edit    {edit}")
    for edit in found.dropped:
        print(f"  left    {edit}: it does not come to rest after it, without faults")
    if operator.with_workloads:
        print("  with simulated workloads")


def _write(report: Report, options: argparse.Namespace) -> None:
    """Leave the files that the flags ask for."""
    if options.json:
        options.json.write_text(json.dumps(report.document(), indent=2) + "\n")
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        for number, failure in enumerate(report.failures, 1):
            path = _path(options.save, failure, number)
            failure.plan.save(path)
            print(f"{number}. --replay {path}")


def _path(folder: Path, failure: Failure, number: int) -> Path:
    name = Path(failure.plan.scenario.partition(":")[0]).stem or "plan"
    return folder / f"{name}.{number}.plan.json"
