"""The controllers, by the names that kube-controller-manager's flag `--controllers` has for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType

from pilotage.errors import InvalidDefinition
from pilotage.workloads import staging
from pilotage.workloads.context import Context
from pilotage.workloads.kubelet.reporter import register

Setup = Callable[[Context], None]

MODULES: Mapping[str, str] = MappingProxyType(
    {
        "deployment-controller": "deployments",
        "daemonset-controller": "daemonsets",
        "statefulset-controller": "statefulsets",
        "job-controller": "jobs",
        "cronjob-controller": "cronjobs",
        "ttl-after-finished-controller": "ttlafterfinished",
        "pod-garbage-collector-controller": "podgc",
        "replicaset-controller": "replicasets",
        "replicationcontroller-controller": "replicasets.replicationcontrollers",
        "scheduler": "scheduling",
        "kubelet": "kubelet",
    }
)
"""The part of this package that has the function `setup` of each controller."""


def chosen(flag: Iterable[str]) -> list[str]:
    """The names of the controllers that a flag chooses: `*` is all, `name` one, `-name` all but one."""
    given = list(flag)
    known = set(MODULES)
    for name in given:
        if name != "*" and name.removeprefix("-") not in known:
            raise InvalidDefinition(
                f"controllers: there is no {name.removeprefix('-')!r}; there are: {', '.join(MODULES)}"
            )
    return [name for name in MODULES if f"-{name}" not in given and ("*" in given or name in given)]


async def set_up(context: Context) -> None:
    """Add the chosen controllers to the manager of the context, and those of its stages, and create the nodes."""
    for name in chosen(context.options.controllers):
        if name == "kubelet":
            await register(context)
        setup: Setup = import_module(f"pilotage.workloads.{MODULES[name]}").setup
        setup(context)
    if context.options.stages:
        staging.setup(context)
