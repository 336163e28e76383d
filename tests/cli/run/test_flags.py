from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pilotage.cli.run.arguments import Flags, RunParser, add_arguments, variable
from pilotage.cli.run.flags import check_manager_target, flags_of, manager_options
from pilotage.kit.console.errors import CommandError

PARSER = argparse.ArgumentParser()
add_arguments(PARSER)


def flags(*words: str, **environment: str) -> Flags:
    return flags_of(PARSER, PARSER.parse_args(words), environment)


def refusal(*words: str, **environment: str) -> str:
    with pytest.raises(CommandError) as raised:
        flags(*words, **environment)
    return str(raised.value)


def test_each_flag_is_a_field_of_the_same_name() -> None:
    known = {action.dest for action in PARSER._actions if action.dest != "help"}
    assert known == set(Flags.__dataclass_fields__)


def test_without_flags_there_are_the_defaults() -> None:
    assert flags() == Flags()


def test_an_environment_variable_sets_each_flag() -> None:
    given = flags(
        PILOTAGE_STORAGE="sqlite:demo.db",
        PILOTAGE_SERVE=":6443",
        PILOTAGE_UNTIL_IDLE="true",
        PILOTAGE_TIMEOUT="3.5",
        PILOTAGE_NAMESPACE="a,b",
        PILOTAGE_FILENAME="one.yaml,two.yaml",
        PILOTAGE_MAX_CONCURRENT_RECONCILES="4",
        PILOTAGE_LOG_FORMAT="json",
        PILOTAGE_WEBHOOK_CERTIFICATES="/certs",
        PILOTAGE_CONTEXT="",
    )
    assert given == Flags(
        storage="sqlite:demo.db",
        serve=("127.0.0.1", 6443),
        until_idle=True,
        timeout=3.5,
        namespace=("a", "b"),
        filename=(Path("one.yaml"), Path("two.yaml")),
        max_concurrent_reconciles=4,
        log_format="json",
        webhook_certificates=Path("/certs"),
    )


def test_the_flag_wins_over_the_environment_variable() -> None:
    assert flags("--log-level", "error", PILOTAGE_LOG_LEVEL="debug").log_level == "error"
    assert flags("--no-leader-elect", PILOTAGE_LEADER_ELECT="1").leader_elect is False
    assert flags("-n", "c", "-n", "d,e", PILOTAGE_NAMESPACE="a,b").namespace == ("c", "d", "e")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("PILOTAGE_TIMEOUT", "soon", "PILOTAGE_TIMEOUT: 'soon' is not a number of seconds"),
        ("PILOTAGE_PROCESSES", "0", "PILOTAGE_PROCESSES: '0' is not a number of 1 or more"),
        ("PILOTAGE_INSTALL", "perhaps", "PILOTAGE_INSTALL=perhaps: must be true or false"),
        ("PILOTAGE_LOG_FORMAT", "xml", "PILOTAGE_LOG_FORMAT=xml: must be one of text, json"),
        ("PILOTAGE_METRICS_BIND_ADDRESS", "8080", "PILOTAGE_METRICS_BIND_ADDRESS: '8080' is not a bind address: "),
        ("PILOTAGE_LOG_LEVEL", "loud", "PILOTAGE_LOG_LEVEL: 'loud' is not a log level: "),
    ],
)
def test_a_wrong_environment_variable_is_named(name: str, value: str, reason: str) -> None:
    assert refusal(**{name: value}).startswith(reason)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--storage", "memory:", "--context", "x"], "--storage is an API server in this process, --kubeconfig and"),
        (["--serve", ":0"], "--serve needs --storage"),
        (["--timeout", "3"], "--timeout is how long --until-idle waits"),
        (["--only", "pod/x"], "--only needs --until-idle"),
        (["--until-idle", "--only", "x"], "--only x: must be TYPE/NAME"),
        (["--until-idle", "--every", "3", "--storage", "memory:"], "--every needs a storage that keeps its objects"),
        (["--metrics-certificates", "/certs"], "--metrics-certificates needs --metrics-secure"),
        (["--processes", "2", "--storage", "memory:"], "--processes needs a storage that processes can share"),
        (["--processes", "2", "--reload"], "--reload cannot be used with --processes"),
        (["--processes", "2", "--until-idle"], "--until-idle cannot be used with --processes"),
    ],
)
def test_flags_that_exclude_each_other_are_refused(words: list[str], reason: str) -> None:
    assert refusal(*words).startswith(reason)


@pytest.mark.parametrize("words", [["--timeout", "-1"], ["--timeout", "nan"], ["--processes", "x"], ["--serve", "x"]])
def test_a_wrong_value_is_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        flags(*words)
    assert raised.value.code == 2
    assert f"argument {words[0]}: '{words[1]}' is not" in capsys.readouterr().err


