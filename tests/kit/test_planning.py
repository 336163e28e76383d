"""Where a command runs, for all commands, options and places."""

from __future__ import annotations

import argparse
from importlib import import_module
from itertools import product

import pytest

from pilotage.kit.arguments import COMMANDS, OF_RECONCILERS, Command
from pilotage.kit.arguments.flags import Arguments
from pilotage.kit.arguments.planning import COPIED, CREATED, DIRECT, EMPTY, LIGHT, LOOP, NEW, REAL, Facts, Where, plan

ALL = tuple(OF_RECONCILERS.values())
FILE, OTHERS = "sqlite:todo.db", ("memory:", "etcd://127.0.0.1:2379", "sqlite:", "")
PLACES = [
    Facts(Where(storage), reconcilers=reconcilers, namespace=namespace, audited=audited)
    for storage, reconcilers, namespace, audited in product(
        (FILE, *OTHERS), (False, True), ("default", "todos"), (False, True)
    )
]


def parser_of(command: Command) -> argparse.ArgumentParser:
    return command.add_parser(argparse.ArgumentParser().add_subparsers())


def options_of(command: Command, **given: object) -> Arguments:
    """What a command has without arguments, and what is given."""
    parser = parser_of(command)
    defaults = {action.dest: action.default for action in parser._actions}
    return command.typed(argparse.Namespace(**{**defaults, **given}))


def every_choice(command: Command) -> list[Arguments]:
    """All combinations of the options that a plan depends on, of those that the command has."""
    known = vars(options_of(command))
    switches = ("watch", "watch_only", "wait", "recreate", "list", "no_reconcile")
    choices = {name: (False, True) for name in switches if name in known or name == "no_reconcile"}
    if known.get("dry_run") == "none":
        choices |= {"dry_run": ("none", "client", "server")}  # type: ignore[dict-item]
    found = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    return [options_of(command, **each) for each in found]


def in_file(routes: tuple[str, ...], missing: str = EMPTY, namespace: str = "") -> tuple[tuple[str, ...], str, str]:
    return routes, missing, namespace


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "get": in_file((DIRECT, LIGHT, LOOP)),
        "describe": in_file((LIGHT, LOOP)),
        "create": in_file((LIGHT, LOOP), NEW, CREATED),
        "apply": in_file((LIGHT, LOOP), NEW, CREATED),
        "diff": in_file((LIGHT, LOOP), EMPTY, COPIED),
        "replace": in_file((LIGHT, LOOP), NEW),
        "edit": in_file((LOOP,), NEW),
        "patch": in_file((LIGHT, LOOP), NEW),
        "scale": in_file((LIGHT, LOOP), NEW),
        "delete": in_file((LOOP,), NEW),
        "label": in_file((LIGHT, LOOP), NEW),
        "annotate": in_file((LIGHT, LOOP), NEW),
        "wait": in_file((LOOP,), REAL),
        "explain": in_file((LIGHT, LOOP)),
        "api-resources": in_file((LIGHT, LOOP)),
        "events": in_file((LOOP,)),
        "logs": in_file((LOOP,)),
        "reconcile": in_file((LOOP,), REAL),
    }.items(),
)
def test_a_command_without_options_on_a_file(name: str, expected: tuple[tuple[str, ...], str, str]) -> None:
    (command,) = [each for each in ALL if each.name == name]
    found = plan(command, options_of(command), Facts(Where(FILE), namespace="todos"))
    assert (found.routes, found.missing, found.namespace) == expected


@pytest.mark.parametrize("command", ALL, ids=lambda command: command.name)
def test_a_plan_holds_for_all_options_and_places(command: Command) -> None:
    for options, facts in product(every_choice(command), PLACES):
        found = plan(command, options, facts)
        dry_run = getattr(options, "dry_run", "none")
        assert found.routes[-1] == LOOP
        if len(found.routes) > 1:  # a server, a log of requests, reconcilers and waiting need a loop
            assert facts.where.storage == FILE
            assert (facts.audited, found.reconciles) == (False, False)
            assert (command.watches(options), getattr(options, "wait", False)) == (False, False)
        assert not found.reconciles or (found.writes and facts.reconcilers)
        assert not found.writes or (command.writes and dry_run != "client")
        if found.missing == NEW:
            assert found.writes
            assert dry_run == "none"
        if found.writes and dry_run == "none":
            assert found.missing != EMPTY, "what is written is stored"
        assert found.missing == REAL or not command.watches(options)
        assert found.namespace == "" or facts.namespace != "default"
        assert found.namespace != CREATED or dry_run == "none"


@pytest.mark.parametrize("command", ALL, ids=lambda command: command.name)
def test_the_module_and_the_options_that_a_command_names_exist(command: Command) -> None:
    assert callable(import_module(f"pilotage.kit.commands.{command.module}").run)
    assert {*command.loops_with, *command.watched_with} <= {action.dest for action in parser_of(command)._actions}


@pytest.mark.parametrize("command", ALL, ids=lambda command: command.name)
def test_the_arguments_of_a_command_are_its_flags(command: Command) -> None:
    """Each flag is a field, and each field without a flag has a value, or is set by the command itself."""
    flags = {action.dest for action in parser_of(command)._actions} - {"help"}
    fields = {name for each in command.arguments.__mro__ for name in vars(each).get("__annotations__", {})}
    assert flags - fields == set()
    has_value = {name for name in fields if hasattr(command.arguments, name)}
    by_tool_or_later = {"object_command", "reconcile_timeout", "log_level", "manifests", "patch_document"}
    assert fields - flags - has_value - by_tool_or_later == set()


def test_reconcilers_run_beside_a_command_that_writes_unless_it_is_not_wanted() -> None:
    facts, command = Facts(Where(FILE), reconcilers=True), COMMANDS["patch"]
    assert plan(command, options_of(command), facts).reconciles
    for given in ({"no_reconcile": True}, {"dry_run": "client"}):
        found = plan(command, options_of(command, **given), facts)
        assert (found.reconciles, found.routes) == (False, (LIGHT, LOOP))
    assert not plan(COMMANDS["get"], options_of(COMMANDS["get"]), facts).reconciles


def test_a_list_of_labels_is_no_write() -> None:
    found = plan(COMMANDS["label"], options_of(COMMANDS["label"], list=True), Facts(Where(FILE), reconcilers=True))
    assert (found.writes, found.reconciles) == (False, False)


def test_an_option_wins_over_its_variable_and_this_over_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(**given: str | None) -> Where:
        return Where.chosen(Arguments(**given), "TODO", storage="sqlite:own.db")

    assert chosen() == Where("sqlite:own.db", "default")
    monkeypatch.setenv("TODO_STORAGE", "sqlite:variable.db")
    monkeypatch.setenv("TODO_ENCRYPTION_KEYS", "keys")
    assert chosen(storage=None) == Where("sqlite:variable.db", encryption_keys="keys")
    assert chosen(storage="memory:", tenant="a") == Where("memory:", "a", "keys")
