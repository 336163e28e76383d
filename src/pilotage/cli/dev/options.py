"""The flags of `pilotage dev`."""

# ruff: noqa: RUF009  (each of the functions returns a field of the dataclass)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pilotage.cli import simulated
from pilotage.cli.run.arguments import Flags
from pilotage.cli.simulated import NODES
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import storages
from pilotage.kit.console.flags.fields import flag, shared, switch
from pilotage.kit.console.flags.types import address, log_level, positive

SAMPLES = ("deploy/samples", "config/samples", "samples")
"""Where the samples of a project are looked for."""


@dataclass(frozen=True, slots=True)
class DevOptions:
    """The flags under their names, with their defaults."""

    storage: str = shared(
        lambda group: storages.add_storage(
            group, f"where to store objects: {storages.ALL_STORAGES} (default: memory:)"
        ),
        default="memory:",
    )
    filename: Sequence[Path] = flag(
        "FILE",
        "apply the objects of a YAML file or of all in a folder, again when one changes; may be repeated (default: the "
        "first of deploy/samples, config/samples and samples that exists)",
        (),
        type=Path,
        action="append",
        short="-f",
    )
    simulate_workloads: bool = switch("simulate nodes and Pods, so that Deployments become ready", default=True)
    nodes: int = flag("N", f"the number of simulated nodes (default: {NODES})", NODES, type=positive)
    fault: Sequence[str] = simulated.faults()
    ui: bool = switch("serve the live page on this machine, and print its address", default=True)
    serve: tuple[str, int] | None = flag(
        "ADDR",
        "serve the API server at HOST:PORT over HTTPS, and write a kubeconfig for kubectl",
        None,
        type=address,
    )
    serve_kubeconfig: Path = flag(
        "FILE",
        "where --serve writes the kubeconfig (default: pilotage.kubeconfig)",
        Path("pilotage.kubeconfig"),
        type=Path,
    )
    explain: bool | None = switch("show each reconcile between the saves (default: on a terminal)", default=None)
    log_level: str = flag("LEVEL", "debug, info, warning, error or v0 to v9 (default: info)", "info", type=log_level)
    traceback: bool = switch("show the whole traceback of an error")


def run_flags(options: DevOptions, root: Path) -> Flags:
    """The same as flags of `pilotage run`. `root` is the folder of the project. Raises CommandError."""
    for path in options.filename:
        if str(path) == "-":
            raise CommandError("-f -: standard input cannot be applied again; give a file or a folder")
    explain = {None: None, True: "all", False: "no"}[options.explain]
    return Flags(
        storage=options.storage,
        filename=tuple(options.filename) or samples(root),
        serve=options.serve,
        serve_kubeconfig=options.serve_kubeconfig,
        explain=explain,
        log_level=options.log_level,
        traceback=options.traceback,
        graceful_shutdown_timeout=2.0,
    )


def samples(root: Path) -> tuple[Path, ...]:
    """The folder of samples of a project, relative to the current one where it is below it; empty without any."""
    for name in SAMPLES:
        folder = root / name
        if any(folder.glob("*.y*ml")):
            return (Path(name) if root == Path.cwd() else folder,)
    return ()
