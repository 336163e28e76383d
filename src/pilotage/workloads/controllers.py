"""The controllers, by the names that kube-controller-manager's flag `--controllers` has for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType

from pilotage.errors import InvalidDefinition
from pilotage.workloads import staging
from pilotage.workloads.context import Context
from pilotage.workloads.kubelet.reporter import register
from pilotage.workloads.volumes.provisioner import prepare

Setup = Callable[[Context], None]
Prepare = Callable[[Context], Awaitable[None]]

MODULES: Mapping[str, str] = MappingProxyType(
    {
        "node-lifecycle-controller": "nodelifecycle",
        "taint-eviction-controller": "tainteviction",
        "disruption-controller": "disruptions",
        "deployment-controller": "deployments",
        "daemonset-controller": "daemonsets",
        "statefulset-controller": "statefulsets",
        "job-controller": "jobs",
        "cronjob-controller": "cronjobs",
        "ttl-after-finished-controller": "ttlafterfinished",
        "pod-garbage-collector-controller": "podgc",
        "replicaset-controller": "replicasets",
        "replicationcontroller-controller": "replicasets.replicationcontrollers",
        "endpoints-controller": "services.endpoints",
        "endpointslice-controller": "services",
        "persistentvolume-binder-controller": "volumes",
        "storage-provisioner": "volumes.provisioner",
        "scheduler": "scheduling",
        "kubelet": "kubelet",
    }
)
"""The part of this package that has the function `setup` of each controller."""

_FIRST: Mapping[str, Prepare] = MappingProxyType({"kubelet": register, "storage-provisioner": prepare})
"""The objects that these create before they start."""


def check(flag: Iterable[str]) -> None:
    """Raise InvalidDefinition for a name that no controller has."""
    for name in flag:
        if name != "*" and name.removeprefix("-") not in MODULES:
            raise InvalidDefinition(
                f"controllers: there is no {name.removeprefix('-')!r}; there are: {', '.join(MODULES)}"
            )


async def set_up(context: Context) -> None:
    """Add the chosen controllers to the manager of the context, and those of its stages, and create their objects."""
    for name in filter(context.options.chooses, MODULES):
        if (first := _FIRST.get(name)) is not None:
            await first(context)
        setup: Setup = import_module(f"pilotage.workloads.{MODULES[name]}").setup
        setup(context)
    if context.options.stages:
        staging.setup(context)
