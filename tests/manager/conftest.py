"""What the tests of replicas in processes of their own share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster

from ..cli.serve.processes import serving


@pytest.fixture(params=[pytest.param("ours", marks=pytest.mark.long), pytest.param("real", marks=pytest.mark.cluster)])
def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Each API server in turn, in a process of its own."""
    if request.param == "real":
        cluster: RealCluster = request.getfixturevalue("real_control_plane")
        yield str(cluster.kubeconfig)
        return
    with serving(tmp_path) as running:
        yield str(running.kubeconfig)
