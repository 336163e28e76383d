"""Workloads that behave: Deployments, StatefulSets, Jobs and the others get Pods, and the Pods become ready.

    async with Workloads(cluster, WorkloadOptions(nodes=3)):
        ...

The controllers of kube-controller-manager, a scheduler and simulated nodes, on a manager of their own beside the
program. They write what Kubernetes' own write, so that an operator sees no difference; no container runs.

- `workloads.workloads`: the controllers, started together, and the faults that a test or a user asks for
- one folder for each controller, with the names of Kubernetes: `deployments`, `replicasets`, `jobs`, …
- `workloads.pods`: what the controllers share: Pods as they see them, creating, deleting and adopting them
- `workloads.kubelet`: simulated nodes, and the life of a Pod on them
- `workloads.stages`: lives of objects that are written in Python, or in the Stage files of kwok

Names are imported when they are first used; they are listed once, in `__init__.pyi`.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
