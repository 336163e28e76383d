"""A real API server accepts every golden CRD, and one that is too large for a golden file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster
from pilotage.meta.models import Model, Resource, resource
from pilotage.meta.text import yamltext
from pilotage.schema.generate.crd import crd
from pilotage.types.core.v1 import PodTemplateSpec
from tests.schema import golden_files

pytestmark = pytest.mark.cluster


class RunSpec(Model):
    template: PodTemplateSpec


@resource(group="test.pilotage.dev", version="v1")
class Run(Resource):
    spec: RunSpec


def accepted(cluster: RealCluster, file: Path) -> None:
    # Server-side, so that the server checks it whether or not another test has installed it; dry, so that it is not.
    command = f"{cluster.kubectl} --kubeconfig {cluster.kubeconfig} apply --server-side --force-conflicts".split()
    options = ["--dry-run=server", "--validate=strict", "-f", str(file)]
    answer = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""


@pytest.mark.parametrize("file", sorted(golden_files.FOLDER.glob("*.yaml")), ids=lambda file: str(file.stem))
def test_a_real_server_takes_a_golden_crd(real_control_plane: RealCluster, file: Path) -> None:
    accepted(real_control_plane, file)


def test_a_real_server_takes_a_crd_with_a_whole_pod_in_it(real_control_plane: RealCluster, tmp_path: Path) -> None:
    file = tmp_path / "runs.yaml"
    file.write_text(yamltext.write(crd(Run)))
    accepted(real_control_plane, file)