def test_a_storage_of_our_own_is_installed_to_and_a_cluster_only_if_asked() -> None:
    assert flags("--storage", "memory:").installs
    assert not flags("--storage", "memory:", "--no-install").installs
    assert not flags().installs
    assert flags("--install").installs


def test_an_idle_timeout_of_0_has_no_limit() -> None:
    assert flags("--until-idle").idle_timeout == 60
    assert flags("--until-idle", "--timeout", "0").idle_timeout is None


def test_the_flags_become_the_options_of_the_manager() -> None:
    given = flags(
        *("--metrics-bind-address", ":8080", "--metrics-secure", "--metrics-certificates", "/certs"),
        *("--health-probe-bind-address", ":8081", "--debug-bind-address", "127.0.0.1:6060"),
        *("--leader-elect", "--namespace", "a,b", "--max-concurrent-reconciles", "4"),
        *("--graceful-shutdown-timeout", "5", "--webhook-bind-address", "127.0.0.1:9000", "--shards", "shop"),
    )
    options = manager_options(given, "hello", "home")
    assert options.metrics_bind_address == ":8080"
    assert options.metrics_secure_serving
    assert options.metrics_filter is not None
    assert options.health_probe_bind_address == ":8081"
    assert options.debug_bind_address == "127.0.0.1:6060"
    assert (options.leader_election, options.leader_election_id) == (True, "hello-leader")
    assert options.leader_election_namespace == "home"
    assert options.cache is not None
    assert options.cache.default_namespaces == ("a", "b")
    assert options.controller.max_concurrent_reconciles == 4
    assert options.graceful_shutdown_timeout == 5
    assert options.shards == "shop"
    assert options.webhook_server_options is not None
    assert (options.webhook_server_options.host, options.webhook_server_options.port) == ("127.0.0.1", 9000)
    assert options.webhook_server_options.register is False


def test_processes_share_the_work_and_their_parent_has_the_addresses() -> None:
    given = flags("--processes", "2", "--metrics-bind-address", ":8080", "--health-probe-bind-address", ":8081")
    options = manager_options(given, "hello", "home")
    assert (options.shards, options.metrics_bind_address, options.health_probe_bind_address) == ("hello", "0", "")


def test_of_several_processes_the_first_serves_webhooks() -> None:
    def webhooks(process: int, *words: str) -> tuple[str, int, bool | None]:
        options = manager_options(flags(*words), "hello", "home", process).webhook_server_options
        assert options is not None
        return options.host, options.port, options.serve

    assert webhooks(0) == ("", 9443, None)
    assert webhooks(1, "--processes", "2") == ("", 9443, True)
    assert webhooks(2, "--processes", "2")[1] == -1
    assert webhooks(1, "--processes", "2", "--storage", "sqlite:demo.db") == ("127.0.0.1", 0, True)


def test_webhooks_can_be_turned_off() -> None:
    options = manager_options(flags("--webhook-bind-address", "0"), "hello", "home").webhook_server_options
    assert options is not None
    assert options.port == -1


def test_a_manager_has_its_own_options() -> None:
    check_manager_target(flags("--log-level", "debug", "--until-idle"), "hello:manager")
    with pytest.raises(CommandError, match=r"hello:manager is a manager .* remove --storage, --leader-elect, or name"):
        check_manager_target(flags("--storage", "memory:", "--leader-elect"), "hello:manager")


def test_a_variable_is_named_like_its_flag() -> None:
    assert variable("log_level") == "PILOTAGE_LOG_LEVEL"


def test_the_address_of_the_page_can_be_left_out() -> None:
    command = RunParser()
    command.add_argument("target", nargs="?")
    add_arguments(command)
    given = command.parse_args(["--ui", "greetings.py"])
    assert (given.ui, given.target) == ("127.0.0.1:0", "greetings.py")
    assert command.parse_args(["--ui=127.0.0.1:8080"]).ui == "127.0.0.1:8080"
    assert flags(PILOTAGE_UI="[::1]:0").ui == "[::1]:0"
    assert manager_options(flags("--ui=127.0.0.1:0"), "hello", "default").ui_bind_address == "127.0.0.1:0"


@pytest.mark.parametrize("address", [":8080", "0.0.0.0:0", "192.0.2.1:443"])
def test_a_page_for_other_machines_needs_tls_and_tokens(address: str) -> None:
    assert f"--ui={address} is reached from other machines" in refusal(f"--ui={address}")
    options = manager_options(flags(f"--ui={address}", "--metrics-secure"), "hello", "default")
    assert (options.ui_bind_address, options.metrics_secure_serving) == (address, True)
    assert options.metrics_filter is not None
