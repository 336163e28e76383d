"""The teaching examples of controller-runtime, in Python: each in memory and on a cluster."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster

from .. import forked

EXAMPLES = Path(__file__).parents[2] / "examples"
OUTPUTS = {
    "builtin_kinds.py": """\
annotated: foo
refused: metadata.annotations.example-mutating-admission-webhook: Invalid value: "bar": must be "foo"
pods: 2
pods: 1
""",
    "chaospod.py": """\
the Pod was created
the Pod was stopped
the Pod was created
the Pod was stopped
the Pod was created
""",
    "several_clusters.py": """\
copied: correct horse
changed: battery staple
restored: battery staple
deleted
""",
}
ARGUMENTS = {"chaospod.py": ["1"]}


@pytest.mark.parametrize("program", OUTPUTS)
def test_it_runs_in_memory(program: str) -> None:
    ran = forked.run(str(EXAMPLES / program), "memory:")
    assert (ran.stdout, ran.returncode) == (OUTPUTS[program], 0), ran.stderr


@pytest.mark.cluster
@pytest.mark.parametrize("program", OUTPUTS)
def test_it_runs_twice_on_a_real_cluster(program: str, real_control_plane: RealCluster) -> None:
    environment = os.environ | {"KUBECONFIG": str(real_control_plane.kubeconfig)}
    for _ in range(2):
        ran = forked.run(str(EXAMPLES / program), "cluster", *ARGUMENTS.get(program, []), environment=environment)
        assert (ran.stdout, ran.returncode) == (OUTPUTS[program], 0), ran.stderr
